"""Every command line that the five classic tutorials tell a reader to type: its words work here, or get a sentence.

The tutorials are LearningTensorFlow's lessons, the line of thewintersun/distributeTensorflowExample, the digits of
ischlag/distributed-tensorflow-example, and the chapters on many machines of two books: R. Bonnin, Building Machine
Learning Projects with TensorFlow, 2016, and A. Gulli and A. Kapoor, TensorFlow 1.x Deep Learning Cookbook, 2017.
"""

import json
import re
import shlex
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from course.__main__ import main
from course.cluster import ClusterSpec
from course.cluster.certificates import write_certificate
from course.commands import train
from course.commands.as_typed import with_role
from course.commands.task import spec_of
from course.training import Checkpoints
from tests.helpers.shells import SLOWLY, Member

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "from_tensorflow.md").read_text(encoding="utf-8")
LAN = "--ps_hosts=192.168.100.42:2222 --worker_hosts=192.168.100.42:2224,192.168.100.253:2225"
HERE = "--ps_hosts=localhost:2222   --worker_hosts=localhost:2223,localhost:2224"
FILE = "--spec=cluster.json"  # those programs had their hosts in the source
#: (what stands there before the flags, what stands here, the flags as they stand there, what is understood)
WORKS = [
    ("python matmul.py", "matmul", "cpu 1500", {"device": "cpu", "sizes": (1500,)}),
    ("python matmul.py", "matmul", "gpu 1500", {"device": "gpu", "sizes": (1500,)}),
    ("python create_worker.py", "task --spec=local.json", "0", {"job": None, "task_index": 0}),
    ("python create_worker.py", "task --spec=local.json", "1", {"job": None, "task_index": 1}),
    ("python start_server.py", "task --spec=local.json", "-index=0", {"job": None, "task_index": 0}),
    ("python start_server.py", "task --spec=local.json", "-index=1", {"job": None, "task_index": 1}),
    ("python client.py", "pi", "-numsamples=1000", {"numsamples": 1000}),
    ("python client.py", "pi", "--numsamples 1000", {"numsamples": 1000}),
    ("python trainer.py", "train --problem=linear-101", f"{HERE}   --job_name=ps -task_index=0", ("ps", 0)),
    ("python trainer.py", "train --problem=linear-101", f"{HERE}   --job_name=worker -task_index=0", ("worker", 0)),
    ("python trainer.py", "train --problem=linear-101", f"{HERE}   --job_name=worker --task_index=1", ("worker", 1)),
    ("CUDA_VISIBLE_DEVICES='' python distribute.py", "train", f"{LAN} --job_name=ps --task_index=0", ("ps", 0)),
    ("CUDA_VISIBLE_DEVICES=0 python distribute.py", "train", f"{LAN} --job_name=worker --task_index=0", ("worker", 0)),
    (
        "CUDA_VISIBLE_DEVICES=0 python distribute.py",
        "train",
        f"{LAN} --job_name=worker --task_index=1 --learning_rate=0.00003 --steps_to_validate=1000",
        ("worker", 1),
    ),
    ("python example.py", f"train {FILE} --problem=mnist", '--job_name="ps" --task_index=0', ("ps", 0)),
    ("python example.py", f"train {FILE} --problem=mnist", '--job_name="worker" --task_index=0', ("worker", 0)),
    ("python example.py", f"train {FILE} --problem=mnist", '--job_name="worker" --task_index=1', ("worker", 1)),
    (
        "python example.py",
        f"train {FILE} --problem=mnist",
        "--job-name worker --task-index 1 --learning-rate 0.0005 --training-epochs 20 --logdir /tmp/mnist",
        ("worker", 1),
    ),
    ("python distributed.py", f"train {FILE}", "ps 0", ("ps", 0)),
    ("python distributed.py", f"train {FILE}", "worker 1", ("worker", 1)),
    (
        "python -m trainer.task",
        f"train {FILE} --problem=mnist --job_name=worker",
        "--output_dir gs_bucket/job --train_steps 10000",
        ("worker", 0),
    ),
]
#: (what is typed here, with their words, a part of the sentence)
SENTENCES = [
    ("train --ps-host localhost --worker-host localhost --job-name ps", "--ps_hosts=localhost:2222"),
    ("train --job_name=ps --port 2222", "give every task with its port"),
    ("train --job_name=worker --num_gpus=1", "--device=/gpu:0"),
    ("train --job_name=worker --batch-size 128", "mnist(batch_size=128)"),
    ("train --data_dir=/mnt/mnist --output_dir=/mnt/model", "the digits come with the course"),
    ("train --data-path data/mnist", "the digits come with the course"),
    ("train --issync=1", "--mode=sync"),
    ("train worker 1 --spec=local.json", "a ps task and a worker task are needed"),
    ("train 0 --spec=cluster.json", "0: a role is a job and a number, such as `worker 1`"),
    ("task chief --spec=cluster.json", "chief: a role is a job and a number, such as `worker 1`"),
    ("task --spec=cluster.json -index=0", "--job ps or --job worker"),
    ("train --save_model_secs=60", "by --checkpoint-dir DIR"),
    ("train --epochs=2 --steps=100", "give one of them"),
    ("serve --rest_api_port=8501 /tmp/models", "--port is HTTP's here"),
    ("serve --port=9000 --model_name=mnist --model_base_path=/tmp/mnist_model/", "`serve /tmp/models`"),
]
#: Lines of other programs, by their beginnings: the page has a sentence on each.
OTHERS = """
sudo pip install tensorflow
gcloud compute instances create template-instance
gcloud compute images create template-image
gcloud compute ssh template-instance
./scripts/start-training.sh gs://${BUCKET}
gsutil mb -c regional -l us-east1 gs://${BUCKET}
gsutil cp /tmp/data/train.tfrecords gs://${BUCKET}/data/
gcloud ml-engine jobs submit training ${JOB_NAME}
gcloud ml-engine models create --regions us-central1 ${MODEL_NAME}
gcloud ml-engine versions create
gcloud ml-engine versions set-default --model ${MODEL_NAME} ${VERSION_NAME}
gcloud ml-engine predict --model ${MODEL_NAME} --json-instances request.json
az group create --name myResourceGroup --location eastus
az storage share create --name batchaisample
az storage file upload --share-name batchaisample
az batchai cluster create -n nc6
az batchai job create -c job.json
az batchai job stream-file --job-name myjob
az batchai job delete
docker build --pull -t $USER/tensorflow-serving-devel
docker run -it $USER/tensorflow-serving-devel
./configure
bazel test tensorflow_serving/...
tensorflow_model_server --port=9000 --model_name=mnist --model_base_path=/tmp/mnist_model/
tensorboard --logdir=/tmp/mnist/1
chmod 400 key.pem
ssh -i key.pem ubuntu@host
jupyter notebook --ip=0.0.0.0 --no-browser
""".strip().splitlines()


@pytest.fixture(autouse=True)
def their_clusters(tmp_path, monkeypatch):
    """A folder with the clusters that two of the tutorials have in their source, as files."""
    monkeypatch.chdir(tmp_path)
    Path("local.json").write_text(json.dumps({"local": ["localhost:2222", "localhost:2223"]}))
    hosts = {"ps": ["pc-01:2222"], "worker": ["pc-02:2222", "pc-03:2222", "pc-04:2222"]}
    Path("cluster.json").write_text(json.dumps(hosts))
    Path("cluster.toml").write_text("".join(f"{job} = {addresses}\n" for job, addresses in hosts.items()))


def understood(line):
    """Return what the command line is understood as, name to value; nothing runs."""
    name, *words = shlex.split(line)
    with click.Context(main, **main.context_settings) as context:
        _, command, words = main.resolve_command(context, [name, *words])
        values = command.make_context(name, words, parent=context).params
        return with_role(values) if "role" in values else values


@pytest.mark.parametrize(("theirs", "ours", "flags", "wanted"), WORKS)
def test_what_is_typed_in_a_tutorial_is_understood_here(theirs, ours, flags, wanted):
    values = understood(f"{ours} {flags}")
    if isinstance(wanted, dict):
        assert {name: values[name] for name in wanted} == wanted
        return
    more = {name: value for name, value in values.items() if name not in ("certificate", "insecure", "patience")}
    more = {name: value for name, value in more.items() if name not in ("workers", "ps", "routes", "ports")}
    hosts = {name: more.pop(name) for name in ("spec", "ps_hosts", "worker_hosts", "scheduler_hosts")}
    role, _ = train._role_of(spec_of(**hosts), more.pop("job_name"), more.pop("task_index"), **more)
    assert (role.job, role.index) == wanted and role.spec.scheduler_task == "/job:ps/task:0"
    if "--training-epochs" in flags:
        assert role.plan.settings.limit == 20 * 40 * 3 and role.plan.optimizer.keywords["lr"] == 0.0005
    if "--steps_to_validate" in flags:
        assert role.parameters_every == 1000


@pytest.mark.parametrize(("line", "words"), SENTENCES)
def test_what_is_otherwise_here_gets_a_sentence(line, words):
    done = CliRunner().invoke(main, shlex.split(line))
    assert done.exit_code in (1, 2) and words in " ".join(done.output.split()), done.output
    assert "Traceback" not in done.output and len(done.output.splitlines()) < 6


@pytest.mark.parametrize("theirs", sorted({theirs.split()[-1] for theirs, *_ in WORKS}))
def test_the_page_says_what_to_type_for_each_of_their_programs(theirs):
    assert f"`python {theirs}" in PAGE or f"`python -m {theirs}" in PAGE


@pytest.mark.parametrize("line", OTHERS)
def test_the_page_has_a_sentence_on_each_line_of_another_program(line):
    rows = re.findall(r"^\| (`.+?) \| (.+) \|$", PAGE, re.M)
    line = line.removeprefix("sudo ")
    answers = [here for theirs, here in rows if any(map(line.startswith, theirs.split("`")[1::2]))]
    assert len(answers) == 1 and answers[0].strip()


def test_a_word_that_only_looks_like_a_flag_is_left_alone():
    assert understood("pi --samples 100 --seed 3")["seed"] == 3
    assert understood("check -- -lab")["notebook"] == "-lab"


@pytest.mark.parametrize("file", ["cluster.json", "cluster.toml"])
def test_a_file_without_a_scheduler_is_what_the_flags_are(file):
    flags = spec_of(ps_hosts="pc-01:2222", worker_hosts="pc-02:2222,pc-03:2222,pc-04:2222")
    assert spec_of(file) == flags and spec_of(file).scheduler_task == flags.scheduler_task == "/job:ps/task:0"
    assert spec_of("local.json").scheduler == "localhost:3222"
    Path("own.toml").write_text('scheduler = ["a:1"]\nworker = ["b:1"]\n')
    assert spec_of("own.toml") == ClusterSpec({"scheduler": ["a:1"], "worker": ["b:1"]})


@pytest.mark.long
@pytest.mark.faults
def test_three_roles_by_their_words_print_their_parameters_save_and_write_each_its_own(free_ports, tmp_path):
    ps, *workers = [f"127.0.0.1:{port}" for port in free_ports(12) if port < 60000][:3]
    Path("cluster.json").write_text(json.dumps({"ps": [ps], "worker": workers}))
    write_certificate(tmp_path / "cluster.pem")
    line = "--spec=cluster.json --steps=400 --steps_to_validate=100 --checkpoint_dir=saved --save_model_secs=0.5"
    line += " --logdir=seen --summaries_of=all --problem=slowly:make"
    Path("slowly.py").write_text(SLOWLY)
    roles = []
    try:
        for words in ("-job_name=worker -task_index=1", "worker 0", "--job_name=ps"):
            roles.append(Member(*shlex.split(words), *line.split(), folder=tmp_path, room="train"))
        assert [role.ends(240) for role in roles] == [0, 0, 0], "\n\n".join(role.text for role in roles)
        for index, role in enumerate(roles[1::-1]):
            line = rf"^/job:worker/task:{index} step: ([1-4])\d\d, slope: [\d.]+, intercept: [\d.]+, loss: "
            hundreds = re.findall(line, role.text, re.M)  # those that it has seen: others came while it stood still
            assert hundreds and hundreds == sorted(set(hundreds)), role.text
    finally:
        for role in roles:
            role.close()
    assert 3 <= len(Checkpoints(tmp_path / "saved").all()) <= 5, "the first and last, and some of each half second"
    for role in ("worker_0", "worker_1", "ps_0"):
        (file,) = (tmp_path / "seen" / role).iterdir()
        assert file.name.startswith("events.out.tfevents.")
