"""An exhibit among ipywidgets' own: laid out, observed, linked and read, and of one state with the exhibit."""

import ipywidgets
import pytest
import traitlets

from course import widgets
from course.widgets import SliceMean
from course.widgets.exhibits.exhibit import Exhibit
from course.widgets.exhibits.widget import ExhibitWidget


@pytest.fixture
def exhibit():
    made = SliceMean(cut=4)
    yield made
    made.close()


def test_it_is_one_widget_with_a_trait_for_each_part_of_the_state(exhibit):
    widget = exhibit.widget()
    assert exhibit.widget() is widget and isinstance(widget, ipywidgets.DOMWidget | ipywidgets.ValueWidget)
    assert widget.value == exhibit.state() == {name: getattr(widget, name) for name in widget.value}
    assert set(widget.value) | {"value"} <= set(widget.keys), "what the page may link"
    assert 'class="exhibit"' in widget.html and "<script" in widget.html and "data-file=" not in widget.html
    assert repr(widget) == f"{exhibit!r}.widget()"


def test_the_exhibit_moves_the_widget_and_is_heard_once_a_change(exhibit):
    widget, heard = exhibit.widget(), []
    widget.observe(lambda change: heard.append((change["new"]["cut"], exhibit.result.sizes[0])), names="value")
    exhibit.update(cut=7, killed="A")
    assert (widget.cut, widget.killed) == (7, "A") and heard == [(7, 7)], "one change, and its result is there"


@pytest.mark.parametrize("changes", [{"cut": 9}, {"value": {"cut": 9}}])
def test_the_widget_moves_the_exhibit(exhibit, changes):
    widget = exhibit.widget()
    for name, value in changes.items():
        setattr(widget, name, value)
    assert exhibit.cut == 9 == widget.cut == widget.value["cut"] and exhibit.result.sizes[0] == 9


@pytest.mark.parametrize("changes", [{"cut": 99}, {"value": {"cut": 99}}, {"value": {"cuts": 1}}])
def test_what_the_exhibit_refuses_is_as_it_was(exhibit, changes):
    widget, before = exhibit.widget(), exhibit.state()
    for name, value in changes.items():
        with pytest.raises((traitlets.TraitError, TypeError), match=r"SliceMean\(cuts?="):
            setattr(widget, name, value)
    assert exhibit.state() == before == widget.value and widget.cut == 4


def test_box_links_and_interactive_output_take_it(exhibit):
    widget, slider, states = exhibit.widget(), ipywidgets.IntSlider(4, 0, 20), []
    assert widget in ipywidgets.VBox([widget, slider]).children
    linked = ipywidgets.jslink((slider, "value"), (widget, "cut"))
    ipywidgets.link((slider, "value"), (widget, "cut"))
    ipywidgets.interactive_output(lambda state: states.append(state["cut"]), {"state": widget})
    asked = ipywidgets.interactive(lambda state: states.append(-state["cut"]), state=widget)
    slider.value = 11
    asked.update()
    linked.unlink()
    assert exhibit.cut == 11 and {11, -11} <= set(states)


def test_no_part_of_an_exhibits_state_is_called_as_something_of_a_widgets_own():
    kinds = [kind for kind in (getattr(widgets, name) for name in widgets.__all__) if isinstance(kind, type)]
    exhibits = [kind for kind in kinds if issubclass(kind, Exhibit)]
    own = set(dir(ExhibitWidget))
    assert len(exhibits) > 10 and [kind for kind in exhibits if own & set(kind.class_trait_names(state=True))] == []
