"""What clouds' machines can't be told is said before anyone is asked; what they cost by default is in the table."""

import subprocess
import sys

import pytest

from course.deploy import deploy
from course.deploy.clouds.kinds import CLOUDS
from course.scale.prices import price

IMAGE = {"image": "ghcr.io/you/course:1"}
AZURE = {**IMAGE, "group": "course", "vnet": "course", "subscription": "00000000-1111-2222-3333-444444444444"}
WRONG = [
    ("aws", {}, "image='': name a container image with the course"),
    ("gcp", {"image": "Course 1"}, "image='Course 1'"),
    ("aws", {**IMAGE, "client": "0.0.0.0/0"}, "client='0.0.0.0/0': that is much of the internet"),
    ("aws", {**IMAGE, "client": "203.0.113.7/33"}, "client='203.0.113.7/33': say a network"),
    ("aws", {**IMAGE, "machine": "; rm -rf /"}, "machine='; rm -rf /': name a type, as in machine='m6i.large'"),
    ("aws", {**IMAGE, "disk": 5}, "disk=5: give a whole number from 10 to 1023"),
    ("gcp", {**IMAGE, "port": 22}, "port=22"),
    ("gcp", {**IMAGE, "idle": 0}, "idle=0"),
    ("gcp", {**IMAGE, "hours": "8"}, "hours='8': give a number"),
    ("aws", {**IMAGE, "subnet": "mine"}, "subnet='mine'"),
    ("gcp", {**IMAGE, "zone": "us-central1"}, "zone='us-central1': say a region with its zone"),
    ("gcp", {**IMAGE, "project": "P"}, "project='P'"),
    ("azure", {**AZURE, "subscription": "mine"}, "subscription='mine': say its id"),
    ("azure", AZURE, "identity='': a machine that only shuts itself down costs as before"),
    ("azure", {**AZURE, "identity": "course"}, "identity='course'"),
    ("aws", {**IMAGE, "ps": 1}, "workers only"),
]


@pytest.mark.parametrize(("kind", "options", "says"), WRONG)
def test_an_option_that_can_not_be_right_is_refused_before_anyone_is_asked(kind, options, says):
    with pytest.raises(ValueError) as caught:
        deploy(kind, **options)
    assert says in str(caught.value).replace("):", ":") and str(caught.value).startswith(f"deploy('{kind}', ")


@pytest.mark.parametrize("kind", ["aws", "gcp", "azure"])
def test_the_default_machine_is_the_cheapest_in_the_table_of_prices(kind):
    assert price(CLOUDS[kind].options().machine).cloud == kind
    assert price(CLOUDS[kind].options().machine).hour <= 0.1


def test_the_clouds_libraries_are_imported_only_where_they_are_used():
    code = "import course, course.deploy, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"dask_cloudprovider", "botocore", "googleapiclient", "azure.identity"} & set(loaded)
