"""Snapshots and checkpoints: what was written is what is read, and whatever breaks is named and not used."""

import json
import os
import pickle
import shutil
import warnings
from dataclasses import fields, replace
from functools import partial

import pytest
import torch
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from course.training import (
    Applied,
    Checkpoints,
    CheckpointWarning,
    NonFiniteError,
    ParameterServer,
    SaveCheckpoint,
    Snapshot,
    linear_regression,
    train_in_turns,
)
from course.training.checkpoint.manifest import FORMAT, CheckpointError

PROBLEM = linear_regression()
OPTIMIZERS = {
    "SGD": partial(torch.optim.SGD, lr=0.02),
    "momentum": partial(torch.optim.SGD, lr=0.01, momentum=0.9),
    "Adagrad": partial(torch.optim.Adagrad, lr=0.8),
    "Adam": partial(torch.optim.Adam, lr=0.05),
    "AdamW": partial(torch.optim.AdamW, lr=0.05),
    "RMSprop": partial(torch.optim.RMSprop, lr=0.01),
}


def snapshot(step, incarnation=0, names="ab", optimizer="Adam"):
    """A snapshot in which every number says which step it is of."""
    parameters = {name: torch.full((2, 3), float(step)) for name in names}
    store = ParameterServer(parameters, OPTIMIZERS[optimizer])
    store.push({name: torch.ones(2, 3) for name in names}, 0)
    applied = {"worker-session": Applied(1, step, step, 0)}
    return replace(store.state(), version=step, incarnation=incarnation, applied=applied, seed=7)


def same(first, second):
    """Whether two snapshots hold the same in everything."""

    def plain(value):
        if isinstance(value, torch.Tensor):
            return str(value.dtype), tuple(value.shape), value.tolist()
        if isinstance(value, dict):
            return {key: plain(entry) for key, entry in value.items()}
        return [plain(entry) for entry in value] if isinstance(value, (list, tuple)) else value

    return all(plain(getattr(first, field.name)) == plain(getattr(second, field.name)) for field in fields(first))


def quiet_latest(folder):
    """What `latest` returns, and the warnings it gave as text."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        latest = Checkpoints(folder).latest()
    return latest, [str(warning.message) for warning in caught]


def files(folder):
    return sorted(os.listdir(folder))


# --- snapshots -------------------------------------------------------------------------------------------------------


@given(
    owners=st.lists(st.integers(0, 3), min_size=6, max_size=6),
    again=st.lists(st.integers(0, 2), min_size=6, max_size=6),
)
def test_parts_make_the_whole_again_on_any_number_of_tasks(owners, again):
    whole = snapshot(5, names="abcdef")
    for spread in (owners, again):
        parts = [whole.part([n for n, o in zip("abcdef", spread, strict=True) if o == owner]) for owner in range(4)]
        whole = Snapshot.merge(parts, names="abcdef")
    assert same(whole, snapshot(5, names="abcdef"))


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"step": 6}, "version differs, 5 and 6"),
        ({"incarnation": 1}, "incarnation differs"),
        ({"optimizer": "SGD"}, "kind differs, Adam and SGD"),
        ({"names": "a"}, r"\['a'\] is in two"),
    ],
)
def test_parts_of_two_cuts_are_not_merged(other, words):
    with pytest.raises(ValueError, match=words):
        Snapshot.merge([snapshot(5, names="a"), snapshot(**{"step": 5, "names": "b", **other})])


def test_a_missing_part_is_named():
    with pytest.raises(ValueError, match=r"names=\['a', 'b'\].*hold \['a'\]"):
        Snapshot.merge([snapshot(5, names="a")], names="ab")
    with pytest.raises(ValueError, match="'c'"):
        snapshot(5).part(["a", "c"])


@pytest.mark.parametrize(
    ("parameters", "kind", "words"),
    [
        ({"a": torch.zeros(2, 3), "b": torch.zeros(4)}, "Adam", r"'b': \(2, 3\).*'b': \(4,\)"),
        ({"a": torch.zeros(2, 3)}, "Adam", "'b': no such parameter"),
        ({"a": torch.zeros(2, 3), "b": torch.zeros(2, 3).double()}, "Adam", "'b'.*float32.*float64"),
        ({"a": torch.zeros(2, 3), "b": torch.zeros(2, 3)}, "SGD", "optimiser Adam, not SGD"),
    ],
)
def test_a_problem_that_is_not_the_one_saved_is_named(parameters, kind, words):
    with pytest.raises(ValueError, match=words):
        snapshot(5).check(parameters, kind)


def test_hyperparameters_from_numpy_can_be_read_back(tmp_path):
    import numpy

    optimizer = partial(torch.optim.Adam, lr=numpy.float64(0.05), betas=(numpy.float64(0.5), 0.9))
    store = ParameterServer({"w": torch.zeros(2)}, optimizer)
    Checkpoints(tmp_path).save(store.state())
    assert Checkpoints(tmp_path).latest().optimizer["groups"][0]["lr"] == 0.05


# --- going on --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_resumed_training_is_the_uninterrupted_one_bit_for_bit(name, tmp_path):
    arguments = {"optimizer": OPTIMIZERS[name], "seed": 3, "checkpoint_dir": tmp_path}
    train_in_turns(PROBLEM, total_steps=37, **arguments)
    resumed = train_in_turns(PROBLEM, total_steps=90, **arguments)
    whole = train_in_turns(PROBLEM, total_steps=90, optimizer=OPTIMIZERS[name], seed=3)
    assert resumed.restored_from == 37 and resumed.history["step"].tolist() == list(range(38, 91))
    assert all(torch.equal(resumed.parameters[key], whole.parameters[key]) for key in whole.parameters)


def test_what_the_program_says_of_the_learning_rate_counts_not_the_checkpoint(tmp_path):
    train_in_turns(PROBLEM, optimizer=OPTIMIZERS["SGD"], total_steps=5, checkpoint_dir=tmp_path)
    still = partial(torch.optim.SGD, lr=0.0)
    with pytest.warns(CheckpointWarning, match=r"lr=0\.0 \(it was 0\.02\)"):
        resumed = train_in_turns(PROBLEM, optimizer=still, total_steps=9, checkpoint_dir=tmp_path)
    assert torch.equal(resumed.parameters["slope"], Checkpoints(tmp_path).latest().parameters["slope"])
    wanted = train_in_turns(PROBLEM, optimizer=OPTIMIZERS["SGD"], total_steps=5).parameters["slope"]
    assert torch.equal(resumed.parameters["slope"], wanted)


def test_another_model_s_checkpoint_is_refused_and_nothing_saved_is_touched(tmp_path):
    Checkpoints(tmp_path).save(snapshot(5))
    before = {name: (tmp_path / name).read_bytes() for name in files(tmp_path)}
    with pytest.raises(ValueError, match="'a'"):
        train_in_turns(PROBLEM, optimizer=OPTIMIZERS["Adam"], checkpoint_dir=tmp_path)
    assert {name: (tmp_path / name).read_bytes() for name in files(tmp_path)} == before


# --- writing and reading ---------------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(
    shape=st.lists(st.integers(0, 4), max_size=3),
    dtype=st.sampled_from([torch.float32, torch.float64, torch.bfloat16, torch.int64]),
    optimizer=st.sampled_from(sorted(OPTIMIZERS)),
    step=st.integers(0, 10**13),
)
def test_what_was_written_is_what_is_read(shape, dtype, optimizer, step, tmp_path_factory):
    folder = tmp_path_factory.mktemp("folder")
    parameters = {"weights of a layer/ü": torch.ones(shape, dtype=dtype), "view": torch.arange(9.0)[2:5]}
    state = snapshot(3, incarnation=2, optimizer=optimizer)
    written = replace(state, version=step, parameters={**state.parameters, **parameters})
    path = Checkpoints(folder).save(written)
    assert same(Checkpoints(folder).latest(), written) and same(Checkpoints(folder).load(path), written)


def test_plain_pytorch_reads_the_data_file_and_it_holds_only_what_was_saved(tmp_path):
    whole = torch.zeros(100_000)
    Checkpoints(tmp_path).save(Snapshot(1, {"w": whole[:10]}, kind="SGD"))
    (data,) = tmp_path.glob("*.pt")
    assert torch.load(data, weights_only=True)["parameters"]["w"].tolist() == [0.0] * 10
    assert data.stat().st_size < 10_000, "the memory under a view was written too"


def test_the_newest_n_stay_and_foreign_files_are_never_touched(tmp_path):
    strangers = ["notes.txt", "model.pt", "checkpoint-old.json", ".checkpoint-elsewhere-1-0123abcd.tmp"]
    for name in strangers:
        (tmp_path / name).write_text("mine")
    checkpoints = Checkpoints(tmp_path, keep=3)
    for step in range(0, 100, 10):
        checkpoints.save(snapshot(step))
    assert [saved.version for saved in checkpoints.all()] == [70, 80, 90]
    assert [name for name in files(tmp_path) if name in strangers] == sorted(strangers)
    assert len(files(tmp_path)) == len(strangers) + 2 * 3


def test_the_one_that_was_read_stays_however_many_come_after_it(tmp_path):
    Checkpoints(tmp_path).save(snapshot(10))
    checkpoints = Checkpoints(tmp_path, keep=1)
    checkpoints.latest()
    for step in (20, 30, 40):
        checkpoints.save(snapshot(step, incarnation=1))
    assert [saved.version for saved in checkpoints.all()] == [10, 40]


def test_a_step_saved_twice_is_there_once_and_is_the_second(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(snapshot(10))
    checkpoints.save(snapshot(10, names="cd"))
    checkpoints.save(snapshot(10, names="cd"))
    assert list(checkpoints.latest().parameters) == ["c", "d"] and len(files(tmp_path)) == 2


def test_what_came_after_a_restart_is_newer_than_higher_steps_from_before_it(tmp_path):
    checkpoints = Checkpoints(tmp_path, keep=2)
    for step, incarnation in [(100, 0), (150, 0), (100, 1), (110, 1)]:
        checkpoints.save(snapshot(step, incarnation))
    assert checkpoints.latest().version == 110 and checkpoints.next_incarnation() == 2
    assert [(saved.incarnation, saved.version) for saved in checkpoints.all()] == [(1, 100), (1, 110)]


def test_parameters_that_are_not_finite_do_not_replace_good_ones(tmp_path):
    checkpoints = Checkpoints(tmp_path, keep=1)
    checkpoints.save(snapshot(10))
    with pytest.raises(CheckpointError, match="'w' is not finite at step 20"):
        checkpoints.save(Snapshot(20, {"w": torch.tensor([1.0, float("inf")])}))
    assert checkpoints.latest().version == 10


def test_a_file_in_place_of_the_folder_and_to_keep_none_are_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="this is a file"):
        Checkpoints(tmp_path / "file")
    with pytest.raises(ValueError, match="keep=0"):
        Checkpoints(tmp_path, 0)


def test_an_empty_or_missing_folder_has_no_checkpoint(tmp_path):
    assert Checkpoints(tmp_path).latest() is None
    assert Checkpoints(tmp_path / "none").latest() is None and Checkpoints(tmp_path / "none").all() == []


def test_a_temporary_file_of_a_process_that_has_ended_is_removed(tmp_path):
    from course.training.checkpoint.checkpoints import _HOST

    stale, running = f".checkpoint-{_HOST}-999999999-0123abcd.tmp", f".checkpoint-{_HOST}-1-0123abcd.tmp"
    for name in (stale, running):
        (tmp_path / name).write_bytes(b"half")
    Checkpoints(tmp_path).save(snapshot(10))
    assert stale not in files(tmp_path) and running in files(tmp_path)


# --- broken ones -----------------------------------------------------------------------------------------------------


class Trap:
    """Unpickling this leaves a file behind."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return open, (self.path, "w")


def resealed(folder, stem, **changes):
    """Change a manifest's fields as a forger would, with a checksum that is right."""
    from course.training.checkpoint.manifest import _seal

    path = folder / f"{stem}.json"
    sealed = {**json.loads(path.read_text()), **changes}
    sealed.pop("seal"), sealed.pop("checkpoint")
    path.write_text(json.dumps({"checkpoint": "course.training", **sealed, "seal": _seal(sealed)}))


def forge(folder, stem, content):
    """Put `content` (bytes) in place of the data, with a manifest that vouches for it."""
    import hashlib

    digest = hashlib.sha256(content).hexdigest()
    (folder / f"{stem}-{digest[:16]}.pt").write_bytes(content)
    resealed(folder, stem, data=f"{stem}-{digest[:16]}.pt", size=len(content), sha256=digest)


def saved(thing):
    import io

    torch.save(thing, buffer := io.BytesIO())
    return buffer.getvalue()


NEW = "checkpoint-0000-000000000020"
BROKEN = {
    "manifest torn": (lambda f, j, d: j.write_bytes(j.read_bytes()[:100]), "not JSON"),
    "manifest empty": (lambda f, j, d: j.write_bytes(b""), "empty"),
    "manifest missing": (lambda f, j, d: j.unlink(), "manifest is missing"),
    "manifest foreign": (lambda f, j, d: j.write_text('{"name": "mine"}'), "not a checkpoint's manifest"),
    "manifest a list": (lambda f, j, d: j.write_text("[1]"), "not a checkpoint's manifest"),
    "manifest a pickle": (lambda f, j, d: j.write_bytes(pickle.dumps(Trap(f / "sprung"))), "not JSON"),
    "manifest a folder": (lambda f, j, d: (j.unlink(), j.mkdir()), "can't be read"),
    "manifest nested": (lambda f, j, d: j.write_text("[" * 200_000), "not JSON"),
    "newer format": (lambda f, j, d: resealed(f, NEW, format=FORMAT + 1, course="9.9"), "format 2.*9.9.*reads up to 1"),
    "step changed": (lambda f, j, d: j.write_text(j.read_text().replace('"version": 20', '"version": 21')), "checksum"),
    "renamed": (
        lambda f, j, d: shutil.copy(f / NEW.replace("20", "10.json"), j),
        "written as .*10.json",
    ),
    "forged step": (lambda f, j, d: resealed(f, NEW, version=-20), "renamed"),
    "forged type": (lambda f, j, d: resealed(f, NEW, version="20"), "version is '20', not of type int"),
    "forged path": (lambda f, j, d: resealed(f, NEW, data="../../etc/passwd"), "not the one beside it"),
    "forged table": (lambda f, j, d: resealed(f, NEW, applied={"x": [1, 2]}), "four whole numbers"),
    "forged shapes": (
        lambda f, j, d: resealed(f, NEW, parameters={"a": [[1], "torch.int8"]}),
        "not those that the mani",
    ),
    "data torn": (lambda f, j, d: d.write_bytes(d.read_bytes()[:-1]), "torn"),
    "data empty": (lambda f, j, d: d.write_bytes(b""), "empty: 0 bytes"),
    "data longer": (lambda f, j, d: d.write_bytes(d.read_bytes() + b"\0"), "longer"),
    "data missing": (lambda f, j, d: d.unlink(), "data file is missing"),
    "data a folder": (lambda f, j, d: (d.unlink(), d.mkdir()), "can't be read"),
    "data another": (lambda f, j, d: d.write_bytes(bytes(d.stat().st_size)), "checksum"),
    "forged pickle": (lambda f, j, d: forge(f, NEW, pickle.dumps(Trap(f / "sprung"))), "other than tensors"),
    "forged object": (lambda f, j, d: forge(f, NEW, saved({"parameters": Trap(f / "sprung")})), "other than tensors"),
    "forged list": (lambda f, j, d: forge(f, NEW, saved([1, 2])), "does not hold parameters"),
    "forged numbers": (lambda f, j, d: forge(f, NEW, saved({"parameters": {"a": 1}, "optimizer": {}})), "not those"),
    "forged state": (
        lambda f, j, d: forge(f, NEW, saved({"parameters": snapshot(20).parameters, "optimizer": {"groups": 3}})),
        "groups are not",
    ),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_newest_is_named_with_its_reason_and_the_one_before_is_used(kind, tmp_path):
    change, words = BROKEN[kind]
    checkpoints = Checkpoints(tmp_path, keep=1)
    checkpoints.save(snapshot(10))
    checkpoints.latest()  # so that it stays
    checkpoints.save(snapshot(20))
    (data,) = tmp_path.glob(f"{NEW}-*.pt")
    change(tmp_path, tmp_path / f"{NEW}.json", data)
    before = files(tmp_path)
    with pytest.warns(CheckpointWarning, match=f"(?s){NEW}.*{words}") as caught:
        latest = Checkpoints(tmp_path).latest()
    assert len(caught) == 1 and same(latest, snapshot(10))
    assert files(tmp_path) == before and "sprung" not in before


def test_a_broken_one_is_not_removed_and_does_not_count_among_those_kept(tmp_path):
    checkpoints = Checkpoints(tmp_path, keep=2)
    for step in (10, 20, 30):
        checkpoints.save(snapshot(step))
    (tmp_path / "checkpoint-0000-000000000030.json").write_text("torn")
    checkpoints.save(snapshot(40))
    assert [saved.version for saved in checkpoints.all()] == [20, 40]
    for step in (50, 60):
        checkpoints.save(snapshot(step))
    assert "checkpoint-0000-000000000030.json" in files(tmp_path)


def test_where_only_foreign_files_are_they_are_named(tmp_path):
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(Trap(tmp_path / "sprung")))
    latest, messages = quiet_latest(tmp_path)
    assert latest is None and len(messages) == 1 and "model.pkl: this is not a checkpoint" in messages[0]
    assert files(tmp_path) == ["model.pkl"]


PLACES = st.integers(-200, 200) | st.integers(0, 10**6)  # formats break at headers, directories and ends


@settings(max_examples=150)
@given(st.sampled_from([".json", ".pt"]), st.sampled_from(["cut", "flip", "fill", "drop"]), PLACES, st.integers(0, 7))
@example(which=".pt", way="fill", place=-1, bit=0)
def test_a_file_damaged_anywhere_never_gives_wrong_numbers(pair, which, way, place, bit):
    folder, names = pair
    (name,) = [name for name in names if name.startswith(NEW) and name.endswith(which)]
    path, good = folder / name, names[name]
    at = place % len(good)
    changed = {"cut": b"", "flip": bytes([good[at] ^ 1 << bit]) + good[at + 1 :], "drop": good[at + 1 :]}
    bad = good[:at] + changed.get(way, bytes(len(good) - at))
    assume(bad != good)  # a file's end is zeros: filled with zeros it is as it was
    path.write_bytes(bad)
    try:
        latest, messages = quiet_latest(folder)
    finally:
        path.write_bytes(good)
    if same(latest, snapshot(20)):
        assert not messages and which == ".json"  # the damage hit nothing that is read: spaces of the manifest
    else:
        assert same(latest, snapshot(10)) and len(messages) == 1 and NEW in messages[0]


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """A folder with the checkpoints of steps 10 and 20, and its files' content."""
    folder = tmp_path_factory.mktemp("pair")
    for step in (10, 20):
        Checkpoints(folder).save(snapshot(step))
    return folder, {name: (folder / name).read_bytes() for name in files(folder)}


def test_a_gradient_that_is_not_finite_leaves_the_last_good_version_saved(tmp_path):
    wild = partial(torch.optim.SGD, lr=1e20)
    with pytest.raises(NonFiniteError), pytest.warns(CheckpointWarning, match="STEP 2 IS NOT SAVED.*'slope'"):
        train_in_turns(PROBLEM, optimizer=wild, checkpoint_dir=tmp_path)
    assert Checkpoints(tmp_path).latest().version == 0
    assert all(value.isfinite().all() for value in Checkpoints(tmp_path).latest().parameters.values())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"optimizer": partial(torch.optim.SGD, lr=0.01)},
            r"from step 10 with lr=0\.01 \(it was 0\.02\)\. Give what it",
        ),
        ({"optimizer": partial(torch.optim.SGD, lr=0.02, momentum=0.5)}, r"with momentum=0\.5 \(it was 0\)"),
        ({"seed": 3}, r"with seed=3 \(it was 0\)"),
        ({"total_steps": 5}, "has 10 updates, more than total_steps=5: nothing is trained"),
    ],
)
def test_what_goes_on_otherwise_than_before_is_said(change, words, tmp_path):
    same = {"optimizer": OPTIMIZERS["SGD"], "total_steps": 12, "checkpoint_dir": tmp_path}
    train_in_turns(PROBLEM, **same | {"total_steps": 10})
    with pytest.warns(CheckpointWarning, match=words) as caught:
        train_in_turns(PROBLEM, **same | change)
    assert len(caught) == 1
    train_in_turns(PROBLEM, **same | change | {"resume": False})


def test_the_same_arguments_and_more_steps_go_on_without_a_word(tmp_path):
    for steps in (10, 10, 20):
        train_in_turns(PROBLEM, optimizer=OPTIMIZERS["Adam"], total_steps=steps, seed=4, checkpoint_dir=tmp_path)


# --- none that can be read, and a folder that goes away --------------------------------------------------------------

TURNS = partial(train_in_turns, PROBLEM, optimizer=OPTIMIZERS["SGD"])


@pytest.mark.parametrize("way", ["torn manifests", "no manifests", "no data"])
def test_where_no_checkpoint_can_be_read_a_training_does_not_begin_anew_unless_it_is_told_to(way, tmp_path):
    TURNS(total_steps=30, hooks=[SaveCheckpoint(steps=10)], checkpoint_dir=tmp_path)
    for path in tmp_path.iterdir():
        if way == "torn manifests" and path.suffix == ".json":
            path.write_text("torn")
        elif path.suffix == {"no manifests": ".json", "no data": ".pt"}.get(way):
            path.unlink()
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.warns(CheckpointWarning), pytest.raises(CheckpointError, match="none of the 4 .*resume=False"):
        TURNS(total_steps=30, checkpoint_dir=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == before, "nothing is lost meanwhile"
    anew = TURNS(total_steps=20, checkpoint_dir=tmp_path, resume=False)
    assert anew.restored_from is None and anew.version == 20
    assert TURNS(total_steps=25, checkpoint_dir=tmp_path).restored_from == 20


def test_the_data_of_a_first_save_that_was_cut_short_hinders_no_training(tmp_path):
    TURNS(total_steps=0, checkpoint_dir=tmp_path)
    for path in tmp_path.glob("*.json"):
        path.unlink()  # killed between its two renames: the checkpoint of step 0 was never there
    with pytest.warns(CheckpointWarning, match="manifest is missing.*none before it"):
        assert TURNS(total_steps=20, checkpoint_dir=tmp_path).version == 20
