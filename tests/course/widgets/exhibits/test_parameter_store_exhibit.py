"""The exhibit of a parameter server: its state, its recorded runs, its words."""

import numpy
import pytest
import traitlets

from course.scale.parameter_store import parameter_store
from course.training.records import RECORD
from course.widgets import ParameterStore
from tests.course.widgets.page_of import data_of

ROWS = numpy.array([(1, 0, 0, 9.0, 0.10, 0.11), (2, 1, 0, 8.0, 0.20, 0.21), (3, 0, 1, 7.0, 0.30, 0.31)], RECORD)


def test_its_result_is_the_engine_s_and_its_words_are_of_it():
    exhibit = ParameterStore(mode="sync", c=800)
    assert exhibit.result == parameter_store("sync", [200_000, 200_000, 800_000])
    found = exhibit.result.counts()
    assert f"{found.gradients / 6:.1f} gradients a second, 0.0 updates late" in repr(exhibit)
    assert "Simulated" in exhibit.static().alt and "worker A" in exhibit.static().alt


def test_faults_may_be_set_and_nonsense_leaves_all_as_it_was():
    exhibit = ParameterStore()
    exhibit.faults = [[2000, "kill", 2]]
    assert exhibit.result.faults == ((2_000_000, "kill", 2),)
    for faults in ([[1, "hit", 0]], [[1, "kill", 3]], [[-1, "kill", 0]], [[1, "kill"]]):
        with pytest.raises(traitlets.TraitError, match="faults"):
            exhibit.faults = faults
    assert exhibit.result.faults == ((2_000_000, "kill", 2),)


def test_a_recorded_run_lies_in_the_page_and_says_so():
    exhibit = ParameterStore({"two workers": ROWS})
    assert exhibit.run == "two workers" and exhibit.result.counts().gradients == 3
    assert data_of(exhibit)["recorded"]["two workers"]["rows"][0] == [0, 0, 0, 100000, 110000, 1]
    assert "Recorded: two workers" in exhibit.static().alt and "9.7 gradients a second" in repr(exhibit)
    with pytest.raises(traitlets.TraitError, match="two workers, simulated"):
        exhibit.run = "three"


def test_a_pace_that_is_no_stop_of_its_slider_becomes_one():
    assert 123 in data_of(ParameterStore(a=123))["paces"]
