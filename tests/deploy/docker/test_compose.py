"""compose.yaml: who starts after whom, who can reach what; and its commands, run for real in a room of their own."""

import json
import re
from pathlib import Path

import pytest
import yaml
from compose_spec import PyCompose

from tests.deploy.docker import dockerfile
from tests.deploy.docker.compose_file import FOLDER, ROOT, compose, faults, plan
from tests.deploy.docker.room import FOLDER as FOLDER_INSIDE
from tests.deploy.docker.room import happened, need_rooms

pytestmark = [pytest.mark.long, pytest.mark.timeout(700)]

STAGES, _ = dockerfile.read((FOLDER / "Dockerfile").read_text(encoding="utf-8"))
TASKS = ["scheduler", "ps", "worker-0", "worker-1"]
PAGE = (ROOT / "docs" / "operators" / "docker.md").read_text(encoding="utf-8")
#: The page's cell, as a reader runs it in the lab; then who is there.
CELL = re.search(r"```python\n(.*?)```", PAGE, re.S)[1]
#: The classic way, as docs/jupyter_from_afar.md has it: a server for everyone, without a token.
CLASSIC = re.search(r"```text\n(.*?)\n```", (ROOT / "docs" / "jupyter_from_afar.md").read_text("utf-8"), re.S)[1]
ATTACK = f"{FOLDER_INSIDE}/tests/deploy/docker/attack.py"
ASK = "until python -I -S deploy/docker/health.py http://127.0.0.1:9999/api; do sleep 0.5; done"
OPEN = f"""{CLASSIC.replace("8888", "9999")} --ServerApp.password= --no-browser 2>/dev/null & server=$!
{ASK} >/dev/null; python {ATTACK} http://127.0.0.1:9999 'id -u'; kill $server; wait $server"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """What happened when all services were started in a room, the page's cell was run, and all were told to end."""
    need_rooms()
    folder = Path(tmp_path_factory.mktemp("room"))
    programs = [["python", "-c", CELL], ["sh", "-c", "stat -c '%a %n' /keys/* && id -u"]]
    programs += [["timeout", "200", "sh", "-c", OPEN], ["python", ATTACK, "http://lab:8888", "id -u"]]
    found = happened(folder, plan(compose(), STAGES), programs, killed=["worker-1"])
    assert "problem" not in found, (found["problem"], found["logs"])
    return found


def validated(text):
    """Return the services of a compose file by the specification's own parser; ValueError names a fault."""
    return PyCompose.from_json(json.dumps(yaml.safe_load(text))).service_names()


def test_the_file_is_as_the_compose_specification_has_it():
    text = (FOLDER / "compose.yaml").read_text(encoding="utf-8")
    assert validated(text) == list(compose()["services"])
    for right, wrong in (("service_healthy", "service_well"), ("mem_limit", "memory"), ("8888:8888", "8888:88888")):
        with pytest.raises(ValueError, match="service_well|memory|88888"):
            validated(text.replace(right, wrong))


def test_nothing_is_open_to_other_machines_and_nothing_has_rights_to_spare():
    assert faults(compose(), STAGES) == []


@pytest.mark.parametrize(
    "service, change, told",
    [
        ("lab", {"ports": ["8888:8888"]}, "lab: port 8888:8888 is open"),
        ("server", {"ports": ["0.0.0.0:8500:8500"]}, "is open to other machines"),
        ("ps", {"cap_drop": []}, "ps keeps rights"),
        ("ps", {"privileged": True}, "ps is privileged"),
        ("lab", {"network_mode": "host"}, "host's network"),
        ("server", {"volumes": ["keys:/keys"]}, "server may write the keys"),
        ("lab", {"volumes": ["../..:/home/learner/course"]}, "lab sees a folder of the host"),
        ("lab", {"environment": ["JUPYTER_TOKEN=abc"]}, "a secret stands in its environment"),
        ("worker-1", {"image": "course-workers"}, "no target of the Dockerfile"),
        ("worker-1", {"healthcheck": {}}, "worker-1 has no health check"),
        ("worker-1", {"networks": ["task"]}, "network task is not used or not there"),
    ],
)
def test_a_compose_file_with_a_fault_is_told(service, change, told):
    file = compose()
    file["services"][service] |= change
    assert any(told in fault for fault in faults(file, STAGES))


def test_every_service_turns_healthy_in_the_order_of_the_file(seen):
    order = [one["name"] for one in plan(compose(), STAGES)]
    assert order[0] == "keys" and order.index("scheduler") < order.index("ps")
    assert seen["healthy"].keys() == set(order) - {"keys"}
    assert all(healthy for name, healthy in seen["healthy"].items() if name != "worker-1")


def test_the_pages_cell_computes_pi_and_trains_on_them(seen):
    cell = seen["programs"][0]
    assert cell["code"] == 0, cell["erred"]
    pi, steps = cell["said"].split()[-2:]
    assert abs(float(pi) - 3.1416) < 0.01 and int(steps) == 50


def test_the_keys_are_for_their_user_alone(seen):
    assert seen["programs"][1]["said"].split() == ["600", "/keys/cluster.pem", "600", "/keys/token", "1000"]


def test_without_a_token_anyone_who_reaches_the_port_runs_commands(seen):
    opened, ours = seen["programs"][2:]
    assert opened["said"].strip() == "1000", opened["erred"]
    assert ours["code"] == 1 and ours["erred"].strip() == "refused: 403"


def test_the_health_check_of_a_killed_task_turns_red(seen):
    assert seen["healthy"]["worker-1"] is False


def test_all_end_when_they_are_told_to(seen):
    assert seen["ended"] == dict.fromkeys([*TASKS[:3], "server", "lab"], 0), seen["logs"]


def test_the_health_checks_leave_no_line_in_the_logs(seen):
    assert not re.search("refused|handshake|Traceback", "".join(seen["logs"][name] for name in TASKS))
