"""While GPUs are simulated, compiled functions run uncompiled; `nn.DataParallel` and `torch.export` say no."""

import sys
from contextlib import ExitStack, contextmanager

import torch


@contextmanager
def uncompiled():
    """Within the `with`, functions from `torch.compile` run uncompiled; DataParallel and `torch.export` are refused.

    The compiler is told so once it is loaded, which takes a second: who doesn't compile doesn't wait for it.
    """
    compile_, parallel, export = torch.compile, torch.nn.DataParallel.__init__, torch.export.export
    with ExitStack() as stack:

        def compiled(*args, **kwargs):
            made = compile_(*args, **kwargs)
            eager()
            return made

        def eager():
            if not told:
                told.append(stack.enter_context(torch.compiler.set_stance("force_eager")))

        told = []
        if "torch._dynamo" in sys.modules:
            eager()
        torch.compile, torch.nn.DataParallel.__init__, torch.export.export = compiled, _refused, _not_exported
        try:
            yield
        finally:
            torch.compile, torch.nn.DataParallel.__init__, torch.export.export = compile_, parallel, export


def _refused(self, *args, **kwargs):
    raise NotImplementedError(
        "torch.nn.DataParallel: simulated GPUs do not do this, it needs real ones. Give each device its copy of the "
        "module (copy.deepcopy(module).to('cuda:1')) and its part of the batch, and join the results with torch.cat."
    )


def _not_exported(*args, **kwargs):
    raise NotImplementedError(
        "torch.export: simulated GPUs do not do this. Move the model to the CPU and close them first."
    )
