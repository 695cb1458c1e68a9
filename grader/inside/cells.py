"""Running a notebook's cells without a kernel: in order, in one namespace, an error costing what depends on it only.

Plain Python is run as it is. A cell with magics or shell lines (`%matplotlib inline`, `!ls`, `%%time`) goes through
IPython's own translation first, and IPython is loaded only then. Outputs are no evidence and are dropped.
"""

import ast
import builtins
import contextlib
import functools
import inspect
import itertools
import linecache
import sys
import traceback
import types
from collections.abc import Callable, Sequence

LIMIT = 600  # characters of an error


class Notebook:
    """The namespace that cells share, as the module `__main__`; `errors` holds what went wrong, by cell number."""

    def __init__(self, begins: Callable[[int], object] = lambda number: None) -> None:
        """`begins(number)` is called before a cell is run."""
        self._begins = begins
        self.module = types.ModuleType("__main__")
        self.names = self.module.__dict__
        self.errors: dict[int, str] = {}
        sys.modules["__main__"] = self.module
        builtins.__dict__["get_ipython"] = functools.partial(_shell, self.module)
        builtins.__dict__["display"] = lambda *things, **settings: None

    def run(self, number: int, text: str) -> None:
        """Run one cell; an exception is noted in `errors`, never passed on."""
        self._begins(number)
        self.errors.pop(number, None)
        try:
            self._run(f"<cell {number}>", text)
        except BaseException as failure:  # SystemExit and KeyboardInterrupt too: in a notebook they end a cell
            self.errors[number] = in_short(failure)
            with contextlib.suppress(Exception):  # the student may have put anything in the place of stderr
                traceback.print_exc()

    def run_again(self, texts: Sequence[str]) -> None:
        """Run cells that lacked a name again, while that helps: people run cells in another order than theirs."""
        while True:
            lacking = [number for number, error in self.errors.items() if error.startswith("NameError")]
            for number in lacking:
                self.run(number, texts[number])
            if all(number in self.errors for number in lacking):
                return

    def _run(self, name, text):
        if "IPython" in text:
            _shell(self.module)  # `from IPython import get_ipython` gives None without one
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)  # for inspect.getsource
        tree = self._parse(name, text)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        missing = None
        for piece in _pieces(tree):
            try:
                self._evaluate(compile(piece, name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT))
            except ModuleNotFoundError as failure:
                if not _is_import(piece.body[0]):
                    raise
                missing = missing or failure  # a package that isn't here costs its own line, not those below
        if last is not None:
            code = compile(ast.Expression(last.value), name, "eval", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            self.names["_"] = self._evaluate(code)
        if missing is not None:
            raise missing

    def _parse(self, name, text):
        flags = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        try:
            return compile(text, name, "exec", flags)
        except SyntaxError:
            from IPython.core.inputtransformer2 import TransformerManager

            return compile(TransformerManager().transform_cell(text), name, "exec", flags)

    def _evaluate(self, code):
        value = eval(code, self.names)
        if not inspect.iscoroutine(value):
            return value
        import asyncio  # slow to import, and few cells await anything

        return asyncio.run(value)


def _pieces(tree):
    """Yield the module in parts: each import alone, what stands between two of them as one."""
    future = any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body)
    for alone, nodes in itertools.groupby(tree.body, lambda node: _is_import(node) and not future):
        for body in [[node] for node in nodes] if alone else [list(nodes)]:
            yield ast.Module(body, type_ignores=[])


def _is_import(node):
    return isinstance(node, (ast.Import, ast.ImportFrom))


def in_short(failure: BaseException) -> str:
    """Return the exception in a line or two, with the line of the cell it came from."""
    if isinstance(failure, SyntaxError) and failure.lineno:
        return f"{type(failure).__name__}: {failure.msg} (line {failure.lineno})"[:LIMIT]
    lines = [f for f in traceback.extract_tb(failure.__traceback__) if f.filename.startswith("<cell ")]
    where = f" (line {lines[-1].lineno}: {lines[-1].line})" if lines and lines[-1].line else ""
    text = str(failure)
    return f"{type(failure).__name__}: {text[:LIMIT]}{where}" if text else f"{type(failure).__name__}{where}"


@functools.cache
def _shell(module):
    import subprocess

    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    class Shell(InteractiveShell):
        def enable_gui(self, gui=None):
            """No windows here."""

        def enable_matplotlib(self, gui=None):
            return "agg", "agg"  # pictures are not looked at

        def system(self, cmd):
            # IPython's own wants a terminal, and there is none
            code = subprocess.call(self.var_expand(cmd, depth=1), shell=True, stdin=subprocess.DEVNULL)
            self.user_ns["_exit_code"] = code

        def run_line_magic(self, *arguments, **settings):
            # `%load_ext something_not_installed` must not cost the lines below it
            try:
                return super().run_line_magic(*arguments, **settings)
            except Exception as failure:  # a magic's own, IPython's or an extension's
                print(in_short(failure), file=sys.stderr)

    return Shell.instance(user_module=module, config=Config(HistoryManager={"enabled": False}))
