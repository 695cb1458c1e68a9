"""What widgets of ipywidgets share: state in traitlets, controls above a picture, a twin for pages without a kernel.

New ones are exhibits (`course/widgets/exhibits/`).
"""

import atexit
import os
import threading
import weakref
from collections.abc import Callable, Iterable
from html import escape
from typing import Any

import ipywidgets
import traitlets

from course.draw import html
from course.draw.picture import Picture
from course.progress_line import STATIC_TWINS
from course.widgets.slider_names import SliderNames

WIDE = {"width": "100%", "max_width": "640px"}  # the layout of a slider


class Explorer(ipywidgets.VBox):
    """Controls above a picture; a subclass says what its state is, which engine it calls and how the result looks.

    A subclass declares traits tagged `state=True` and defines

    - `controls()` -> list of ipywidgets, linked to the traits with `self.slider`, `self.choice`, `self.button`;
    - `compute()` -> result: one engine call, reading the state (runs in a worker thread when `background = True`;
      long ones look at `self.stopped` between pieces and call `self.progress(fraction)`);
    - `draw(result)` -> `Picture`: numbers to picture, no computing.

    Setting a trait from Python does what moving the control does, in any thread. `wait()` returns once the picture
    shows the present state. `static()` returns the same picture as a `Picture`, with no kernel behind it.
    """

    background = False

    def __init__(self, **state: object) -> None:
        super().__init__()
        for name, value in state.items():
            if not self.has_trait(name):
                legal = ", ".join(self.state())
                raise TypeError(f"{type(self).__name__}({name}=…): no such state; it has {legal}.")
            setattr(self, name, value)
        self.result = None
        self._lock = threading.RLock()
        self._wanted = 0  # number of the newest request
        self._cancelled = 0  # requests up to this number have been told to stop
        self._thread: threading.Thread | None = None
        self._failure: Exception | None = None
        self.stopped = threading.Event()
        self._picture = self.canvas()
        self._progress = ipywidgets.FloatProgress(min=0, max=1, description="working", layout={"visibility": "hidden"})
        self._stop = self.button("Stop", self.stop, icon="stop", layout={"visibility": "hidden", "width": "90px"})
        bar = [ipywidgets.HBox([self._progress, self._stop])] if self.background else []
        controls = self.controls()
        _line_up(controls)
        self.children = [*controls, *bar, SliderNames(), self._picture]
        self.observe(lambda _: self.refresh(), names=list(self.state()))
        if self.background:
            # a thread still inside torch while Python shuts down aborts the process
            atexit.register(_finish, weakref.ref(self))
        self.refresh()

    def state(self) -> dict[str, Any]:
        """Return the state as a dict: trait name to value."""
        return {name: getattr(self, name) for name in sorted(self.trait_names(state=True))}

    def controls(self) -> list[ipywidgets.Widget]:
        """Return the list of controls; a subclass overrides this."""
        return []

    def canvas(self) -> ipywidgets.Widget:
        """Return the widget that shows the picture, as HTML in its `value`; a subclass may give one that listens."""
        return ipywidgets.HTML()

    def slider(
        self,
        name: str,
        low: float,
        high: float,
        label: str,
        step: float = 1,
        kind: type = ipywidgets.IntSlider,
        **settings: Any,
    ) -> Any:
        """Return a labelled slider tied to the trait `name`; it reports while it moves unless told otherwise."""
        return self.tied(name, kind, label, min=low, max=high, step=step, layout=WIDE, **settings)

    def choice(
        self, name: str, options: Iterable[object], label: str, kind: type = ipywidgets.Dropdown, **settings: Any
    ) -> Any:
        """Return a labelled choice among `options` tied to the trait `name`."""
        return self.tied(name, kind, label, options=options, **settings)

    def tied(self, name: str, kind: type, label: str, transform: tuple | None = None, **settings: Any) -> Any:
        """Return a `kind` of ipywidgets with a `label`, its value tied to the trait `name` (through `transform`)."""
        style = {"description_width": "initial"}
        control = kind(value=getattr(self, name), description=label, style=style, **settings)
        traitlets.link((self, name), (control, "value"), transform=transform)
        return control

    def button(self, label: str, action: Callable[[], object], **settings: object) -> ipywidgets.Button:
        """Return a button that calls `action()`."""
        control = ipywidgets.Button(description=label, **settings)
        control.on_click(lambda _: action())
        return control

    def refresh(self) -> None:
        """Compute and draw the present state; a newer request makes an older background one stop and be forgotten."""
        with self._lock:
            self._wanted += 1
            number = self._wanted
            if not self.background:
                self._run(number)
                return
            self.stopped.set()
            previous = self._thread
            self._thread = threading.Thread(target=self._follow, args=(number, previous), daemon=True)
            self._show_busy(True)
            self._thread.start()

    def wait(self, timeout: float | None = 30.0) -> "Explorer":
        """Return when the picture shows the present state; raises TimeoutError after `timeout` seconds."""
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
        """Ask a background computation to stop at its next look at `stopped`; the last picture stays."""
        with self._lock:
            self._cancelled = self._wanted
            self.stopped.set()

    def close(self) -> None:
        """Stop what runs, wait for it (5 s at most), and remove the widget. Idempotent."""
        self.stop()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(5)
        super().close()

    def progress(self, fraction: float) -> None:
        """Show how far a background computation is, 0 to 1."""
        self._progress.value = fraction

    def static(self) -> Picture:
        """Return the picture of the present state as a `Picture` that needs no kernel."""
        self.wait()
        return self.draw(self.result if self.result is not None else self.compute())

    def _follow(self, number, previous):
        if previous is not None:
            previous.join()
        with self._lock:
            if number != self._wanted:
                return
            if number > self._cancelled:
                self.stopped.clear()
        self._run(number)

    def _run(self, number):
        try:
            self._failure = None
            result = self.compute()
            if number == self._wanted and result is not None:
                self.result = result
                self._picture.value = self.draw(result).html
        except Exception as failure:  # shown in the widget and raised by wait(): a callback has nobody above it
            self._failure = failure
            text = f'<p class="wrong">{type(failure).__name__}: {escape(str(failure))}</p>'
            self._picture.value = html(text, str(failure)).html
            if not self.background:
                raise
        finally:
            if self.background and number == self._wanted:
                self._show_busy(False)

    def _show_busy(self, busy):
        for part in (self._progress, self._stop):
            part.layout.visibility = "visible" if busy else "hidden"
        self._progress.value = 0

    def __repr__(self):
        inside = ", ".join(f"{name}={value!r}" for name, value in self.state().items())
        return f"{type(self).__name__}({inside})"

    def _repr_mimebundle_(self, **kwargs):
        bundle = {**super()._repr_mimebundle_(**kwargs), "text/plain": repr(self)}
        if self.background and not os.environ.get(STATIC_TWINS) and self._thread.is_alive():
            return bundle  # a reader's cell ends now; the picture follows in the widget
        return {**bundle, "text/html": self.static().html}


def _line_up(controls):
    """Give the labels of `controls`, one below the other, one width: what they control begins at one position."""
    labelled = [control for control in controls if hasattr(getattr(control, "style", None), "description_width")]
    longest = max((len(control.description) for control in labelled), default=0)
    for control in labelled:
        control.style.description_width = f"{longest}ch"
        if isinstance(control, ipywidgets.Dropdown) and not control.layout.width:
            control.layout.width, control.layout.max_width = "100%", "460px"  # what is chosen, whole


def _finish(reference):
    widget = reference()
    if widget is not None:
        widget.close()
