"""What a submission may hold to come alive on a page that shows it: texts, outputs, and a notebook of all of them."""

import base64
import io

from tests.helpers.small_lab import cells_of, code, markdown, notebook

#: Each sets window.OWNED, or asks another host, where it is not shown as the text that it is.
TEXTS = [
    "<script>window.OWNED=1</script>",
    '<img src=x onerror="window.OWNED=1">',
    '<svg onload="window.OWNED=1"></svg>',
    '<details open ontoggle="window.OWNED=1">more</details>',
    '</pre></textarea></style><iframe srcdoc="<script>parent.OWNED=1</script>"></iframe>',
    "[click](javascript:window.OWNED=1) <javascript:window.OWNED=1>",
    "![beacon](https://evil.example/beacon.png) ![a](attachment:a.svg)",
    "$\\href{javascript:window.OWNED=1}{x}$ $$\\require{html}$$ \\(x\\) \\begin{align}x\\end{align}",
    "```\n</code></pre><script>window.OWNED=1</script>\n```\n````text\n~~~\n<script>window.OWNED=1</script>",
    '```mermaid\ngraph TD;\nA-->B;\nclick A "javascript:window.OWNED=1"\n```',
    "    <script>window.OWNED=1</script>\n\n# <script>window.OWNED=1</script>",
    '{{ "window.OWNED=1" }} {% raw %} {{ resources }}',
    "\u202ereversed\u2066 \x1b[31mred\x1b[0m \x00 \ud800",
    "z" + "\u0301" * 400,
    "&lt;script&gt;window.OWNED=1&lt;/script&gt;",
]


def png(colour="orange", size=(300, 200), mode="RGB"):
    """Return a PNG as notebooks keep it, base64."""
    from PIL import Image

    stream = io.BytesIO()
    Image.new(mode, size, colour).save(stream, "PNG")
    return base64.b64encode(stream.getvalue()).decode()


def outputs(picture):
    """Return what a cell may say that it gave: a picture, and the same as HTML, SVG, JavaScript and LaTeX."""
    alive = "<script>window.OWNED=1</script><img src=x onerror='window.OWNED=1'>"
    data = {
        "image/png": picture,
        "image/svg+xml": f"<svg xmlns='http://www.w3.org/2000/svg' onload='window.OWNED=1'>{alive}</svg>",
        "text/html": alive,
        "text/markdown": alive,
        "text/latex": TEXTS[7],
        "application/javascript": "window.OWNED=1",
        "application/vnd.jupyter.widget-view+json": {"model_id": "x", "version_major": 2, "version_minor": 0},
    }
    return [{"output_type": "display_data", "data": data, "metadata": {}}]


def hostile_notebook(lab):
    """Return the bytes of a submission for the small lab with all of it: in cells, errors, outputs and metadata."""
    answers = {
        "double": "def double(values):\n    return list(values)  # </pre><script>window.OWNED=1</script>" + "x" * 300,
        "total": f"def total(values):\n    raise ValueError({TEXTS[0] + TEXTS[1]!r})",
        "words": f"words = {TEXTS[4]!r}",
    }
    cells = cells_of(lab, answers) + [markdown(text) for text in TEXTS] + [code(text) for text in TEXTS]
    cells = [cell for cell in cells if cell["source"] != "check(shifted)"]
    pictures = [png(), '"><script>window.OWNED=1</script>', base64.b64encode(b"<svg onload='window.OWNED=1'>").decode()]
    for number, cell in enumerate(cells):
        cell["metadata"]["tags"] = ["<script>window.OWNED=1</script>"]
        if cell["cell_type"] == "code":
            cell["outputs"] = outputs(pictures[number % 3])
        else:
            cell["attachments"] = {"a.svg": {"image/svg+xml": "<svg onload='window.OWNED=1'>"}}
    evil = {"title": TEXTS[0], "widgets": {"application/vnd.jupyter.widget-state+json": {"state": TEXTS[0]}}}
    return notebook(cells, metadata={**evil, "language_info": {"name": TEXTS[0], "pygments_lexer": TEXTS[0]}})
