"""A student's text as it is shown: all that is there can be seen, and there is an end of it."""

import pytest

from grader.marking.plain_text import plain


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\u202eb\x07\u2028", "a\\u202eb\\x07\\u2028"),
        ("\ud800 \U000e0001 \ue000", "\\ud800 \\U000e0001 \\ue000"),
        ("Zoë 语 می\u200cشود 👩\u200d🔬\t\n", "Zoë 语 می\u200cشود 👩\u200d🔬\t\n"),
        ("one\r\ntwo\rthree\x1b[31;1mred\x1b[0m", "one\ntwo\nthreered"),
        ("\x1b[" + "3" * 20 + "m|\x1b[" + "3" * 21 + "m", "|\\x1b[" + "3" * 21 + "m"),
    ],
)
def test_hidden_signs_are_written_out_colours_go_and_letters_stay(text, shown):
    assert plain(text) == shown


def test_what_is_over_the_limit_is_cut_off_and_counted():
    assert plain("x" * 30, 10) == "x" * 10 + "\n… (20 characters more)"
    assert plain("x" * 10, 10) == "x" * 10
    assert plain("x" * 11, 10).endswith("(1 characters more)")
    assert plain("x" * 20_000) == "x" * 20_000
    assert plain("x" * 20_001).endswith("x\n… (1 characters more)")
