"""A student's text, made fit to be shown: nothing invisible, nothing that turns its direction, no end of it."""

import re
import unicodedata

CELL = 20_000  # characters of one cell

# what can't be seen but changes what is: controls, directions, private use, halves of surrogate pairs
_HIDDEN = ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")
#: Zero-width joiner and non-joiner: letters of Persian and parts of emoji, harmless.
_JOINERS = "\u200c\u200d"
_COLOURS = re.compile("\x1b\\[[0-9;?]{0,20}[@-~]")  # what a terminal takes for colours


def plain(text: str, limit: int = CELL) -> str:
    r"""Return `text` with colours taken out, hidden characters written as `\u202e` and what is over `limit` cut off.

    >>> plain("a\u202eb\tc\x1b[31m")
    'a\\u202eb\tc'
    """
    more = len(text) - limit
    text = _COLOURS.sub("", text[:limit]).replace("\r\n", "\n").replace("\r", "\n")
    return "".join(map(_visible, text)) + (f"\n… ({more:,} characters more)" if more > 0 else "")


def _visible(sign):
    if sign in "\n\t" or sign in _JOINERS or unicodedata.category(sign) not in _HIDDEN:
        return sign
    return sign.encode("unicode_escape").decode()
