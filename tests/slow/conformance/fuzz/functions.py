"""What is called: the public functions of torch, and the methods of a tensor, by name."""

import inspect
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

#: They change the process for all calls that follow, start others, read or write files, or wait for what never comes.
LEFT_OUT = {
    *"compile load save set_printoptions set_default_dtype set_default_device set_default_tensor_type "
    "set_num_threads set_num_interop_threads set_flush_denormal set_anomaly_enabled set_grad_enabled "
    "set_deterministic_debug_mode set_float32_matmul_precision set_warn_always use_deterministic_algorithms "
    "set_autocast_enabled set_autocast_dtype set_autocast_cpu_enabled set_autocast_cpu_dtype set_autocast_ipu_dtype "
    "set_autocast_ipu_enabled set_autocast_xla_dtype set_autocast_xla_enabled set_autocast_gpu_dtype "
    "set_autocast_cache_enabled autocast_increment_nesting autocast_decrement_nesting clear_autocast_cache "
    "import_ir_module import_ir_module_from_buffer parse_ir parse_schema parse_type_comment "
    "merge_type_from_type_comment "
    "unify_type_list fork wait from_file get_file_path prepare_multiprocessing_environment init_num_threads vmap "
    "typename is_storage cond while_loop export classproperty handle_torch_function "
    "initial_seed seed manual_seed set_rng_state get_rng_state read_vitals set_vital vitals_enabled "
    "__setstate__ __reduce_ex__ __reduce__ __getstate__ __del__ __class__ __init__ __new__ __subclasshook__ "
    "__init_subclass__ __setattr__ __delattr__ __getattribute__ __torch_function__ __torch_dispatch__ "
    "_make_subclass _make_wrapper_subclass _make_dtensor __dir__ __sizeof__ share_memory_ requires_grad_ "
    "refine_names names rename rename_ align_to align_as".split()
}
SPACES = {
    "torch": torch, "F": F, "linalg": torch.linalg, "fft": torch.fft, "special": torch.special, "Tensor": Tensor,
}  # fmt: skip


def functions() -> dict[str, Callable]:
    """Return what is called by its name, as "torch.add", "Tensor.add_", "F.relu": in the order of the names."""
    by_name = {}
    for space, owner in SPACES.items():
        for name in dir(owner) if owner is not Tensor else ():
            value = getattr(owner, name)
            if name.startswith("_") or name in LEFT_OUT or inspect.isclass(value) or inspect.ismodule(value):
                continue
            if callable(value) and (space != "torch" or hasattr(torch._C._VariableFunctions, name) or _of_torch(value)):
                by_name[f"{space}.{name}"] = value
    for name in dir(Tensor):
        value = getattr(Tensor, name, None)
        if callable(value) and name not in LEFT_OUT and (not name.startswith("_") or name.startswith("__")):
            by_name[f"Tensor.{name}"] = value
    return dict(sorted(by_name.items()))


def _of_torch(value):
    """Return whether a function written in Python is one of torch's own for tensors."""
    return getattr(value, "__module__", "") in ("torch.functional", "torch._tensor")
