"""Functions that torch wrote in Python, run so that what they call inside is seen again.

Such a function first asks whether it is overridden and, if so, hands itself over. It is, by the simulation: calling it
again would hand it over again, and leaving the mode first, as torch advises, would hide from it the
`torch.zeros(…, device=query.device)` inside it. So a copy of the function is called, for which no override is found.
"""

import types
from collections.abc import Callable

import torch

_UNGUARDED: dict[int, tuple[dict, dict]] = {}  # id of a module's names -> these, and the same with other guards
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
        func.__code__, _unguarded(func.__globals__), func.__name__, func.__defaults__, func.__closure__
    )
    copied.__kwdefaults__ = func.__kwdefaults__
    return copied


def _unguarded(module):
    """Return a module's names with guards that always say no: one dict for all of its functions."""
    if id(module) in _UNGUARDED:
        return _UNGUARDED[id(module)][1]
    names = {**module, **{guard: _never_overridden for guard in _GUARDS if guard in module}}
    overrides = _Instead(torch.overrides, **dict.fromkeys(_GUARDS, _never_overridden))
    if names.get("overrides") is torch.overrides:  # torch.sym_max asks `overrides.has_torch_function(…)`
        names["overrides"] = overrides
    if names.get("torch") is torch:  # torch.nn.init asks `torch.overrides.has_torch_function_variadic(…)`
        names["torch"] = _Instead(torch, overrides=overrides)
    _UNGUARDED[id(module)] = module, names
    return names


class _Instead(types.ModuleType):
    """A module with some names replaced."""

    def __init__(self, module, **names):
        super().__init__(module.__name__)
        self.__dict__.update(names)
        self._module = module

    def __getattr__(self, name):
        return getattr(self._module, name)


def _never_overridden(*args):
    return False
