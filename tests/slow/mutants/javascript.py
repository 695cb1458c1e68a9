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
    # nobody sees a pixel more in tens of them, but twice as many
    "number": (
        r"(?<![\w.#])\d+(?![\w.%])",
        lambda match: str(int(match[0]) + (int(match[0]) if len(match[0]) > 1 else 1)),
    ),
}
#: Where words begin or end: in code, and in a template.
_IN_CODE = re.compile(r'//[^\n]*|"(?:\\.|[^"\\\n])*"|[`{}]')
_IN_TEMPLATE = re.compile(r"\\.|`|\$\{", re.DOTALL)


def bugs_of(text: str) -> list[tuple[int, str, str]]:
    """Return (place, name, the text with this bug in it) of every bug that `text` can have, in the order of `BUGS`."""
    words, bugs = _words(text), []
    for name, (pattern, change) in BUGS.items():
        for match in re.finditer(pattern, text):
            if match.start() not in words:
                changed = change(match) if callable(change) else change
                bugs.append((match.start(), name, text[: match.start()] + changed + text[match.end() :]))
    return bugs


def _words(text):
    """Return the places in comments, in texts and in templates, but for what these compute in `${…}`."""
    words, opened, at = set(), [], 0
    while match := (_IN_TEMPLATE if opened[-1:] == ["`"] else _IN_CODE).search(text, at):
        token, begin, at = match[0], at, match.end()
        if opened[-1:] == ["`"]:
            words.update(range(begin, at))
        if token == "`" and opened[-1:] == ["`"] or token == "}":
            opened.pop()
        elif token in ("`", "{", "${"):
            opened.append(token)
        elif token[0] in '/"':
            words.update(range(match.start(), at))
    return words
