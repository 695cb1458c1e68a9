"""All the texts an object can show itself as, and the rule for figures that nobody measured on this machine."""

import re
from html import unescape

from tests.helpers.tainted import marks_in

#: kind of a figure -> the words of which one must stand in the same element. What is computed from recorded figures by
#: a model is a modelled figure.
WORDS = {"modelled": ("modelled", "simulated", "not measured"), "recorded": ("recorded", "modelled")}


def texts_of(thing):
    """Return form -> text of every way in which a notebook or a terminal shows `thing`."""
    if isinstance(thing, str):
        return {"text": thing}
    forms = {"repr": repr(thing), "str": str(thing)}
    bundle = getattr(thing, "_repr_mimebundle_", None)
    html = getattr(thing, "_repr_html_", None)
    if bundle is not None:
        forms |= {kind: text for kind, text in bundle().items() if kind.startswith("text/")}
    if html is not None:
        forms["text/html"] = html()
    return {form: readable(text) if "html" in form else text for form, text in forms.items()}


def readable(html):
    """Return what a reader, or a screen reader, gets from `html`: text between tags, and alt texts, titles, labels."""
    html = re.sub(r"<style.*?</style>|<script.*?</script>|<!--.*?-->", " ", html, flags=re.DOTALL)
    html = re.sub(r"""<[^>]*?(?:alt|title|aria-label)=(["'])(.*?)\1[^>]*>""", r" \2 ", html, flags=re.DOTALL)
    return unescape(re.sub(r"<[^>]+>", " ", html))


def unlabelled(text):
    """Return a line for each source of figures in `text` (one element) whose kind or origin the text does not say."""
    problems = []
    for mark in marks_in(text):
        if not any(word in text for word in WORDS[mark.kind]):
            problems.append(f"a {mark.kind} figure without the word: {text[:300]!r}")
        elif mark.origin not in text:
            problems.append(f"a {mark.kind} figure without its origin ({mark.origin}): {text[:300]!r}")
    return problems
