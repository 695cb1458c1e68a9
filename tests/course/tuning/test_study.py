"""A study and its journal, without a cluster: what is asked for, kept, pruned, and gone on with."""

import pickle
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from course.tuning import journal as journal_module
from course.tuning.result import TuningError
from course.tuning.space import make_space
from course.tuning.study import Plan, opened_study

SPACE = make_space({"learning_rate": (0.01, 10.0, "log"), "optimizer": ["sgd", "adam"], "workers": 3})


def plan(search="tpe", trials=12, **more):
    facts = {"steps": 20, "metric": "loss", "direction": "minimize", "pruning": True, "seed": 7} | more
    return Plan("a problem", SPACE, trials, search=search, **facts)


def lived(study, most=10**9):
    """Play one worker: end the trials of `study`, at most so many; return the records."""
    while most and (taken := study.next()):
        number, parameters = taken
        study.begun(number)
        state = "done"
        for step in (2, 4, 10, 20):
            if study.report(number, step, loss(parameters, step)):
                state = "pruned"
                break
        study.end(number, state, loss(parameters, 20), seconds=0.5, worker="here")
        most -= 1
    return study.records()


def loss(parameters, step):
    return abs(parameters["learning_rate"] - 1) + (parameters["optimizer"] == "adam") + 1 / step


def without_attempts(records):
    return [(record.number, record.parameters, record.state, record.value, record.reports) for record in records]


@pytest.fixture(autouse=True, scope="module")
def no_waiting_for_the_disk():
    """What is tried here is what stands in the file, some ten thousand lines of it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("optuna.storages.journal._file.os.fsync", lambda file: None)
        yield


@pytest.fixture(scope="module", params=["tpe", "random", "grid"])
def uninterrupted(request, tmp_path_factory):
    """The plan of a search, its journal, and its records."""
    path = tmp_path_factory.mktemp("journals") / request.param
    with opened_study(plan(request.param), path) as study:
        return plan(request.param), path.read_bytes, lived(study)


def test_a_study_has_its_budget_of_trials_and_prunes_some(uninterrupted):
    searched, _, records = uninterrupted
    assert len(records) == searched.budget == 12
    assert {record.state for record in records} == {"done", "pruned"}
    assert all(record.parameters["workers"] == 3 for record in records)
    assert all(len(record.reports) < 4 and record.value is None for record in records if record.state == "pruned")


@given(data=st.data())
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_journal_that_was_cut_off_anywhere_leads_to_the_same_trials(uninterrupted, data, tmp_path):
    searched, whole, records = uninterrupted
    content, path = whole(), tmp_path / "journal"
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    with opened_study(searched, path) as study:
        again = lived(study)
    assert without_attempts(again) == without_attempts(records)


@given(data=st.data())
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_journal_with_a_flipped_bit_is_refused_and_stays_as_it_is(uninterrupted, data, tmp_path):
    searched, whole, _ = uninterrupted
    content, path = bytearray(whole()), tmp_path / "journal"
    content[data.draw(st.integers(0, len(content) - 2))] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(content)
    with pytest.raises(ValueError, match="journal=.*damaged|not a journal"), opened_study(searched, path):
        pass
    assert path.read_bytes() == bytes(content)


def test_a_journal_of_before_goes_on_and_has_check_sums_from_then_on(uninterrupted, tmp_path):
    searched, whole, records = uninterrupted
    path = tmp_path / "journal"
    path.write_bytes(re.sub(rb',"crc":\d+}\n', b"}\n", whole())[:3000])
    with opened_study(searched, path) as study:
        assert without_attempts(lived(study)) == without_attempts(records)
    content = path.read_bytes()
    assert content.count(b'"crc"') and not content[:1000].count(b'"crc"')
    path.write_bytes(content.replace(b'"steps":20', b'"steps":21'))
    with pytest.raises(ValueError, match=r"line \d+ is damaged"), opened_study(searched, path):
        pass


class Trap:
    def __reduce__(self):
        return Path.touch, (Path("unpickled"),)


@pytest.mark.parametrize(
    "content",
    [
        pickle.dumps(Trap()),
        pickle.dumps(Trap(), 0),
        b"hello\n",
        b"hello",
        b"[1]\n",
        b"[" * 100_000 + b"\n",
        b"\x80\xff\n",
        b'{"op_code":0,"worker_id":"x","study_name":"mine","directions":[1]}\n',
        b'{"op_code":4,"worker_id":"x","study_id":0}\n',
    ],
    ids=lambda content: repr(content[:30]),
)
def test_a_foreign_file_is_refused_and_stays_as_it_is(content, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "journal"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="not a journal of the course"), opened_study(plan(), path):
        pass
    assert path.read_bytes() == content and not Path("unpickled").exists()


@pytest.mark.parametrize(
    "line",
    [
        b'{"op_code":5,"worker_id":"x"}',
        b'{"op_code":4,"worker_id":"x","study_id":0,"datetime_start":"never"}\n'
        + 2 * b'{"op_code":5,"worker_id":"x"}\n',
        b'{"op_code":1,"worker_id":"x","study_id":0}',
        b'{"op_code":8,"worker_id":"x"}',
        b"",
        b"\x80\x04",
    ],
)
def test_a_line_that_makes_no_sense_is_told_as_damage_and_the_file_stays_as_it_is(line, tmp_path):
    path = tmp_path / "journal"
    with opened_study(plan(), path) as study:
        lived(study, 2)
    content = path.read_bytes() + line + b"\n"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="damaged"), opened_study(plan(), path):
        pass
    assert path.read_bytes() == content


def test_two_drivers_on_one_journal_are_refused_at_once_and_the_second_may_come_afterwards(tmp_path):
    path = tmp_path / "journal"
    with opened_study(plan(), path) as study:
        lived(study, 3)
        before = path.read_bytes()
        with pytest.raises(ValueError, match="another driver is tuning"), opened_study(plan(), path):
            pass
        assert path.read_bytes() == before
    with opened_study(plan(), path) as study:
        assert len(lived(study, 0)) == 3


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"steps": 30}, "steps"),
        ({"seed": 8}, "seed"),
        ({"metric": "accuracy"}, "metric"),
        ({"search": "random"}, "search"),
        ({"fingerprint": "another"}, "the fingerprint of data and code"),
    ],
)
def test_a_journal_of_another_search_is_refused_by_what_differs(change, name, tmp_path):
    path = tmp_path / "journal"
    with opened_study(plan(), path) as study:
        lived(study, 2)
    content = path.read_bytes()
    with (
        pytest.raises(ValueError, match=f"of another search: {name} is .* now, and was"),
        opened_study(plan(**change), path),
    ):
        pass
    assert path.read_bytes() == content


def test_more_trials_may_be_asked_for_later_and_fewer_are_there_already(tmp_path):
    path = tmp_path / "journal"
    for trials, count in ((5, 5), (9, 9), (3, 9)):
        with opened_study(plan(trials=trials), path) as study:
            assert len(lived(study)) == count


@pytest.mark.parametrize("where", ["a folder", "nowhere/that/is/a file/journal"])
def test_a_place_that_cannot_be_written_is_told(where, tmp_path):
    (tmp_path / "a folder").mkdir()
    (tmp_path / "nowhere" / "that" / "is").mkdir(parents=True)
    (tmp_path / "nowhere" / "that" / "is" / "a file").touch()
    with pytest.raises(ValueError, match="it can't be used"), opened_study(plan(), tmp_path / where):
        pass


def test_a_disk_that_fills_up_leaves_whole_lines_and_the_study_goes_on_afterwards(tmp_path, monkeypatch):
    path = tmp_path / "journal"
    written = []

    def fsync(file):
        written.append(path.stat().st_size)
        if len(written) == 30:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("optuna.storages.journal._file.os.fsync", fsync)
    with pytest.raises(TuningError, match="No space left.*the same call goes on"), opened_study(plan(), path) as study:
        lived(study)
    monkeypatch.undo()
    assert path.stat().st_size == written[28]
    assert path.read_bytes().endswith(b"\n")
    with opened_study(plan(), path) as study:
        assert len(lived(study)) == 12


def test_a_journal_that_is_removed_is_told(tmp_path):
    path = tmp_path / "journal"
    with pytest.raises(TuningError, match="removed|can't be read"), opened_study(plan(), path) as study:
        lived(study, 2)
        path.unlink()
        lived(study)


def test_what_the_sampler_draws_for_a_trial_does_not_depend_on_when_it_was_opened():
    assert journal_module.STUDY == "course.tuning"
    with opened_study(plan("random"), None) as early, opened_study(plan("random"), None) as late:
        taken = [late.next() for _ in range(12)]  # twelve workers at once
        assert taken == [(record.number, record.parameters) for record in lived(early)]
        assert late.next() is None
