"""What a run leaves: text, JSON that keeps to its schema, one page that needs nothing else, an exit status."""

import copy
import importlib
import json
import re
from pathlib import Path

import fastjsonschema
import pytest
from click.testing import CliRunner

from benchmarks import __main__ as command
from benchmarks import machine, peers_environment, report
from benchmarks.against import compared
from benchmarks.contest import Together
from benchmarks.figures import Entry, Result, Target
from benchmarks.page import page
from benchmarks.places import Places

ENTRIES = (
    Entry("ours & best", "ours", (5.0, 6.0), versions={"torch": "2"}),
    Entry("a peer", "peer", (0.001, None, 0.002), "ended with status 1: <killed>"),
    Entry("lifelib", "peer", problem="not installed: no compiler"),
    Entry("C, tuned", "limit", (10.0, 10.0)),
)
RESULT = Result("life", "Life, 50²", "Gcell/s", "more", 2, 2, ENTRIES, (Target("ours & best", "C, tuned", least=0.7),))
ALONE = Result("pi", "errors", "of pi", "less", 1, 2, (Entry("pseudo", "ours", (0.1, 0.1)),))


def told(*results, **more):
    about = {"date": "2026-01-01T00:00:00+00:00", "commit": "abc", "system": "Linux", "processor": "a CPU", "cores": 2}
    about |= {"vectors": "AVX2", "memory_gb": 8.0, "python": "3.12"}
    whole = {"version": 2, "quick": False, "machine": about, "versions": {"torch": "2"}, "seconds": 1.0}
    return {**whole, "busy": [{"topic": "life", "used": 0.0, "load": 0.1}], "results": list(results), **more}


def test_the_lines_show_every_contestant_its_ratio_and_why_one_is_missing():
    text = "\n".join(report.lines(RESULT))
    assert all(entry.name in text for entry in ENTRIES) and "not installed: no compiler" in text
    assert re.search(r"a peer +0\.002 +1/5,000× C, tuned", text)
    assert "target ours & best ≥ 0.7 of C, tuned: 0.6 MISSED" in text


def test_a_report_is_read_back_as_it_was_written(tmp_path):
    report.write(tmp_path / "bench.json", told(RESULT, ALONE))
    assert report.read(tmp_path / "bench.json") == told(RESULT, ALONE)


@pytest.mark.parametrize("broken", ["", "{}", "[1]", '{"version": 2}'])
def test_a_file_that_is_no_report_gets_a_sentence_and_status_2(tmp_path, broken):
    (tmp_path / "old.json").write_text(broken)
    with pytest.raises(report.NotAReport, match="not the JSON of a benchmark"):
        report.read(tmp_path / "old.json")
    done = CliRunner().invoke(command.main, ["--against", str(tmp_path / "old.json")])
    assert done.exit_code == 2 and "not the JSON of a benchmark" in done.output


def test_a_quick_run_is_compared_with_a_quick_one_only(tmp_path):
    report.write(tmp_path / "old.json", told(RESULT, quick=True))
    done = CliRunner().invoke(command.main, ["pi", "--against", str(tmp_path / "old.json")])
    assert done.exit_code == 2 and "that was a quick run" in done.output and "add --quick" in done.output


def test_the_schema_refuses_a_report_that_lacks_a_part(tmp_path):
    report.write(tmp_path / "bench.json", told(RESULT))
    whole = json.loads((tmp_path / "bench.json").read_text())
    check = fastjsonschema.compile(json.loads(report.SCHEMA.read_text(encoding="utf-8")))
    check(copy.deepcopy(whole))
    for path in (["busy"], ["machine", "commit"], ["results", 0, "unit"], ["results", 0, "entries", 0, "kind"]):
        part = broken = copy.deepcopy(whole)
        for key in path[:-1]:
            part = part[key]
        del part[path[-1]]
        with pytest.raises(fastjsonschema.JsonSchemaValueException):
            check(broken)


def test_the_page_needs_no_network_and_shows_every_row_and_target():
    slower = Result(**{**vars(RESULT), "entries": (Entry("ours & best", "ours", (2.0, 2.0)), *ENTRIES[1:])})
    text = page(told(slower, ALONE), compared({"busy": [], "results": [RESULT]}, {"busy": [], "results": [slower]}))
    assert not re.search(r"""\bsrc\s*=|@import|<link|<script|url\((?!['"]?#)""", text)
    assert set(re.findall(r'href="([^"]*)', text)) <= {one for one in re.findall(r'href="(#[^"]*)', text)}
    addresses = set(re.findall(r"https?://[^\s\"'<]+", text))
    assert all(one.startswith("http://www.w3.org/") for one in addresses)  # the names of SVG's languages
    for name in ("ours &amp; best", "a peer", "lifelib", "C, tuned", "pseudo", "not installed: no compiler"):
        assert f"{name}" in text
    assert "&lt;killed&gt;" in text and "MISSED" in text and "SLOWER" in text and "prefers-color-scheme: dark" in text
    assert 'role="img" aria-label="Life, 50²' in text


def test_a_busy_machine_and_a_quick_run_are_said(tmp_path, capsys):
    busy = told(RESULT, quick=True, busy=[{"topic": "life", "used": 0.9, "load": 3.0}])
    text = page(busy, [])
    line = "WARNING: before or after life others used 90% of the machine"
    assert line in text and "quick: smaller sizes" in text
    command._finish(busy, None, tmp_path)
    assert line in capsys.readouterr().out
    assert "WARNING" not in page(told(RESULT), [])


@pytest.mark.parametrize(("seen", "told"), [([90, 3, 80], 0.03), ([90, 40, *[90] * 6, 0], 0.4), ([0, 90], 0.0)])
def test_what_ends_in_a_moment_does_not_count_as_others(monkeypatch, seen, told):
    looks = iter(seen)
    monkeypatch.setattr(machine.psutil, "cpu_percent", lambda seconds: next(looks))
    assert machine.busy()["used"] == told


def test_what_others_use_before_or_after_a_topic_is_written_down_with_it(monkeypatch, tmp_path):
    used = iter([0.1, 0.6, 0.2])
    monkeypatch.setattr(machine, "busy", lambda: {"used": next(used), "load": 1.0})
    monkeypatch.setattr(command, "_topic", lambda topic, quick, places: [])
    kept = []
    monkeypatch.setattr(command, "_finish", lambda told, before, out: kept.append(told["busy"]))
    command._measured(["life", "mean"], True, False, None, tmp_path)
    assert [(one["topic"], one["used"]) for one in kept[0]] == [("life", 0.6), ("mean", 0.6)]


def test_the_exit_status_says_slower_or_that_one_of_ours_failed(tmp_path):
    assert command._finish(told(RESULT), None, tmp_path) == 0  # a missed target and a missing peer are figures
    slower = Result(**{**vars(ALONE), "entries": (Entry("pseudo", "ours", (0.2, 0.2)),)})
    assert command._finish(told(slower), told(ALONE), tmp_path) == 1
    assert command._finish(told(ALONE), told(slower), tmp_path) == 0
    lost = Result(**{**vars(ALONE), "entries": (Entry("pseudo", "ours", (), "wrong answer: 3 is not pi"),)})
    assert command._finish(told(lost), None, tmp_path) == 3
    assert {path.name for path in tmp_path.iterdir()} == {"bench.json", "bench.html"}


@pytest.mark.parametrize(
    ("words", "held"),
    [
        (["--quick"], {*command.TOPICS} - {"checkpoint", "grading", "recovery", "tuning"}),
        (["--quick", "tuning"], {"tuning"}),
        ([], {*command.TOPICS}),
    ],
)
def test_a_quick_run_has_the_long_topics_only_where_they_are_named(words, held, monkeypatch, tmp_path):
    seen = []
    monkeypatch.setattr(command, "_topic", lambda topic, quick, places: seen.append(topic) or [])
    monkeypatch.setattr(machine, "busy", lambda: {"used": 0.0, "load": 0.0})
    assert CliRunner().invoke(command.main, [*words, "--out", str(tmp_path)]).exit_code == 0
    assert set(seen) == held


def test_a_topic_that_is_not_there_is_refused_with_those_that_are():
    done = CliRunner().invoke(command.main, ["poker"])
    assert done.exit_code == 2 and "life" in done.output and "mean" in done.output


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("topic", command.TOPICS)
def test_every_topic_names_its_contests_apart_and_its_targets_and_work_exist(topic, quick, tmp_path, monkeypatch):
    module = importlib.import_module(command.TOPICS[topic])
    monkeypatch.setattr("benchmarks.boards.save", lambda folder, height, width: folder / f"{height}x{width}.bits")
    monkeypatch.setattr("benchmarks.topics.mean.COUNT", 1000)
    titles = []
    for contest in module.contests(quick, Places(tmp_path, {})):
        parts = contest.contests if isinstance(contest, Together) else [contest]
        workers = contest.contestants
        for part in parts:
            titles.append(part.title)
            names = [one.name for one in part.contestants]
            assert len(names) == len(set(names)) and any(one.kind == "ours" for one in part.contestants), part.title
            assert {target.ours for target in part.targets} <= set(names), part.title
            assert {target.beside for target in part.targets} <= {*names, ""}, part.title
        for one in workers:
            where, _, function = one.work.partition(":")
            assert (
                callable(getattr(importlib.import_module(where), function))
                if function
                else Path(command.__file__).with_name("limits").joinpath(f"{where}.c").exists()
            )
            assert not one.needs or one.needs in {*peers_environment.requirements(), "tensorflow"}
    assert len(titles) == len(set(titles))


# --- the peers' environment -------------------------------------------------------------------------------------------


def test_the_peers_are_an_extra_of_their_own_with_ranges():
    import tomllib

    project = tomllib.loads((peers_environment.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    learners = {re.match(r"[\w-]+", line)[0] for line in project["dependencies"]}
    assert not learners & set(peers_environment.requirements())
    assert all("<" in line and ">=" in line for line in peers_environment.requirements().values())


def test_a_peer_that_cannot_be_installed_is_kept_with_its_reason_and_tried_again(tmp_path, monkeypatch):
    import install_pip

    asked = []

    def run(python, arguments, what, say):
        asked.append(what)
        if what.startswith("jax"):
            raise install_pip.PipFailed("no wheel of jax for this Python")

    monkeypatch.setattr(install_pip, "run", run)
    monkeypatch.setattr(peers_environment.subprocess, "run", lambda *_, **__: (tmp_path / "bin").mkdir())
    said = []
    found = peers_environment.install(said.append, only=("jax", "ray"), place=tmp_path)
    assert found["jax"] == "no wheel of jax for this Python" and found["ray"] == "" and "nbgrader" not in found
    assert any("no wheel of jax" in line for line in said) and len(asked) == 4
    (tmp_path / "bin" / "python").touch()
    asked.clear()
    peers_environment.install(said.append, only=("jax", "ray"), place=tmp_path)
    assert [one[:3] for one in asked] == ["jax"]
