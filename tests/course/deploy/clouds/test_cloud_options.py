"""An option of a cloud that can't be right is refused before anyone is asked; so is a missing extra."""

import subprocess
import sys

import pytest

from course.deploy import deploy
from course.deploy.clouds.kinds import CLOUDS
from course.deploy.ledger import entries
from course.scale.prices import price

IMAGE = {"image": "ghcr.io/you/course:1"}
GROUP = {"group": "course", "vnet": "course", "subscription": "00000000-1111-2222-3333-444444444444"}
#: kind -> the options that it has no default for.
NEEDED = {
    "kubernetes": IMAGE,
    "gateway": {},
    "aws": IMAGE,
    "gcp": {**IMAGE, "project": "my-course-1234"},
    "azure": {**IMAGE, **GROUP, "identity": "none"},
}


@pytest.mark.parametrize("kind", CLOUDS)
def test_a_missing_extra_is_told_with_the_line_that_brings_it(kind, monkeypatch):
    monkeypatch.setattr(CLOUDS[kind], "library", "no_such_library")
    with pytest.raises(ImportError, match=rf"`python -m pip install 'course\[{kind}\]'` brings it"):
        deploy(kind, **NEEDED[kind])
    assert entries() == []


WRONG = [
    ("kubernetes", {"image": ""}, "image='': name a container image with the course"),
    ("kubernetes", {"image": "Course"}, "image='Course': name a container image"),
    ("kubernetes", {"memory": "2 GB"}, "memory='2 GB': '2 GB' is no quantity"),
    ("kubernetes", {"memory": "512"}, "memory='512': '512' is 512 bytes; say '512Mi'"),
    ("kubernetes", {"cores": -1}, "cores=-1: '-1' is no quantity"),
    ("kubernetes", {"cores": 0}, "cores=0: '0' cores is less"),
    ("kubernetes", {"gpus": "one"}, "gpus='one': 'one' is no quantity"),
    ("kubernetes", {"namespace": "Physics"}, "namespace='Physics': a name has up to 63"),
    ("kubernetes", {"environment": {"A": None}}, "environment={'A': None}: a variable's name has"),
    ("kubernetes", {"environment": {"1A": ""}}, "environment={'1A': ''}: a variable's name has"),
    ("kubernetes", {"labels": {"team": "a b"}}, "labels={'team': 'a b'}: a label's key"),
    ("kubernetes", {"labels": {"-team": "a"}}, "labels={'-team': 'a'}: a label's key"),
    ("kubernetes", {"labels": "team"}, "labels='team': give a dictionary of texts"),
    ("kubernetes", {"idle": 5}, "idle=5: give whole seconds, 60 or more"),
    ("kubernetes", {"worker": 0}, "worker=0: give a whole number of tasks from 1 to 100"),
    ("kubernetes", {"ps": 0}, "ps=0: give a whole number of tasks from 1 to 100"),
    ("kubernetes", {"memry": "2G"}, "Did you mean memory?"),
    ("gateway", {"worker": True}, "worker=True: give a whole number of tasks"),
    ("gateway", {"address": "gateway.example.org"}, "with its scheme, as in address='https://gateway.example.org'"),
    ("gateway", {"auth": "password"}, "auth='password': give 'basic', 'jupyterhub', 'kerberos'"),
    ("gateway", {"options": "worker_cores=2"}, "options='worker_cores=2': give a dictionary"),
    ("aws", {"client": "0.0.0.0/0"}, "client='0.0.0.0/0': that is much of the internet"),
    ("aws", {"client": "203.0.113.7/33"}, "client='203.0.113.7/33': say a network"),
    ("aws", {"machine": "; rm -rf /"}, "machine='; rm -rf /': name a type, as in machine='m6i.large'"),
    ("aws", {"disk": 5}, "disk=5: give a whole number from 10 to 1023"),
    ("aws", {"subnet": "mine"}, "subnet='mine'"),
    ("gcp", {"image": "course 1"}, "image='course 1'"),
    ("gcp", {"port": 22}, "port=22"),
    ("gcp", {"idle": 0}, "idle=0"),
    ("gcp", {"hours": "8"}, "hours='8': give a number"),
    ("gcp", {"zone": "us-central1"}, "zone='us-central1': say a region with its zone"),
    ("gcp", {"project": "P"}, "project='P'"),
    ("azure", {"subscription": "mine"}, "subscription='mine': say its id"),
    ("azure", {"identity": ""}, "identity='': a machine that only shuts itself down costs as before"),
    ("azure", {"identity": "course"}, "identity='course'"),
]


@pytest.mark.parametrize(("kind", "options", "says"), WRONG)
def test_a_wrong_option_is_told_before_anything_is_asked(kind, options, says):
    with pytest.raises((TypeError, ValueError)) as caught:
        deploy(kind, **{**NEEDED[kind], **options})
    assert says in str(caught.value).replace("):", ":") and str(caught.value).startswith(f"deploy('{kind}', ")
    assert entries() == []


@pytest.mark.parametrize("kind", ["aws", "gcp", "azure"])
def test_a_client_gets_in_at_a_parameter_servers_ports_only_where_there_is_one(kind):
    options = CLOUDS[kind].options(port=9000)
    doors = [CLOUDS[kind]("course-1", jobs, options).door for jobs in ({"worker": 2}, {"ps": 1, "worker": 1})]
    assert doors == [(9000, 9000), (9000, 9003)]


@pytest.mark.parametrize("kind", ["aws", "gcp", "azure"])
def test_the_default_machine_is_the_cheapest_in_the_table_of_prices(kind):
    machine = price(CLOUDS[kind].options().machine)
    assert machine.cloud == kind and machine.hour <= 0.1


def test_the_clouds_libraries_are_imported_only_where_they_are_used():
    code = "import course, course.deploy, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    libraries = {"dask_cloudprovider", "botocore", "googleapiclient", "azure.identity", "kr8s", "dask_gateway"}
    assert not libraries & set(loaded)
