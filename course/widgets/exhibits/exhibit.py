"""`Exhibit`: state in traits, an engine's answer as plain data, a page that draws it, a still where no script runs.

The page draws by itself, from answers that are stored with it; where a kernel answers, its answers replace them.
"""

import atexit
import os
import threading
import uuid
import weakref
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Self

import traitlets

from course.draw import Picture, html
from course.progress_line import STATIC_TWINS
from course.widgets.exhibits.give import carried_by_kernel, carried_elsewhere
from course.widgets.exhibits.page import key_of, page
from course.widgets.exhibits.page_files import files_of
from course.widgets.exhibits.state import Stateful
from course.widgets.exhibits.wire import Wire

if TYPE_CHECKING:
    from course.widgets.exhibits.widget import ExhibitWidget

#: An exhibit whose kernel is silent for so long goes on with stored answers; any message later makes it live again.
EXHIBIT_PATIENCE = 1.5

_CORE = ("wire.js", "kernel.js", "frame.js", "exhibit.js", "reasons.js", "scales.js")


class Exhibit(Stateful):
    """What a reader touches; a subclass says what its state is, which engine it calls and how the answer looks.

    A subclass declares traits tagged `state=True` (values that JSON has) and defines

    - `module`: its own file for the page, beside its Python; it exports `draw(root, data)`. Before it in the page stand
      `parts`, more files of its own; `shared`, files of this room or of one beside it ("bets/kept.js"); `scales.js`;
      and `exhibit.js`, whose head says how to use it all. `styles` are its own;
    - `engine(**state)` -> result: one engine call. In a thread when `background`: long ones look at `self.stopped`
      between pieces and return None then, and call `self.progress(fraction)`;
    - `answer(result)` -> dict of plain values, which the page draws;
    - `draw(result)` -> `Picture`: the still;
    - `grid()` -> the settings whose answers lie in the page, each a dict of what differs from the present state; and
      `data()`, what the page needs besides; `actions`, methods that the page's buttons call.

    Setting a trait from Python, in any thread, does what moving its control does. `result` is the last one computed.
    """

    module = ""
    parts: Sequence[str] = ()
    shared: Sequence[str] = ("axes.js", "controls.js")
    styles: Sequence[str] = ()
    actions: Sequence[str] = ()
    background = False
    patience = EXHIBIT_PATIENCE
    heard_at_once = False  # the page is heard while a cell runs, in another thread
    engine: Callable[..., Any]

    def __init__(self, **state: object) -> None:
        super().__init__()
        self.result: Any = None
        self._of: dict[str, Any] = {}  # the state that `result` is of
        self._wanted = self._cancelled = 0  # numbers of the newest request, and of the newest that was stopped
        self._page_number: int | None = None  # the page's number of the newest request, None: Python's
        self._thread: threading.Thread | None = None
        self._failure: Exception | None = None
        self._nonce = uuid.uuid4().hex[:8]  # tells two exhibits of one page apart
        self._wire: Wire | None = None
        self._widget: ExhibitWidget | None = None
        self.stopped = threading.Event()
        if self.background:
            atexit.register(_finish, weakref.ref(self))  # a thread inside torch while Python ends aborts the process
        self.update(**state)
        if self._wanted == 0:
            self.refresh()

    def grid(self) -> Iterable[dict[str, Any]]:
        """Return the settings whose answers are stored: the present ones; none where the page computes by itself."""
        return [] if type(self).answer is Exhibit.answer else [{}]

    def data(self) -> dict[str, Any]:
        """Return what the page needs besides settings and answers, as plain values."""
        return {}

    def answer(self, result: Any) -> dict[str, Any]:
        """Return what the page draws of a `result`, as plain values: nothing where the page computes by itself."""
        return {}

    def draw(self, result: Any) -> Picture:
        """Return the still of a `result`; a subclass overrides this."""
        raise NotImplementedError

    def stored(self) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Return (settings, answer) of each setting of the grid."""
        answers = []
        for settings in self.grid():
            result = self.result if self._of == {**self.state(), **settings} else None
            answers.append((settings, self.answer(result or self.engine(**{**self.state(), **settings}))))
        return answers

    def refresh(self) -> None:
        """Compute for the present state, and tell the page; a newer request makes an older one stop."""
        with self._lock:
            self._wanted += 1
            number, page_number, settings = self._wanted, self._page_number, self.state()
            if not self.background:
                try:
                    self._run(number, page_number, settings)
                except Exception:  # whatever torch, Dask or a subclass's engine raises; raised again below
                    self._put(self._of)
                    raise
                return
            self.stopped.set()
            work = self._run, number, page_number, settings
            self._thread = threading.Thread(target=self._follow, args=(*work, self._thread), daemon=True)
            self._tell({"number": page_number, "settings": settings, "busy": 0})
            self._thread.start()

    def wait(self, timeout: float | None = 30.0) -> Self:
        """Return when the result is of the present state; raises TimeoutError after `timeout` seconds."""
        thread = self._thread
        if thread is not None:
            thread.join(timeout)
            if thread.is_alive():
                name = type(self).__name__
                raise TimeoutError(f"{name}: still working after {timeout} s; call stop(), or wait longer.")
        if self._failure is not None:
            raise self._failure
        return self

    def stop(self) -> None:
        """Ask a background computation to stop at its next look at `stopped`; the last result stays."""
        with self._lock:
            self._cancelled = self._wanted
            self.stopped.set()

    def close(self) -> None:
        """Stop what runs, wait for it (5 s at most), and close the line to the page. Idempotent."""
        self.stop()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(5)
        with self._lock:
            if self._wire is not None:
                self._wire.close()
                self._wire = None
            if self._widget is not None:
                self._widget.close()

    def progress(self, fraction: float) -> None:
        """Show how far a background computation is, 0 to 1."""
        self._tell({"busy": fraction})

    def static(self) -> Picture:
        """Return the still of the present state; it needs neither a kernel nor scripts."""
        self.wait()
        return self.draw(self.result)

    def _follow(self, run, number, page_number, settings, previous):
        if previous is not None:
            previous.join()
        with self._lock:
            if number != self._wanted:
                return
            if number > self._cancelled:
                self.stopped.clear()
        run(number, page_number, settings)

    def _run(self, number, page_number, settings):
        about = {"number": page_number, "settings": settings}
        try:
            self._failure = None
            result = self.engine(**settings)
            if number != self._wanted:
                return
            if result is None:
                self._tell({**about, "stopped": True})
            else:
                self.result, self._of = result, settings
                self._tell({**about, "answer": self.answer(result)})
        except Exception as failure:  # torch's, Dask's or an engine's own: the page shows it, wait() raises it
            self._failure = failure
            self._tell({**about, "wrong": str(failure) or type(failure).__name__})
            if not self.background:
                raise

    def _tell(self, message, *buffers):
        if (wire := self._wire) is not None:
            wire.send(message, *([buffers] if buffers else []))

    def _heard(self, _, content, buffers):
        """Do what the page asks. Nobody above this catches an error, so the page shows it."""
        match content:
            case {"ping": int()}:
                answered = {} if self.result is None else {"answer": self.answer(self.result)}
                thread = self._thread
                busy = {"busy": 0} if thread is not None and thread.is_alive() else {}
                self._tell({"pong": True, "settings": self._of or self.state(), **answered, **busy})
            case {"number": int(number), "settings": dict(settings)}:
                self._move(number, settings)
            case {"do": str(name), "with": list(arguments)} if name in (*self.actions, "stop"):
                self._tell({"heard": name})  # before it is done, which may take long
                try:
                    getattr(self, name)(*arguments)
                except Exception as wrong:  # whatever torch, Dask or the called action raises
                    self._tell({"said": str(wrong)})

    def _move(self, number, settings):
        about = {"number": number, "settings": self._of}
        with self._lock:
            self._page_number, before = number, self._wanted
            try:
                self.update(**settings)
                if self._wanted == before:  # nothing has changed: the answer is known
                    answer = {"answer": self.answer(self.result)} if self.result is not None else {"busy": 0}
                    self._tell({**about, **answer})
            except (traitlets.TraitError, TypeError) as wrong:
                self._tell({**about, "wrong": str(wrong)})
            except Exception as failure:  # whatever torch, Dask or a subclass's engine raises
                if failure is not self._failure:  # which `_run` has sent to the page
                    raise
            finally:
                self._page_number = None

    def _words(self):
        """Return the finding of the last result, where a subclass has one."""
        return ""

    def _shown(self):
        """Return the still for a cell's output: a reader's cell does not wait for work in the background."""
        working = self._thread is not None and self._thread.is_alive()
        if working and not os.environ.get(STATIC_TWINS):
            words = f"{type(self).__name__} is at work; its picture follows in the page."
            return html(f"<p>{words}</p>", words)
        return self.static()

    def __repr__(self):
        inside = ", ".join(f"{name}={value!r}" for name, value in self.state().items())
        return f"{type(self).__name__}({inside}{f': {words}' if (words := self._words()) else ''})"

    def widget(self) -> "ExhibitWidget":
        """Return this exhibit as a widget of ipywidgets, the same one each time: see `ExhibitWidget`."""
        if self._widget is None:
            from course.widgets.exhibits.widget import widget_of

            self._widget = widget_of(self, self._html(carried_by_kernel))
        return self._widget

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": repr(self), "text/html": self._html(carried_elsewhere)}

    def _html(self, carried):
        still = self._shown()
        data = {"settings": self.state(), **self.data(), "grid": self.stored(), "patience": 1000 * self.patience}
        key = key_of(data, nonce=self._nonce)
        if not os.environ.get(STATIC_TWINS):
            self._connect(key)
        home = next(kind for kind in type(self).__mro__ if "module" in vars(kind))
        room = home.__module__.rpartition(".")[0]
        files = files_of(*_CORE, *self.shared) + files_of(*self.styles, *self.parts, self.module, room=room)
        return page(key, data, files, still, carried).html

    def _connect(self, key):
        with self._lock:
            if self._wire is not None:
                self._wire.close()
            self._wire = Wire(key=key)
            self._wire.on_msg(self._heard)
            if self.heard_at_once:
                self._wire.listen_while_a_cell_runs()


def headline(number: str, words: str) -> str:
    """Return HTML of the number that matters, large, and the words beside it; both are escaped."""
    small = f'<small style="font-size: 16px; font-weight: normal">{escape(words)}</small>'
    return f'<div class="figure">{escape(number)} {small}</div>'


def _finish(reference):
    exhibit = reference()
    if exhibit is not None:
        exhibit.close()
