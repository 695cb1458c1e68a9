"""Random numbers on simulated GPUs: a generator a device, seeded as torch seeds CUDA's."""

import copy
import pickle

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from simgpu import simulated_gpus
from simgpu.cuda.generators import DeviceGenerator, Randomness, device_of


@pytest.fixture
def gpus():
    with simulated_gpus(2) as gpus:
        yield gpus


def test_a_device_generator_draws_the_cpus_numbers_under_its_devices_name():
    generator = DeviceGenerator("cuda:1").manual_seed(7)
    assert generator.device == device_of(generator) == torch.device("cuda:1")
    assert torch.equal(torch.randn(5, generator=generator), torch.randn(5, generator=torch.Generator().manual_seed(7)))
    assert "cuda:1" in repr(generator) and "simulated" in repr(generator)


def test_a_copied_or_pickled_generator_goes_on_where_the_first_one_was():
    generator = DeviceGenerator("cuda:1").manual_seed(7)
    torch.randn(3, generator=generator)
    others = [copy.deepcopy(generator), pickle.loads(pickle.dumps(generator)), generator.clone_state()]
    expected = torch.randn(4, generator=generator)
    for other in others:
        assert other.device == torch.device("cuda:1")
        assert torch.equal(torch.randn(4, generator=other), expected)


def test_what_is_no_generator_is_refused_by_torchs_own_type_error():
    with simulated_gpus(1):
        x = torch.ones(2, device="cuda")
        for wrong in (7, "cuda", x):
            with pytest.raises(TypeError, match="generator"):
                torch.bernoulli(x, generator=wrong)
            with pytest.raises(TypeError, match="generator"):
                torch.rand(2, device="cuda", generator=wrong)


def test_devices_start_from_the_cpus_seed():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(11)
        assert [generator.initial_seed() for generator in Randomness(3).defaults] == [11, 11, 11]


def test_torch_manual_seed_seeds_every_device_and_each_draws_for_itself(gpus):
    torch.manual_seed(5)
    cpu = torch.rand(4)
    first = torch.rand(4, device="cuda:0")
    torch.rand(9, device="cuda:0")
    other = torch.rand(4, device="cuda:1")
    assert torch.equal(first.cpu(), other.cpu()) and torch.equal(first.cpu(), cpu)
    assert torch.cuda.initial_seed() == 5


def test_drawing_on_a_device_leaves_the_cpus_generator_alone(gpus):
    torch.manual_seed(5)
    before = torch.get_rng_state()
    torch.randn(3, device="cuda")
    torch.zeros(8, device="cuda").uniform_()
    torch.nn.functional.dropout(torch.ones(8, device="cuda"))
    torch.randperm(5, device="cuda")
    torch.bernoulli(torch.full((4,), 0.5, device="cuda"))
    torch.multinomial(torch.ones(4, device="cuda"), 2)
    torch.rand_like(torch.ones(3, device="cuda"))
    torch.normal(torch.zeros(3, device="cuda"), 1.0)
    torch.nn.init.kaiming_uniform_(torch.empty(3, 3, device="cuda"))
    assert torch.equal(torch.get_rng_state(), before)


def test_states_are_taken_and_put_back_a_device(gpus):
    torch.cuda.manual_seed(3)
    with torch.cuda.device(1):
        torch.cuda.manual_seed(4)
    assert [generator.initial_seed() for generator in torch.cuda.default_generators] == [3, 4]
    state = torch.cuda.get_rng_state("cuda:1")
    first = torch.randn(3, device="cuda:1")
    torch.cuda.set_rng_state(state, 1)
    assert torch.equal(torch.randn(3, device="cuda:1").cpu(), first.cpu())
    states = torch.cuda.get_rng_state_all()
    torch.cuda.seed_all()
    torch.cuda.set_rng_state_all(states)
    assert [generator.tolist() for generator in torch.cuda.get_rng_state_all()] == [
        generator.tolist() for generator in states
    ]


def test_a_generator_of_a_device_serves_factories_and_random_ops(gpus):
    generator = torch.Generator(device="cuda:1")
    assert isinstance(generator, torch.Generator) and generator.device == torch.device("cuda:1")
    expected = torch.Generator().manual_seed(8)
    generator.manual_seed(8)
    drawn = torch.randn(3, device="cuda:1", generator=generator)
    assert drawn.device == torch.device("cuda:1")
    assert torch.equal(drawn.cpu(), torch.randn(3, generator=expected))
    filled = torch.empty(3, device="cuda:1").normal_(generator=generator)
    assert torch.equal(filled.cpu(), torch.empty(3).normal_(generator=expected))
    order = torch.randperm(9, device="cuda:1", generator=generator)
    assert torch.equal(order.cpu(), torch.randperm(9, generator=expected))
    picked = torch.multinomial(torch.ones(5, device="cuda:1"), 2, generator=generator)
    assert torch.equal(picked.cpu(), torch.multinomial(torch.ones(5), 2, generator=expected))


def test_a_devices_generator_serves_the_default_device(gpus):
    torch.set_default_device("cuda:1")
    try:
        assert torch.rand(2, generator=torch.Generator("cuda:1")).device == torch.device("cuda:1")
        with pytest.raises(RuntimeError, match="Expected a 'cuda' device type for generator but found 'cpu'"):
            torch.randperm(4, generator=torch.Generator())
    finally:
        torch.set_default_device(None)


def test_a_generator_on_the_wrong_device_is_refused_by_factories_and_random_ops(gpus):
    on_gpu, on_cpu = torch.Generator("cuda"), torch.Generator()
    wants_cuda = "Expected a 'cuda' device type for generator but found 'cpu'"
    wants_cpu = "Expected a 'cpu' device type for generator but found 'cuda'"
    for program, message in (
        (lambda: torch.randn(3, device="cuda", generator=on_cpu), wants_cuda),
        (lambda: torch.empty(3, device="cuda").uniform_(generator=on_cpu), wants_cuda),
        (lambda: torch.randn(3, generator=on_gpu), wants_cpu),
        (lambda: torch.empty(3).uniform_(generator=on_gpu), wants_cpu),
        (lambda: torch.randperm(3, generator=on_gpu), wants_cpu),
    ):
        with pytest.raises(RuntimeError, match=message):
            program()


def test_a_generator_for_a_device_that_is_not_there_is_refused(gpus):
    with pytest.raises(RuntimeError, match="The device_index is invalid"):
        torch.Generator(device="cuda:2")


def test_a_cpu_generator_is_torchs_own_and_torch_generator_is_put_back():
    original = torch.Generator
    with simulated_gpus(1):
        assert type(torch.Generator()) is original
        assert isinstance(torch.default_generator, torch.Generator) and not isinstance(3, torch.Generator)
        with torch.cuda.device(0):
            assert torch.Generator("cuda").device == torch.device("cuda:0")
    assert torch.Generator is original


@settings(max_examples=30)
@given(st.integers(0, 2**63 - 1), st.lists(st.sampled_from(["rand", "randn", "randperm"]), min_size=1, max_size=5))
def test_the_same_seed_gives_the_cpus_draws_in_any_order_of_devices(seed, draws):
    def program(device):
        torch.manual_seed(seed)
        return [getattr(torch, draw)(6, device=device).cpu() for draw in draws]

    expected = program("cpu")
    with simulated_gpus(2):
        for device in ("cuda:1", "cuda:0"):
            assert all(map(torch.equal, program(device), expected))
