"""Answers that are not read: the oldest go, and no more of them than must."""

from modelserver.front.connection import Unread


def test_past_the_limit_the_answers_that_wait_longest_are_given_up():
    unread, given_up = Unread(100), []
    sizes = {"a": 40, "b": 40, "c": 40, "d": 300}
    for reader in "abc":
        unread.add(reader, lambda reader=reader: sizes[reader], lambda reader=reader: given_up.append(reader))
    assert given_up == ["a"]
    sizes["b"] = 10  # most of it was read
    unread.add("a", lambda: 40, lambda: given_up.append("a again"))
    assert given_up == ["a"]
    unread.remove("c")
    unread.add("e", lambda: 40, lambda: given_up.append("e"))
    assert given_up == ["a"]
    unread.add("d", lambda: sizes["d"], lambda: given_up.append("d"))  # more than the limit by itself
    assert given_up == ["a", "b", "a again", "e"]


def test_what_was_read_is_not_given_up():
    unread, given_up, sizes = Unread(100), [], {"a": 90, "b": 90}
    unread.add("a", lambda: sizes["a"], lambda: given_up.append("a"))
    sizes["a"] = 0
    unread.add("b", lambda: sizes["b"], lambda: given_up.append("b"))
    assert given_up == []
