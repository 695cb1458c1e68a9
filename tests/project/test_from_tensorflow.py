"""The page for those who come from TensorFlow: each name of its table has an example of two lines, and all run."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from course.__main__ import main
from course.deploy.deploy import check_options
from tests.helpers.shells import Member

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "from_tensorflow.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| \[(.+?)\]\(#(.+?)\) \| (.+) \| (\d\d) \|$", PAGE, re.M)
#: (heading, kind of block, its text), in the page's order; what an example stands on has no heading
BLOCKS = re.findall(r"(?:^### ([^\n]+)\n\n)?```(\w*)\n(.*?)```", PAGE, re.S | re.M)
#: What the five tutorials name, as a reader would look for it on this page.
NAMED = """
tf.device | log_device_placement | allow_soft_placement | list_local_devices | Session.run | tf.gradients | py_func
Variable | placeholder | feed_dict | split | concat | GPU install | the first GPU as default | in-graph replication
ClusterSpec | create_local_server | Server.join | Server.join for all jobs | the local job | session target | RPC
between-graph replication | replica_device_setter | GreedyLoadBalancingStrategy | GradientDescentOptimizer | global_step
SyncReplicasOptimizer | SessionRunHook | MonitoredTrainingSession | Supervisor | StopAtStepHook | NanTensorHook
CheckpointSaverHook | StepCounterHook | LoggingTensorHook | Saver | tf.summary.FileWriter
SavedModel | tensorflow_model_server | signatures | CloudML's train | CloudML's tune | CloudML's predict | clouds
""".replace("\n", " | ").split(" | ")
NAMED = [name.strip() for name in NAMED if name.strip()]


def test_the_table_has_every_name_and_leads_to_its_example():
    names = [name for name, *_ in ROWS]
    assert names == [heading for heading, *_ in BLOCKS if heading] and len(names) == len(PAGE.split("\n### ")) - 1
    rows = {name.replace("`", "") for name in names}
    rows |= {part for row in rows for part in row.split(" and ")}
    assert [name for name in NAMED if name not in rows] == []
    for name, anchor, ours, chapter in ROWS:
        assert anchor == re.sub(r"[^\w -]", "", name.lower()).replace(" ", "-"), name  # as GitHub makes them
        assert ours and list((ROOT / "notebooks").glob(f"{chapter}_*.ipynb"))
    lengths = {heading: len(text.splitlines()) for heading, _, text in BLOCKS if heading}
    assert lengths.pop("`SessionRunHook`") == 3  # a class, its method, and what that does
    assert set(lengths.values()) <= {1, 2}


def test_every_example_runs_as_it_stands(capsys):
    names = {}
    try:
        for heading, kind, text in BLOCKS:
            if kind == "python":
                exec(compile(text, f"<{heading or 'what the examples stand on'}>", "exec"), names)
        said = capsys.readouterr().out
    finally:
        for left in ("gpus", "cluster"):
            if left in names:
                names[left].close()
    for words in (
        "mm   ",
        "\n6\n",
        "gone on from step 20",
        "9.0 (simulated)",
        "{0: 40}",
        "(tensor(6.),)",
        "line version 2",
    ):
        assert words in said, words


def test_every_command_of_an_example_is_one_with_these_flags(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()
    (tmp_path / "job.toml").write_text("")
    lines = [line for heading, kind, text in BLOCKS if heading and kind == "sh" for line in text.splitlines()]
    commands = [shlex.split(line)[3:] for line in lines if line.startswith("python -m course ")]
    assert {command for command, *_ in commands} == {"devices", "task", "serve", "job"}
    for name, *words in commands:
        with main.make_context("course", [name, *words]) as parent:  # click raises for a flag that there is not
            main.get_command(parent, name).make_context(name, list(words), parent=parent).close()


def test_a_clouds_example_has_options_that_there_are():
    (line,) = [text for _, kind, text in BLOCKS if kind == "py"]
    exec(line, {"deploy": check_options})  # raises for an option that there is not, as `deploy` itself does


@pytest.mark.long
@pytest.mark.faults
def test_the_commands_start_a_task_that_serves_until_it_is_told_to_stop(tmp_path, free_ports):
    text = next(text for heading, kind, text in BLOCKS if heading and not kind)
    for number, port in zip(("2222", "2223", "2224"), [p for p in free_ports(12) if p < 60000], strict=False):
        text = text.replace(f"localhost:{number}", f"127.0.0.1:{port}")
    certificate, task = (shlex.split(line)[3:] for line in text.splitlines())
    subprocess.run([sys.executable, "-m", "course", *certificate], cwd=tmp_path, check=True, timeout=120)
    member = Member(*task[1:], folder=tmp_path, room=task[0])
    try:
        member.says("/job:ps/task:0 listens at", patience=120)
        member.process.terminate()
        assert member.ends(60) == 0
    finally:
        member.close()
