"""A study's journal at a store's address: an object a change, one driver, and the same trials after any end."""

import pytest

from course.tuning.result import TuningError
from course.tuning.study import opened_study
from tests.course.tuning.test_study import lived, plan, without_attempts
from tests.helpers.stores.strict_store import full, objects, strict_store

ADDRESS = "strict://bucket/searches/digits"


@pytest.fixture
def store():
    with strict_store() as store:
        yield store


@pytest.fixture
def uninterrupted():
    """The records of a study that nothing interrupts, and that nobody keeps."""
    with opened_study(plan(), None) as study:
        return lived(study)


def changes():
    return [path for path in objects() if "change-" in path]


def test_a_study_goes_on_from_its_objects_wherever_its_driver_ended(store, uninterrupted):
    with opened_study(plan(), ADDRESS) as study:
        assert without_attempts(lived(study)) == without_attempts(uninterrupted)
    whole = dict(store.store)
    assert changes() == objects() and len(changes()) > 100, "an object a change, and no lock"
    for count in (0, 1, 2, 3, 4, 5, 40, len(whole) - 1):
        store.store.clear()
        store.store.update(sorted(whole.items())[:count])
        with opened_study(plan(), ADDRESS) as study:
            assert without_attempts(lived(study)) == without_attempts(uninterrupted)


def test_its_objects_joined_are_a_journal_in_a_file(store, tmp_path, uninterrupted):
    with opened_study(plan(), ADDRESS) as study:
        lived(study, 5)
    (tmp_path / "journal").write_bytes(b"".join(store.store[path].getvalue() for path in changes()))
    with opened_study(plan(), tmp_path / "journal") as study:
        assert without_attempts(lived(study)) == without_attempts(uninterrupted)


def test_a_store_that_refuses_ends_the_search_and_the_same_call_goes_on(store, uninterrupted):
    with (
        pytest.raises(TuningError, match="can't be written.*the same call goes on"),
        opened_study(plan(), ADDRESS) as s,
    ):
        lived(s, 3)
        store.refuse = full("write")
        lived(s)
    store.refuse = None
    with opened_study(plan(), ADDRESS) as study:
        assert without_attempts(lived(study)) == without_attempts(uninterrupted)


def test_a_second_driver_is_refused_at_once_and_one_that_slips_in_mixes_nothing(store, uninterrupted):
    with opened_study(plan(), ADDRESS) as study:
        lived(study, 2)
        with pytest.raises(ValueError, match=r"tune\(journal='strict.*is training into"), opened_study(plan(), ADDRESS):
            pass
        for path in [path for path in objects() if "lock" in path]:
            del store.store[path]
        with opened_study(plan(), ADDRESS) as other:
            lived(other, 1)
            with pytest.raises(TuningError, match="another driver writes into this journal"):
                lived(study, 1)
            assert without_attempts(lived(other)) == without_attempts(uninterrupted)


def test_what_is_no_journal_or_lacks_a_change_is_refused_and_stays(store):
    with opened_study(plan(), ADDRESS) as study:
        lived(study, 2)
    whole = dict(store.store)
    del store.store[changes()[7]]
    before = objects()
    with pytest.raises(ValueError, match="change-000000007.json is missing"), opened_study(plan(), ADDRESS):
        pass
    assert objects() == before
    store.store.update(whole)
    store.pipe_file(store(), changes()[0], b"hello\n")
    with pytest.raises(ValueError, match="not a journal of the course"), opened_study(plan(), ADDRESS):
        pass
