"""Three clouds that aren't there: where the requests of their libraries go, and the options that a start needs."""

import json
import os

import pytest

from course.deploy.clouds.machines import aws, azure, machine_deployer
from tests.course.deploy.machines.computers_here import need_bubblewrap
from tests.course.deploy.machines.ec2_here import REGION, Ec2, settings
from tests.course.deploy.machines.rest_here import IDENTITY, SUBSCRIPTION, Azure, Google

COMMON = {"image": "course:1", "client": "203.0.113.7/32"}
OPTIONS = {
    "aws": {**COMMON, "region": REGION},
    "gcp": {**COMMON, "project": "my-course-1234"},
    "azure": {**COMMON, "group": "course", "vnet": "course", "subscription": SUBSCRIPTION, "identity": IDENTITY},
}


@pytest.fixture(scope="module")
def bubblewrap():
    if missing := need_bubblewrap():
        assert not os.environ.get("COURSE_MUST_HAVE_SANDBOX"), missing
        pytest.skip(f"NOT TESTED HERE, start-up scripts run in bubblewrap: {missing}")


@pytest.fixture(scope="session")
def accounts(tmp_path_factory):
    """The environment variables by which the clouds' libraries find accounts that aren't there."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    folder = tmp_path_factory.mktemp("accounts")
    private = rsa.generate_private_key(65537, 2048)
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    key = {"type": "service_account", "client_email": "us@example.org", "project_id": "my-course-1234"}
    key["token_uri"] = "https://oauth2.googleapis.com/token"
    key["private_key"] = private.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain).decode()
    (folder / "key.json").write_text(json.dumps(key))
    azures = dict.fromkeys(("AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET", "AZURE_TENANT_ID"), "tenant")
    return {**settings(folder), "GOOGLE_APPLICATION_CREDENTIALS": str(folder / "key.json"), **azures}


@pytest.fixture(params=OPTIONS)
def cloud(request, bubblewrap, clouds_libraries, accounts, tmp_path, monkeypatch, free_ports):
    """(the kind, its stand-in, the options): a cloud to which its library's requests go."""
    monkeypatch.setattr(machine_deployer, "MACHINES_END_EVERY", 0.05)
    for module in (aws, azure, machine_deployer):
        monkeypatch.setattr(module, "CLOUD_ANSWERS", 60.0)  # a busy machine is no fault
    for name, value in accounts.items():
        monkeypatch.setenv(name, value)
    if request.param == "aws":
        here = Ec2(tmp_path)
        monkeypatch.setenv("AWS_ENDPOINT_URL", here.address)
    elif request.param == "gcp":
        here = Google(tmp_path)
        monkeypatch.setattr("httplib2.Http.request", lambda *a, **more: here.request(*a, **more))
    else:
        here = Azure(tmp_path)
        monkeypatch.setattr("requests.adapters.HTTPAdapter.send", lambda *a, **more: here.send(*a, **more))
    [port] = free_ports(1)
    yield request.param, here, {**OPTIONS[request.param], "port": port, "say": lambda *_, **__: None}
    here.close()
