"""Legal inputs of lab 01's exercises, as Hypothesis draws them and makes them smaller. Loaded when a check looks on."""

from hypothesis import strategies as st

from .cases import GPUS, log_of, op_of, tensor_of

LENGTH = st.integers(1, 4)
PLACE = st.sampled_from(["/cpu:0", *GPUS])


def factors():
    """Shapes of two factors, by name."""
    sizes = st.tuples(LENGTH, LENGTH, LENGTH)
    return sizes.map(lambda n: ({"a": (n[0], n[1]), "b": (n[1], n[2])},))


def layers():
    """Shapes of `x` and a square `w`, and a number of layers."""
    sizes = st.tuples(LENGTH, LENGTH, st.integers(0, 4))
    return sizes.map(lambda n: ({"x": (n[0], n[1]), "w": (n[1], n[1])}, n[2]))


def ops():
    """Any op on small inputs, or a product on both sides of a million multiplications."""
    small = st.lists(st.tuples(st.tuples(LENGTH, LENGTH), PLACE), max_size=4)
    large = st.tuples(*[st.integers(98, 102)] * 3, PLACE, PLACE)
    return st.one_of(
        small.map(lambda read: (op_of("einsum", *read),)),
        large.map(lambda n: (op_of("matmul", ((n[0], n[1]), n[3]), ((n[1], n[2]), n[4])),)),
    )


def requests():
    """A spelling of any device, on a machine of up to four, for an op with some kernels."""
    names = st.builds(
        lambda form, n: form.format(n),
        st.sampled_from(["/gpu:{}", "gpu:{}", "cuda:{}", "/device:GPU:{}", "/GPU:{}", "cuda", "cpu", "/cpu:0"]),
        st.integers(0, 3),
    )
    present = st.integers(0, 3).map(lambda count: ["/cpu:0", *(f"/gpu:{n}" for n in range(count))])
    return st.tuples(names, present, st.lists(st.sampled_from(["cpu", "gpu"]), unique=True))


def logs():
    """Logs of up to eight lines."""
    words = st.sampled_from(["mm", "relu", "view", "copy4", "copy8", "copy12"])
    return st.lists(words, max_size=8).map(lambda found: (log_of(found),))


def placed_programs():
    """Programs of up to four ops: each reads one or two of the tensors before it."""
    shapes = st.sampled_from([(), (2,), (2, 3)])
    ops = st.lists(st.tuples(shapes, PLACE, st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=4)
    return st.builds(_program, shapes, PLACE, ops)


def _program(shape, place, ops):
    program, places = [tensor_of("x", shape)], {"x": place}
    for name, (shape, place, first, second) in zip("abcd", ops, strict=False):
        known = [tensor["name"] for tensor in program]
        read = [known[first % len(known)], *(known[second - 1 : second])]  # a second of 0 is none, nor is one too many
        program.append(tensor_of(name, shape, *read))
        places[name] = place
    return program, places
