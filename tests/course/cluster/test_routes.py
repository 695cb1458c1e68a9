"""Routes: a way of a port before one of a host, two names of one address as the same, and what is wrong with a flag."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course.cluster.routes import Routes, found_at

HOSTS = st.sampled_from(["10.0.0.1", "10.0.0.2", "127.0.0.1"])
PORTS = st.integers(1, 4)
WAYS = st.dictionaries(st.tuples(HOSTS, st.none() | PORTS), st.tuples(HOSTS, PORTS), max_size=6)


def text(host, port):
    return host if port is None else f"{host}:{port}"


def slowly(ways, host, port):
    """Look the port up, then the host: what has neither is where it is."""
    if (host, port) in ways:
        return ways[host, port]
    return (ways[host, None][0], port) if (host, None) in ways else (host, port)


@given(WAYS, HOSTS, PORTS)
def test_a_way_of_a_port_comes_before_one_of_its_host_and_without_either_it_is_straight(ways, host, port):
    flags = [f"{text(*there)}={text(here[0], there[1] and here[1])}" for there, here in ways.items()]
    assert Routes.from_flags(flags)((host, port)) == slowly(ways, host, port)


def test_a_name_and_its_numbers_are_one_address_and_colons_have_brackets():
    routes = Routes.from_flags(["localhost:1=10.0.0.9:2", "[::2]:5=[::3]:6"])
    assert routes(("127.0.0.1", 1)) == ("10.0.0.9", 2)
    assert found_at("tls://127.0.0.1:1", routes) == "tls://10.0.0.9:2"
    assert found_at("tls://[::2]:5", routes) == "tls://[::3]:6"
    assert found_at("no-such-host.invalid:7", routes) == "no-such-host.invalid:7"
    assert found_at("tls://10.0.0.1:1", None) == "tls://10.0.0.1:1"
    assert not Routes() and routes


@pytest.mark.parametrize(
    "wrong", ["", "a:1", "a:1=", "=b:2", "a:1=b", "a=b:2", "a:0=b:1", "a:1=b:65536", "a b:1=c:2", "a:1=b:2=c:3"]
)
def test_a_flag_that_is_no_way_is_refused_with_the_legal_form(wrong):
    with pytest.raises(ValueError, match="10.0.0.5:4000=localhost:14000"):
        Routes.from_flags([wrong])


def test_an_address_has_one_way():
    assert Routes.from_flags(["a:1=b:2", "a:1=b:2"]).ways == {"a:1": "b:2"}
    with pytest.raises(ValueError, match="a:1 has a way already, b:2"):
        Routes.from_flags(["a:1=b:2", "a:1=c:3"])
