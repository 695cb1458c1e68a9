"""After a simulation is closed its tensors fail clearly and never give numbers; an exception leaves torch as it was."""

import threading

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course import log_placement, place, simulated_gpus
from tests.slow.conformance.leftovers import REFUSED_BY_TORCH, USES, forget, made


class Boom(Exception):
    pass


@pytest.fixture(autouse=True)
def nothing_held():
    yield
    forget()


def use(name, x):
    """Use `x`; return the exception, or the result if there is none."""
    try:
        return USES[name](x)
    except Exception as error:
        return error


@pytest.mark.parametrize("name", USES)
def test_a_tensor_that_outlived_its_simulation_fails_and_says_why(name):
    with simulated_gpus(1):
        x = made("cuda:0")
    said(use(name, x), name)


@pytest.mark.parametrize("name", USES)
def test_a_tensor_of_an_earlier_simulation_fails_in_a_later_one(name):
    with simulated_gpus(1):
        x = made("cuda:0")
    with simulated_gpus(2):
        said(use(name, x), name)


def said(outcome, name):
    """The outcome is an error that speaks of the simulation being closed; a number is the worst that can happen."""
    assert isinstance(outcome, Exception), f"no error: {outcome!r}"
    if name in REFUSED_BY_TORCH:
        return
    assert isinstance(outcome, RuntimeError), f"{type(outcome).__name__}: {outcome}"
    assert "closed" in str(outcome) and "simulated" in str(outcome), str(outcome)


@settings(max_examples=40)
@given(names=st.lists(st.sampled_from(sorted(USES)), min_size=1, max_size=5), count=st.integers(1, 4))
def test_any_uses_in_any_order_fail(names, count):
    gpus = simulated_gpus(count)
    try:
        x = made(f"cuda:{count - 1}")
    finally:
        gpus.close()
    for name in names:
        said(use(name, x), name)
    forget()


def test_what_was_taken_home_before_closing_stays_usable():
    with simulated_gpus(1):
        home = made("cuda:0").cpu()
    assert type(home) is torch.Tensor
    assert (home + 1).tolist() == [[8.0, 8.0], [8.0, 8.0]]


def state_of_torch():
    """Return all that a simulation may change: torch.cuda's names, modes, default device, flags, generators."""
    return {
        "torch.cuda": dict(vars(torch.cuda)),
        "torch.cuda.random": dict(vars(torch.cuda.random)),
        "torch.cuda.memory": dict(vars(torch.cuda.memory)),
        "torch.cuda.amp": dict(vars(torch.cuda.amp)),
        "torch.accelerator": dict(vars(torch.accelerator)),
        "torch": dict(vars(torch)),
        "torch.random": dict(vars(torch.random)),
        "torch.nn.Module": dict(vars(torch.nn.Module)),
        "torch.Tensor": dict(vars(torch.Tensor)),
        "torch.backends.cudnn": dict(vars(torch.backends.cudnn)),
        "torch.serialization": dict(vars(torch.serialization)),
        "function modes": torch._C._len_torch_function_stack(),
        "dispatch modes": torch._C._len_torch_dispatch_stack(),
        "default device": torch.get_default_device(),
        "default dtype": torch.get_default_dtype(),
        "swap": torch.__future__.get_swap_module_params_on_conversion(),
        "gradients on": torch.is_grad_enabled(),
        "generator": torch.get_rng_state().tolist(),
        "available": torch.cuda.is_available(),
        "count": torch.cuda.device_count(),
        "cuda.matmul.allow_tf32": torch.backends.cuda.matmul.allow_tf32,
    }


def changed(before, after):
    """Return the names of what differs, entry by entry."""
    names = []
    for key, value in before.items():
        if isinstance(value, dict):
            now = after[key]
            # what torch itself loads on first use may come, but nothing may go or be another object
            names += [f"{key}.{n}" for n in value if n not in now or now[n] is not value[n]]
        elif value != after[key]:
            names.append(key)
    return names


def train_a_little():
    with simulated_gpus(2) as gpus:
        model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Dropout()).to("cuda:1")
        torch.cuda.manual_seed_all(1)
        torch.rand(3, device="cuda:0")
        optimiser = torch.optim.Adam(model.parameters())
        with torch.cuda.device(1), torch.device("cuda"), log_placement(), place("/gpu:0"):
            model(torch.ones(2, 3).to("cuda:1")).sum().backward()
        optimiser.step()
        torch.cuda.synchronize()
        return gpus


def test_a_simulation_leaves_torch_as_it_was():
    train_a_little()  # what torch loads on first use is loaded
    before = state_of_torch()
    train_a_little()
    torch.random.set_rng_state(torch.tensor(before["generator"], dtype=torch.uint8))  # a layer at home drew from it
    assert not changed(before, state_of_torch())


@pytest.mark.parametrize(
    "where", ["inside", "in a placement", "under a device", "in no_grad", "in backward", "in a hook"]
)
def test_an_exception_inside_leaves_torch_as_it_was(where):
    train_a_little()
    before = state_of_torch()
    with pytest.raises(Boom):
        with simulated_gpus(2):
            x = torch.zeros(2, device="cuda:1").requires_grad_()
            explode(where, x)
    assert not changed(before, state_of_torch())
    assert torch.zeros(2).device.type == "cpu"
    with simulated_gpus(1):  # and another can start
        assert torch.zeros(2, device="cuda").sum().item() == 0


def explode(where, x):
    if where == "in a placement":
        with place("/gpu:0"), log_placement():
            raise Boom
    if where == "under a device":
        with torch.device("cuda:1"), torch.cuda.device(1):
            raise Boom
    if where == "in no_grad":
        with torch.no_grad():
            raise Boom
    if where in ("in backward", "in a hook"):
        y = x * 2
        y.register_hook(lambda gradient: (_ for _ in ()).throw(Boom()))
        y.sum().backward()
    raise Boom


def test_closing_is_idempotent_and_frees_the_place_for_another():
    gpus = simulated_gpus(1)
    try:
        with pytest.raises(RuntimeError, match="(?i)close"):
            simulated_gpus(1)
    finally:
        gpus.close()
        gpus.close()
    with simulated_gpus(3) as another:
        gpus.close()  # closing the old one again leaves the new one alone
        assert another.count == torch.cuda.device_count() == 3


def test_the_cpus_generator_is_not_touched_by_a_devices_chance():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    with simulated_gpus(1):
        torch.rand(100, device="cuda")
        torch.nn.functional.dropout(torch.ones(10, device="cuda"))
        torch.empty(4, device="cuda").normal_()
        assert torch.equal(torch.rand(3), expected)


def test_a_thread_that_never_entered_sees_no_wrong_numbers():
    """It may use simulated tensors, or be told that it can't; after closing it is told as well."""
    seen = {}

    def work(key, x):
        seen[key] = use("sum", x)

    def in_a_thread(key, x):
        thread = threading.Thread(target=work, args=(key, x))
        thread.start()
        thread.join(60)

    with simulated_gpus(1):
        x = made("cuda:0")
        in_a_thread("open", x)
        outcome = seen["open"]
        assert isinstance(outcome, RuntimeError) or (outcome.item() == 28.0 and str(outcome.device) == "cuda:0")
    in_a_thread("closed", x)
    said(seen["closed"], "sum")
