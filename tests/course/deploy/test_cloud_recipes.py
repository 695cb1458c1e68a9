"""The recipes of docs/deploy.md for a cloud's machines: each command is its tool's, each price and file is right."""

import json
import re
import shlex
import tomllib
from pathlib import Path

import click
import pytest
import yaml
from click.testing import CliRunner

from course.__main__ import main
from course.commands.flags import HOSTS, flags
from course.commands.job_file import _job, read_job
from course.scale.prices import cost, price
from tests.course.deploy.test_operators import unknown_to_click

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
RECIPES, JOBS = (
    PAGE.partition(f"## {name}\n")[2].partition("\n## ")[0]
    for name in ("Machines of a cloud over SSH", "A job from a file")
)
#: A command of a cloud's -> those of its options that the page may say: read in the source of gcloud 578.0.0 and of
#: azure-cli, and in docs.aws.amazon.com/cli/latest/reference; `test_the_options_of_aws_…` compares AWS's with botocore.
COMMANDS = {
    "gcloud auth login": "",
    "gcloud projects create": "--name",
    "gcloud projects delete": "",
    "gcloud billing projects link": "--billing-account",
    "gcloud config set project": "",
    "gcloud services enable": "--project",
    "gcloud compute firewall-rules create": "--direction --allow --source-ranges --target-tags --network",
    "gcloud compute firewall-rules delete": "",
    "gcloud compute instance-templates create": "--machine-type --accelerator --maintenance-policy --image-project "
    "--image-family --boot-disk-size --tags --metadata-from-file --max-run-duration --instance-termination-action",
    "gcloud compute instance-templates delete": "",
    "gcloud compute instances create": "--zone --source-instance-template",
    "gcloud compute instances list": "--filter",
    "gcloud compute instances delete": "--zone",
    "gcloud ai custom-jobs create": "--config --region --display-name",
    "gcloud ai custom-jobs describe": "--region",
    "gcloud ai custom-jobs stream-logs": "--region",
    "gcloud ai custom-jobs cancel": "--region",
    "aws configure": "",
    "aws ec2 import-key-pair": "--key-name --public-key-material",
    "aws ec2 create-security-group": "--group-name --description",
    "aws ec2 authorize-security-group-ingress": "--group-name --protocol --port --cidr --source-group",
    "aws ec2 create-launch-template": "--launch-template-name --launch-template-data",
    "aws ec2 run-instances": "--launch-template --count",
    "aws ec2 describe-instances": "--filters --query --output",
    "aws ec2 terminate-instances": "--instance-ids",
    "aws ec2 wait instance-terminated": "--instance-ids",
    "aws ec2 delete-launch-template": "--launch-template-name",
    "aws ec2 delete-security-group": "--group-name",
    "aws ec2 delete-key-pair": "--key-name",
    "aws cloudformation deploy": "--template-file --stack-name --parameter-overrides",
    "aws cloudformation delete-stack": "--stack-name",
    "aws sagemaker create-training-job": "--cli-input-json",
    "aws sagemaker describe-training-job": "--training-job-name",
    "aws sagemaker stop-training-job": "--training-job-name",
    "aws logs tail": "--follow",
    "az login": "",
    "az account set": "--subscription",
    "az group create": "--name --location",
    "az group delete": "--name --yes",
    "az group export": "--name",
    "az network nsg create": "--resource-group --name",
    "az network nsg rule create": "--resource-group --nsg-name --name --priority --direction --access --protocol "
    "--source-address-prefixes --destination-port-ranges",
    "az vm create": "--resource-group --name --count --size --image --admin-username --ssh-key-values --nsg",
    "az vm list-ip-addresses": "--resource-group --output",
    "az vm auto-shutdown": "--resource-group --name --time",
    "az ml job create": "--file",
    "az ml job show": "--name",
    "az ml job stream": "--name",
    "az ml job cancel": "--name",
}
#: Options of `aws` itself, and those that it makes from others of a request.
AWS_OWN = {"--query", "--output", "--cli-input-json", "--protocol", "--port", "--cidr", "--source-group", "--count"}
LINES = [
    line
    for block in re.findall(r"```bash\n(.*?)```", RECIPES + JOBS, re.S)
    for line in block.splitlines()
    if line.split()[0] in ("gcloud", "aws", "az")
]
LINES += [
    " ".join(line.split())
    for line in re.findall(r"`((?:gcloud|aws|az)\s[^`]+)`", re.sub(r"```.*?```", "", RECIPES + JOBS, flags=re.S))
]


def wrong(line):
    """Return what is not there of a cloud's command, or ""."""
    known = [command for command in COMMANDS if f"{line} ".startswith(f"{command} ")]
    if not known:
        return line
    options = [word.partition("=")[0] for word in shlex.split(line) if word.startswith("--")]
    return " ".join(option for option in options if option not in COMMANDS[max(known, key=len)].split())


def test_every_command_of_a_clouds_is_in_its_table():
    assert len(LINES) > 35 and {line: wrong(line) for line in LINES if wrong(line)} == {}
    assert wrong("az vm create --sise Standard_D2s_v5") == "--sise" and wrong("aws ec2 run-instance") != ""


@pytest.mark.parametrize("cloud", ["gcloud", "aws", "az"])
def test_a_recipe_makes_lets_one_client_in_and_ends(cloud):
    lines = [line for line in LINES if line.startswith(cloud)]
    doors = [line for line in lines if re.search(r"(tcp:|--port |port-ranges )", line)]
    assert [line for line in doors if "203.0.113.7/32" not in line] == [] and len(doors) == 1
    assert (
        any(re.search("delete|terminate", line) for line in lines)
        and any("course.pub" in line for line in lines)
        or (cloud == "gcloud" and "course.pub" in RECIPES)
    )


def test_the_rest_that_a_recipe_says_to_type_is_there(tmp_path):
    files = [tomllib.loads(text) for text in re.findall(r"```toml\n(.*?)```", RECIPES + JOBS, re.S)]
    assert [file["cluster"]["where"] for file in files] == ["ssh", "slurm"]
    for text in re.findall(r"```toml\n(.*?)```", RECIPES + JOBS, re.S):
        (tmp_path / "job.toml").write_text(text)
        assert read_job(tmp_path / "job.toml").counts["ps"] == 1
    course = re.findall(r"python -m course ([^`\n\"]+)", RECIPES + JOBS)
    assert len(course) > 10
    for words in map(shlex.split, course):
        assert unknown_to_click(main, words) == "", words
        assert CliRunner().invoke(main, [words[0], "--help"]).exit_code == 0


def test_the_prices_of_machines_with_gpus_are_those_of_the_table():
    rows = re.findall(r"^\| (\S[^|]+) \| T4 \| ([\d.]+) \| ([\d.]+) \| (\S+) \| \[\w+\]\((\S+)\) \|$", RECIPES, re.M)
    assert len(rows) == 3
    for machine, hour, evening, region, source in rows:
        listed, total = price(machine), cost(machine, machines=3, hours=8).compute
        assert (float(hour), region, source) == (listed.hour, listed.region, listed.source)
        assert float(evening) == pytest.approx(total, abs=0.005) and listed.date == "2026-04"


def test_every_flag_of_a_training_can_stand_in_a_job_and_is_listed():
    listed = set(re.findall(r"`(\w+)`", JOBS.partition("with underscores: ")[2].partition("`[cluster]`")[0]))
    of_one_role = {"role", "job_name", "task_index", "routes", "ports", "summaries_of", "log_level", "simulated_gpus"}
    hosts = {option.name for option in click.command(flags(HOSTS)(lambda: None)).params}
    every = {option.name for option in main.commands["train"].params}
    assert listed == every - of_one_role - hosts - {"workers", "ps"}
    for name in listed:
        with pytest.raises(ValueError, match=rf"\[train\] {name} = "):  # a key that is known, and a value that is wrong
            _job({"train": {name: []}})


class _Template(yaml.SafeLoader):
    """Reads CloudFormation's short forms, `!Ref X` and `!GetAtt X.Y`, as the names in them."""


_Template.add_multi_constructor("!", lambda loader, tag, node: {tag: getattr(node, "value", "")})


def members(operation, *path):
    """Return the names that a request of EC2's or SageMaker's has at this path, by botocore's description of it."""
    from botocore.session import Session

    service = "sagemaker" if "Training" in operation else "ec2"
    shape = Session().get_service_model(service).operation_model(operation).input_shape
    for name in path:
        shape = shape.members[name]
    return set(getattr(shape, "member", shape).members)


@pytest.mark.long
def test_the_options_of_aws_and_its_templates_are_those_of_the_requests_that_they_make(clouds_libraries):
    from botocore import xform_name

    for line in [line for line in LINES if line.startswith("aws ec2")]:
        words = shlex.split(line)
        request = "describe-instances" if words[2] == "wait" else words[2]  # which it makes until it is so
        operation = "".join(word.capitalize() for word in request.split("-"))
        legal = {f"--{xform_name(name, '-')}" for name in members(operation)}
        assert {word for word in words if word.startswith("--")} <= legal | AWS_OWN, line
        if "--launch-template-data" in words:
            data = json.loads(words[words.index("--launch-template-data") + 1])
            assert data.keys() <= members("CreateLaunchTemplate", "LaunchTemplateData")
    resources = yaml.load((ROOT / "deploy" / "cloudformation.yaml").read_text(), _Template)["Resources"]
    legal = {
        "AWS::EC2::LaunchTemplate": members("CreateLaunchTemplate"),
        "AWS::EC2::Instance": members("RunInstances"),
        "AWS::EC2::SecurityGroup": {"GroupDescription", "SecurityGroupIngress"},
        "AWS::EC2::SecurityGroupIngress": members("AuthorizeSecurityGroupIngress") | {"SourceSecurityGroupId"},
    }
    assert len([one for one in resources.values() if one["Type"] == "AWS::EC2::Instance"]) == 3
    for resource in resources.values():
        assert resource["Properties"].keys() <= legal[resource["Type"]], resource
        data = resource["Properties"].get("LaunchTemplateData", {})
        assert data.keys() <= members("CreateLaunchTemplate", "LaunchTemplateData")
    for path in (["TrainingJobName"], ["AlgorithmSpecification", "ContainerArguments"], ["CheckpointConfig", "S3Uri"]):
        assert path[-1] in members("CreateTrainingJob", *path[:-1])
    assert {"InstanceGroups", "InstanceType"} <= members("CreateTrainingJob", "ResourceConfig")


def test_whatever_the_template_refers_to_is_in_it():
    text = (ROOT / "deploy" / "cloudformation.yaml").read_text()
    template = yaml.load(text, _Template)
    there = {*template["Resources"], *template["Parameters"]}
    assert set(re.findall(r"!(?:Ref|GetAtt) (\w+)", text)) <= there
    assert re.search(r"CidrIp: !Ref Client", text) and "0.0.0.0/0" not in text
