"""Are two pictures of an exhibit loosely the same? Fonts and edges may differ; a lost legend, a wrong colour may not.

Both are shrunk to forty columns of cells. Another font breaks lines elsewhere and pushes down what follows: rows are
first put beside those that they resemble most, in their order. Text is grey, so that cells are compared twice: by the
strongest hue in each, which tells of the drawing and of thin lines, too, where they differ most; by brightness, which a
font changes a little everywhere, on average.
"""

import io

import numpy
from PIL import Image

COLUMNS = 40
REACH = 3  # columns by which a key's colour moves where the words before it are longer
#: Bounds of `differences`, of 255 and a ratio: other fonts stay below, what test_gallery.py plants is above. On a phone
#: another font breaks most lines elsewhere, and keys with them.
HUE, ON_A_PHONE, BRIGHTNESS, HEIGHT = 56.0, 125.0, 7.0, 1.15
_FINE = 5  # parts of a cell's side: a few pixels, so that the coloured edges of letters are grey again
_MOST = 24
_SKIP = 1.0  # what it costs to put a row beside one that another stands beside already


def alike(old, new, narrow=False):
    """Tell whether the picture `new` shows what `old` shows; both are images' bytes. `narrow`: of a phone."""
    hue, brightness, height = differences(old, new)
    return hue < (ON_A_PHONE if narrow else HUE) and brightness < BRIGHTNESS and height < HEIGHT


def differences(old, new):
    """Return by what two pictures differ: hue and brightness, 0 to 255, and the ratio of their heights, 1 or more.

    Of the hues it is the mean of the 24 cells that differ most, of the brightness the mean of all.
    """
    before, after = _cells(old), _cells(new)
    hue, brightness = (_between(one, other) for one, other in zip(before, after, strict=True))
    path = _beside((hue + brightness).mean(-1))
    found = []
    for kind in (hue, brightness):
        least = [numpy.full(one.shape[:2], numpy.inf) for one, _ in (before, after)]
        for row, other in path:
            least[0][row] = numpy.minimum(least[0][row], kind[row, other])
            least[1][other] = numpy.minimum(least[1][other], kind[row, other])
        found.append(numpy.sort(numpy.concatenate(least), axis=None))
    rows = sorted((len(before[0]), len(after[0])))
    return float(found[0][-_MOST:].mean()), float(found[1].mean()), rows[1] / rows[0]


def _cells(picture):
    """Return a picture's hues, float array (rows, 40, 2), -255 to 255, and its brightness, (rows, 40, 1), 0 to 255."""
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    rows = max(1, round(image.height * COLUMNS / image.width))
    fine = numpy.asarray(image.resize((_FINE * COLUMNS, _FINE * rows), Image.Resampling.BOX), dtype=float)
    fine = fine.reshape(rows, _FINE, COLUMNS, _FINE, 3).swapaxes(1, 2).reshape(rows, COLUMNS, _FINE**2, 3)
    hues = fine[..., :2] - fine[..., 1:]
    strongest = abs(hues).argmax(axis=2)[:, :, None]
    return numpy.take_along_axis(hues, strongest, axis=2)[:, :, 0], fine.mean((2, 3))[..., None]


def _between(one, other):
    """Return how far each cell of a row is from the nearest of those around its column, in each row of the other."""
    padded = numpy.pad(other, ((0, 0), (REACH, REACH), (0, 0)), mode="edge")
    shifted = (padded[None, :, shift : shift + COLUMNS] for shift in range(2 * REACH + 1))
    return numpy.min([abs(one[:, None] - there).max(-1) for there in shifted], axis=0)


def _beside(cost):
    """Return the pairs of rows, from the first two to the last two, that cost least together; none is left out."""
    rows, others = cost.shape
    total = numpy.full((rows + 1, others + 1), numpy.inf)
    total[0, 0] = 0
    for row in range(rows):
        for other in range(others):
            before = min(total[row, other], total[row, other + 1] + _SKIP, total[row + 1, other] + _SKIP)
            total[row + 1, other + 1] = cost[row, other] + before
    path, (row, other) = [], (rows, others)
    while row and other:
        path.append((row - 1, other - 1))
        steps = {(row - 1, other - 1): 0, (row - 1, other): _SKIP, (row, other - 1): _SKIP}
        row, other = min(steps, key=lambda step: total[step] + steps[step])
    return path
