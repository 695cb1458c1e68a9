"""A note in the browser that an exercise was passed, for the map of the course: `course.done.NN name`."""

import json

_NOTE = """<script>(() => {{
  const name = {name};
  (globalThis.courseDone ??= new Set()).add(name);
  try {{
    localStorage.setItem("course.done." + name, "1");
  }} catch {{
    // a page that may keep nothing
  }}
  dispatchEvent(new Event("course.done"));
}})()</script>"""


def noted(chapter: str, exercise: str) -> str:
    """Return HTML that notes the `exercise` of a `chapter` (its two digits) as done, in the browser that shows it."""
    return _NOTE.format(name=json.dumps(f"{chapter} {exercise}").replace("<", "\\u003c"))
