"""What is sent to Kubernetes is right by the operator's own schema, and says what the options say."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course.cluster.certificates import new_certificate
from course.deploy.clouds.kubernetes_checks import quantity
from course.deploy.clouds.kubernetes_resource import KubernetesOptions, dask_cluster, secret
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
    words = worker["command"]
    assert words[words.index("--memory-limit") + 1] == str(8 * 1024**3)
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


@given(
    st.integers(1, 10**6),
    st.sampled_from([("", 0, 10), ("m", -3, 10), ("k", 3, 10), ("M", 6, 10), ("Gi", 30, 2), ("Ti", 40, 2)]),
)
def test_a_quantity_is_what_its_unit_says(number, unit):
    name, power, base = unit
    assert math.isclose(quantity(f"{number}{name}"), number * float(base) ** power, rel_tol=1e-12)
