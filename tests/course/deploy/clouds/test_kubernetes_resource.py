"""What is sent to Kubernetes: right by the operator's own schema; whatever was made wrong in it is refused by ours."""

import copy
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course.cluster.certificates import new_certificate
from course.deploy import deploy
from course.deploy.clouds import kubernetes_checks
from course.deploy.clouds.kubernetes_checks import check_resource, quantity
from course.deploy.clouds.kubernetes_resource import KubernetesOptions, dask_cluster, secret
from course.deploy.ledger import entries
from tests.course.deploy.clouds.operators_schema import operators_schema, wrong_secret

IMAGE = "registry.example.org/physics/course:1.0"


def resource(name="course-1", workers=2, image=IMAGE, **options):
    return dask_cluster(name, workers, KubernetesOptions(image=image, **options))


@pytest.fixture(scope="module")
def schema(clouds_libraries):
    return operators_schema()


FULL = {
    "cores": "1500m",
    "memory": "8Gi",
    "gpus": 1,
    "environment": {"DATA": "/data"},
    "labels": {"team": "physics", "example.org/cost-centre": "12"},
    "idle": 600,
}


@pytest.mark.long
@pytest.mark.parametrize("options", [{}, FULL, {"cores": 4, "memory": "2G"}], ids=["least", "full", "numbers"])
def test_what_is_sent_is_right_by_the_operators_schema(schema, options):
    made = resource(**options)
    assert [error.message for error in schema.iter_errors(made["spec"])] == []


def test_what_is_sent_says_what_the_options_say():
    made = resource("course-7", 3, **FULL)
    pods = [made["spec"][role]["spec"] for role in ("worker", "scheduler")]
    worker = pods[0]["containers"][0]
    asked = {"cpu": "1500m", "memory": "8Gi", "nvidia.com/gpu": "1"}
    assert made["spec"]["worker"]["replicas"] == 3 and made["spec"]["idleTimeout"] == 600
    assert worker["resources"] == {"limits": asked, "requests": asked}
    assert made["metadata"]["name"] == "course-7"
    assert made["metadata"]["labels"] == {"app.kubernetes.io/managed-by": "course", **FULL["labels"]}
    environment = {one["name"]: one["value"] for one in worker["env"]}
    assert environment == {"OMP_NUM_THREADS": "2", "HOME": "/tmp", "DATA": "/data"}
    assert worker["command"][-1] == str(8 * 1024**3)
    for pod in pods:
        own = pod["containers"][0]["securityContext"]
        assert pod["securityContext"]["runAsNonRoot"] is True and pod["automountServiceAccountToken"] is False
        assert own == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
        mode = pod["volumes"][0]["secret"]
        assert mode == {"secretName": "course-7-tls", "defaultMode": 0o440}


def test_the_key_goes_into_a_secret_that_belongs_to_the_cluster_and_can_not_be_changed():
    made = secret("course-7", new_certificate(), KubernetesOptions(labels={"team": "physics"}), uid="0-1")
    owner = {"apiVersion": "kubernetes.dask.org/v1", "kind": "DaskCluster", "name": "course-7", "uid": "0-1"}
    assert made["metadata"]["ownerReferences"] == [owner] and made["immutable"] is True
    assert made["metadata"]["labels"]["team"] == "physics" and wrong_secret(made) == ""
    assert "ownerReferences" not in secret("course-7", new_certificate(), KubernetesOptions())["metadata"]


WORKER, SCHEDULER = ("spec", "worker", "spec", "containers", 0), ("spec", "scheduler", "spec", "containers", 0)
LIMITS, REQUESTS = (*WORKER, "resources", "limits"), (*WORKER, "resources", "requests")
GONE = object()
MISTAKES = [
    ((*LIMITS, "memory"), "2 GB", r"limits.memory: '2 GB' is no quantity: .*'4Gi'"),
    ((*LIMITS, "memory"), "2GB", "'2GB' is no quantity"),
    ((*LIMITS, "memory"), "512", "'512' is 512 bytes; say '512Mi'"),
    ((*LIMITS, "memory"), 2_000_000_000, "2000000000 is no quantity"),
    ((*LIMITS, "cpu"), "-1", "limits.cpu: '-1' is no quantity"),
    ((*LIMITS, "cpu"), "0", "less than a thousandth"),
    ((*LIMITS, "cpu"), "0.1m", "less than a thousandth"),
    ((*LIMITS, "cpu"), "500m", "cpu asks for '2', its limit is '500m'; both are to be the same"),
    ((*LIMITS, "memory"), GONE, "resources lacks memory in limits or requests"),
    ((*REQUESTS, "memory"), "1Gi", "memory asks for '1Gi', its limit is '2Gi'"),
    ((*WORKER, "name"), "Worker", "'Worker' is no name: .*RFC 1123"),
    ((*WORKER, "image"), "Course:latest", "'Course:latest' is no image's name"),
    ((*WORKER, "image"), "course latest", "is no image's name"),
    ((*WORKER, "env", 0, "value"), 2, "OMP_NUM_THREADS=2: a variable's value is a text"),
    ((*WORKER, "env", 0, "value"), None, "spec.worker.spec.containers.0.env.0.value is null: leave it out"),
    ((*WORKER, "env", 0, "name"), "2THREADS", "no variable's name"),
    (("spec", "worker", "spec", "securityContext", "runAsNonRoot"), False, "runAsNonRoot is not true"),
    (("spec", "worker", "replicas"), 0, "spec.worker.replicas is 0; give a whole number from 1"),
    (("spec", "worker", "replicas"), "2", "replicas is '2'"),
    (("spec", "worker", "replicas"), None, "spec.worker.replicas is null"),
    (("spec", "worker", "replicas"), GONE, "replicas is missing"),
    (("spec", "idleTimeout"), -1, "idleTimeout is -1"),
    (("spec", "idleTimeout"), 1.5, "idleTimeout is 1.5"),
    (("metadata", "name"), "Course-1", "metadata.name: 'Course-1' is no name"),
    (("metadata", "name"), "c" * 60, "metadata.name is longer than 53"),
    (("metadata", "labels", "team"), "astro physics", "team='astro physics': a label's value"),
    (("metadata", "labels"), {"-team": "a"}, "'-team' is no label's key"),
    ((*SCHEDULER, "ports", 0, "containerPort"), 70000, "containerPort is 70000; give a whole number from 1 to 65535"),
    ((*SCHEDULER, "ports", 0, "containerPort"), "8786", "containerPort is '8786'"),
    ((*SCHEDULER, "ports", 0, "name"), "the-schedulers-own-port", "up to 15 of a-z"),
    ((*SCHEDULER, "ports", 0, "name"), "8786", "up to 15 of a-z"),
    ((*SCHEDULER, "readinessProbe", "httpGet", "port"), "dashboard", "readinessProbe.httpGet.port is 'dashboard'"),
    (("spec", "scheduler", "service", "ports", 0, "port"), 0, "service.ports.0.port is 0"),
    (("spec", "scheduler", "service", "ports", 0, "targetPort"), "comm", "targetPort is 'comm'; the scheduler's ports"),
    (("spec", "worker", "spec", "volumes", 0, "secret", "defaultMode"), 0o444, "more than 0440"),
    ((*WORKER, "volumeMounts", 0, "name"), "tsl", "'tsl', which is none of the pod's volumes"),
    (("spec", "worker", "spec", "containers"), "course", "another form"),
]


@pytest.mark.parametrize(("path", "value", "words"), MISTAKES)
def test_a_mistake_in_what_is_sent_is_refused_in_a_sentence(path, value, words):
    made = changed(resource(cores=2, labels={"team": "physics"}), path, value)
    with pytest.raises(ValueError, match=words):
        check_resource(made)


def changed(made, path, value):
    made = copy.deepcopy(made)
    *way, last = path
    part = made
    for step in way:
        part = part[step]
    if value is GONE:
        del part[last]
    else:
        part[last] = value
    return made


def leaves(part, path=()):
    """Yield the path of every value that holds no others."""
    items = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    for key, value in items:
        yield from leaves(value, (*path, key)) if isinstance(value, (dict, list)) else [(*path, key)]


WHOLE = resource(**FULL)


@pytest.mark.parametrize("path", list(leaves(WHOLE)), ids=lambda path: ".".join(map(str, path)))
def test_a_null_anywhere_is_refused_by_name(path):
    with pytest.raises(ValueError, match=".".join(map(str, path)) + " is null"):
        check_resource(changed(WHOLE, path, None))


@pytest.mark.long
@settings(max_examples=100)
@given(st.data())
def test_whatever_the_operators_schema_refuses_is_refused_here_first(schema, data):
    """A value of another type, at any place: what the schema minds and ours lets through would fail there."""
    path = data.draw(st.sampled_from(list(leaves(WHOLE["spec"]))))
    value = data.draw(st.sampled_from([None, -1, 70000, "", "A b", [], {}, 1.5, True]))
    made = changed(WHOLE, ("spec", *path), value)
    refused = refuses(made)
    if not refused:  # ours looks at what options can make wrong; the rest is constant, and the schema's to judge
        assert path[-1] not in CHECKED or schema.is_valid(made["spec"])


#: What options decide, or a slip in the code could: the last steps of the ways to it.
CHECKED = {
    "replicas",
    "idleTimeout",
    "image",
    "name",
    "value",
    "cpu",
    "memory",
    "containerPort",
    "port",
    "runAsNonRoot",
}


def refuses(made):
    try:
        check_resource(made)
    except ValueError:
        return True
    return False


@given(
    st.integers(1, 10**6),
    st.sampled_from([("", 0, 10), ("m", -3, 10), ("k", 3, 10), ("M", 6, 10), ("Gi", 30, 2), ("Ti", 40, 2)]),
)
def test_a_quantity_is_what_its_unit_says(number, unit):
    name, power, base = unit
    assert math.isclose(quantity(f"{number}{name}"), number * float(base) ** power, rel_tol=1e-12)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, r"deploy\('kubernetes', image=''\): give the image that has the course"),
        ({"image": "Course"}, r"deploy\('kubernetes', image='Course'\): 'Course' is no image's name"),
        ({"memory": "2 GB"}, r"memory='2 GB'\): '2 GB' is no quantity: .*'4G'"),
        ({"memory": "512"}, r"memory='512'\): '512' is 512 bytes; say '512Mi'"),
        ({"cores": -1}, r"cores=-1\): '-1' is no quantity"),
        ({"cores": 0}, r"cores=0\): '0' cores is less"),
        ({"gpus": "one"}, r"gpus='one'\): 'one' is no quantity"),
        ({"namespace": "Physics"}, r"namespace='Physics'\): 'Physics' is no name"),
        ({"environment": {"A": None}}, "A=None: a variable's value is a text"),
        ({"labels": {"team": "a b"}}, "a label's value"),
        ({"labels": "team"}, "give a dictionary of texts"),
        ({"idle": 5}, r"idle=5\): give whole seconds, 60 or more"),
        ({"worker": 0}, r"worker=0\): give a whole number of workers from 1 to 100"),
        ({"ps": 1}, r"ps=1\): it has workers only, .*deploy\('slurm', ps=1, …\)"),
        ({"memry": "2G"}, r"memry='2G'\): the options are worker, image, .* Did you mean memory\?"),
    ],
)
def test_a_wrong_option_is_told_before_anything_is_asked(options, words):
    given = options if "image" in options or not options else {"image": IMAGE, **options}
    with pytest.raises((TypeError, ValueError), match=words):
        deploy("kubernetes", **given)
    assert entries() == []


@pytest.mark.long
def test_the_longest_name_leaves_room_for_what_the_operator_adds(clouds_libraries):
    from dask_kubernetes import constants

    assert kubernetes_checks._LONGEST_NAME == constants.MAX_CLUSTER_NAME_LEN
