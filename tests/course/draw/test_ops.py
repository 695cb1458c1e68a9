"""The picture of ops on devices: lanes, arrows, words, and its limits."""

from course.devices import OpRecord
from course.draw import ROLES, ops

CPU = OpRecord("add", "/cpu:0", ((2,),), "float32", made=((2,),))
MOVE = OpRecord("_to_copy", "/gpu:0", ((2,),), "float32", 8, "/cpu:0", ((2,),))
BACK = OpRecord("mm", "/gpu:0", ((2, 2),), "float32", made=((2, 2),), backward=True)


def test_every_device_has_a_lane_with_its_colour_and_sign():
    html = ops([CPU, MOVE, BACK], "two devices").html
    for role, name in (("cpu", "/cpu:0"), ("gpu", "/gpu:0")):
        assert ROLES[role].colour in html and ROLES[role].sign in html and name in html


def test_moves_say_their_bytes_and_backward_ops_are_set_apart():
    picture = ops([CPU, MOVE, BACK], "two devices")
    assert "→ 8 bytes" in picture.html
    assert picture.html.count(">forward<") == picture.html.count(">backward<") == 1
    assert picture.alt == "two devices. 3 ops: 1 on /cpu:0, 2 on /gpu:0; 8 bytes moved."


def test_the_stand_in_is_dashed_and_says_that_it_has_shapes_only():
    html = ops([OpRecord("add", "/meta:0", ((2,),), "float32")], "meta").html
    assert "stroke-dasharray" in html and "(shapes only)" in html
    assert "stroke-dasharray" not in ops([CPU], "a real device").html


def test_names_are_escaped():
    assert "<b>&lt;op" in ops([CPU], "<op & co>").html
    assert "<evil>" not in ops([OpRecord("<evil>", "/cpu:0", (), "float32")], "x").html


def test_a_long_log_is_cut_and_says_so():
    assert "… and 40 more ops" in ops([CPU] * 100, "many").html


def test_an_empty_log_is_a_picture_too():
    assert "0 ops: none" in ops([], "nothing ran").alt


def test_who_made_what_is_a_line_and_a_move_has_only_its_arrow():
    html = ops([CPU, MOVE, BACK], "three", joined=[(0, 1), (1, 2)]).html
    assert html.count('class="edge"') == 1, "the copy's own arrow shows where its bytes came from"


def test_what_is_simulated_or_modelled_says_the_word():
    there = OpRecord("mm", "/gpu:0", ((2, 2),), "float32", simulated=True, seconds=1e-5, seconds_kind="modelled")
    html = ops([CPU, there], "two").html
    assert "/gpu:0 (simulated)" in html and "/cpu:0 (simulated)" not in html
    assert "10.0 µs modelled" in html and "stroke-dasharray" in html
