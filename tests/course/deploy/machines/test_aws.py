"""AWS by moto, in a network namespace without a way out: what is asked for, and that every machine ends."""

import json
import os
import re
import select
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from course import estimate_pi
from tests.course.deploy.machines.computers_here import need_bubblewrap
from tests.course.deploy.machines.scripts_here import config_of, holds_no_other_secret, same_as_stored

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("clouds_libraries")]

ROOT = Path(__file__).resolve().parents[4]


class Namespace:
    """The process in the namespace, and what it is asked."""

    def __init__(self):
        unshare = ["unshare", "-n"] if os.geteuid() == 0 else ["unshare", "-rn"]
        here = [sys.executable, "-m", "tests.course.deploy.machines.aws_here"]
        self._process = subprocess.Popen(
            [*unshare, *here], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def answer(self):
        """Return the next line's JSON."""
        ready, _, _ = select.select([self._process.stdout], [], [], 200)
        assert ready, "the namespace has not answered"
        return json.loads(self._process.stdout.readline() or '{"failed": "the namespace has ended"}')

    def run(self, case):
        """Return what a case of `aws_cases` tells."""
        self._process.stdin.write(f"{case}\n")
        self._process.stdin.flush()
        said = self.answer()
        assert "told" in said, said.get("failed")
        return said["told"]

    def close(self):
        """End it."""
        self._process.stdin.close()
        try:
            self._process.wait(30)
        finally:
            self._process.kill()
            self._process.wait()
            self._process.stdout.close()


def _missing():
    """Return why no namespace can be had here, or None."""
    if not shutil.which("unshare") or not shutil.which("ip"):
        return "`unshare` or `ip` is not installed"
    words = ["unshare", "-n" if os.geteuid() == 0 else "-rn", "ip", "link", "set", "lo", "up"]
    done = subprocess.run(words, capture_output=True, text=True)
    return (done.stderr.strip() or "unshare failed") if done.returncode else need_bubblewrap()


@pytest.fixture(scope="module")
def aws(clouds_libraries):
    """A function that runs a case in the namespace."""
    if missing := _missing():
        assert not os.environ.get("COURSE_MUST_HAVE_SANDBOX"), missing
        pytest.skip(f"NOT TESTED HERE, moto's addresses may be dialled in a namespace alone: {missing}")
    here = Namespace()
    try:
        assert here.answer() == "ready"
        yield here.run
    finally:
        here.close()


@pytest.fixture(scope="module")
def cluster(aws):
    """What a cluster that started, computed and was closed tells."""
    return aws("a_cluster")


def test_a_cluster_of_machines_gives_the_same_pi_and_leaves_nothing(cluster):
    assert cluster["inside"] == estimate_pi(100_000).inside
    assert cluster["tasks"] == ["/job:worker/task:0"] and cluster["left"] == []
    assert "Registered to" in cluster["log"]


def test_what_is_asked_of_ec2_is_what_the_options_say(cluster):
    assert len(cluster["run"]) == 2
    for asked in cluster["run"]:
        disk, card = "BlockDeviceMapping.1.Ebs.{}", "NetworkInterface.1.{}"
        assert asked["InstanceType"] == "m6i.large" and asked["MinCount"] == asked["MaxCount"] == "1"
        assert asked["ImageId"] == "ami-0ew"  # the newest of Canonical's own
        assert asked[disk.format("VolumeSize")] == "20" and asked[disk.format("DeleteOnTermination")] == "true"
        assert asked[card.format("SecurityGroupId.1")] and asked["InstanceInitiatedShutdownBehavior"] == "terminate"
        assert "IamInstanceProfile.Arn" not in asked and "KeyName" not in asked
        tags = [value for name, value in asked.items() if name.startswith("TagSpecification")]
        names = [value for value in tags if re.fullmatch(r"course-[0-9a-f]{8}", value)]
        assert tags.count("course-cluster") == len(names) == 2


def test_the_security_group_lets_in_one_client_and_its_own_machines(cluster):
    [asked] = cluster["group"]
    rules = {name.removeprefix("IpPermissions."): value for name, value in asked.items() if "IpPerm" in name}
    assert rules["1.IpRanges.1.CidrIp"] == "203.0.113.7/32" and rules["1.FromPort"] == rules["1.ToPort"] == "8786"
    assert rules["2.Groups.1.GroupId"] == asked["GroupId"]
    assert not [name for name in rules if name.startswith("3") or "Ipv6" in name or "IpRanges.2" in name]
    assert "0.0.0.0/0" not in rules.values() and "2.IpRanges.1.CidrIp" not in rules


def test_the_start_up_scripts_are_the_stored_ones(cluster):
    first, second = cluster["scripts"]
    plain = re.sub(r"172\.31\.\d+\.\d+", "INNER", second)
    assert [same_as_stored("aws-scheduler", first, 8786), same_as_stored("aws-worker", plain, 8786)] == [True, True]
    assert max(map(len, cluster["scripts"])) < 16384  # as much as EC2 takes


def test_a_machine_is_told_the_clusters_key_and_no_other_secret(cluster):
    assert all(holds_no_other_secret(script, "hunter2") for script in cluster["scripts"])
    assert config_of(cluster["scripts"][0])["distributed"]["scheduler"]["idle-timeout"] == "1200 s"
    assert cluster["encryption elsewhere"] is None


@pytest.mark.parametrize(
    ("case", "asked", "says"),
    [
        ("no_quota_for_1", 1, "AWS says VcpuLimitExceeded: .*; ask for more under Service Quotas"),
        ("no_quota_for_2", 3, "AWS says VcpuLimitExceeded: .*; ask for more under Service Quotas"),
        ("no_quota_for_3", 3, "AWS says VcpuLimitExceeded: .*; ask for more under Service Quotas"),
        ("a_scheduler_that_never_answers", 1, "has not answered for 0 min"),
        ("an_image_that_is_not_there", 1, "ended before they joined. Can they pull the image 'course:1'"),
        ("interrupted_at_the_group", 0, ""),
        ("interrupted_at_the_first_machine", 1, ""),
        ("interrupted_at_the_last_machine", 3, ""),
    ],
)
def test_a_start_that_fails_ends_every_machine(aws, case, asked, says):
    told = aws(case)
    assert told["left"] == [] and told["asked"] == asked and re.search(says, told["words"])


def test_bad_input_gets_a_sentence_with_the_next_step(aws):
    for name, told in aws("words").items():
        assert told["asked"] == 0 and told["left"] == [], name
        assert re.search(SAYS[name], told["words"]), (name, told["words"])
        assert told["waits"] < 60, (name, told["waits"])  # alone two seconds; a busy machine is no fault


SAYS = {
    "type": "m6i.huge.*`aws ec2 describe-instance-types` has those of your region",
    "gpu": "machine='g4dn.xlarge'.*no driver is set up",
    "region": "no region 'eu-centrel-1'; did you mean one of .*eu-central-1",
    "no region": "there is no region. Say region='eu-central-1'",
    "subnet": "`aws ec2 describe-subnets` names yours",
    "key": "the key is not valid: `aws sts get-caller-identity`",
    "may not": "docs/operators/aws.md",
    "expired": "sign in again: `aws sso login`",
    "no network": "is this machine online",
    "silence": "AWS does not answer .*does no firewall keep us in",
    "no key": "Say `aws configure` once",
    "client": "as in client='203.0.113.7/32'",
}


def test_a_killed_client_is_followed_by_the_end_of_its_machines(aws):
    told = aws("a_killed_client")
    assert told["there"] == 2 and told["left"] == []


def test_where_client_and_caretaker_are_killed_the_machines_end_themselves_and_stop_takes_the_rest(aws):
    told = aws("a_killed_client_and_caretaker")
    assert told["there"] == 2 and told["running"] == 0
    assert all(lines[0].startswith("-h +") and lines[1] == "-h now" for lines in told["shutdown"])
    assert len(told["left"]) == 2  # the security group, and the line in the ledger
    assert told["stop"] == [f"{told['left'][1]}: ended"] and told["left after stop"] == []
