"""Functions that torch wrote in Python, run so that what they call inside is seen again.

Such a function first asks whether somebody overrides it and, if so, hands itself over. We are that somebody: calling it
again would hand it over again, and leaving our mode first, as torch advises, would hide from us the
`torch.zeros(…, device=query.device)` inside it. So a copy of the function is called, for which nobody overrides.
"""

import types
from collections.abc import Callable
from functools import cache

import torch

_GUARDS = ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic")


def body_of(func: Callable) -> Callable | None:
    """Return the function to call in place of `func` once its override is handled, or None if it has no such guard.

    None too for a method that calls `super()`: what it calls hands itself over under the method's own name.
    """
    if type(func) is not types.FunctionType or not {*_GUARDS, "overrides"} & {*func.__code__.co_names}:
        return None
    if "__class__" in func.__code__.co_freevars:
        return None
    copied = types.FunctionType(
        func.__code__, _unguarded(_Module(func.__globals__)), func.__name__, func.__defaults__, func.__closure__
    )
    copied.__kwdefaults__ = func.__kwdefaults__
    return copied


class _Module:
    """The names of a module, equal to itself alone: a dict is no key."""

    def __init__(self, names):
        self.names = names

    def __hash__(self):
        return id(self.names)

    def __eq__(self, other):
        return self.names is other.names


@cache
def _unguarded(module):
    """Return the module's names with guards that always say no."""
    names = {**module.names, **{guard: _nobody for guard in _GUARDS if guard in module.names}}
    overrides = _Instead(torch.overrides, **dict.fromkeys(_GUARDS, _nobody))
    if names.get("overrides") is torch.overrides:  # torch.sym_max asks `overrides.has_torch_function(…)`
        names["overrides"] = overrides
    if names.get("torch") is torch:  # torch.nn.init asks `torch.overrides.has_torch_function_variadic(…)`
        names["torch"] = _Instead(torch, overrides=overrides)
    return names


class _Instead(types.ModuleType):
    """A module with some names replaced."""

    def __init__(self, module, **names):
        super().__init__(module.__name__)
        self.__dict__.update(names)
        self._module = module

    def __getattr__(self, name):
        return getattr(self._module, name)


def _nobody(*args):
    return False
