"""Which small bugs can be planted in a script of the page: operators, constants and conditions, by short patterns."""

import re

#: name -> (what is changed, what stands there then); the scripts have spaces around their operators.
BUGS = {
    "equal": ("===", "!=="),
    "unequal": ("!==", "==="),
    "less": (" < ", " <= "),
    "at most": (" <= ", " < "),
    "more": (" > ", " >= "),
    "at least": (" >= ", " > "),
    "plus": (r" \+ ", " - "),
    "minus": (r" - ", " + "),
    "times": (r" \* ", " + "),
    "over": (" / ", " * "),
    "and": (" && ", " || "),
    "or": (r" \|\| ", " && "),
    "not": (r"(?<=[ (])!(?=[\w(])", ""),
    "never": (r"\bif \(", "if (false && "),
    "true": (r"\btrue\b", "false"),
    "false": (r"\bfalse\b", "true"),
    "number": (r"(?<![\w.#])\d+(?![\w.%])", lambda match: str(int(match[0]) + 1)),
}
#: Comments, texts and templates: most of what stands in them is words and markup.
_QUOTED = re.compile(r'//[^\n]*|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`', re.DOTALL)


def bugs_of(text: str) -> list[tuple[int, str, str]]:
    """Return (place, name, the text with this bug in it) of every bug that `text` can have, in the order of `BUGS`."""
    quoted = [range(*match.span()) for match in _QUOTED.finditer(text)]
    bugs = []
    for name, (pattern, change) in BUGS.items():
        for match in re.finditer(pattern, text):
            if not any(match.start() in span for span in quoted):
                changed = change(match) if callable(change) else change
                bugs.append((match.start(), name, text[: match.start()] + changed + text[match.end() :]))
    return bugs
