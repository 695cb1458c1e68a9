"""Are two pictures of an exhibit loosely the same? Other fonts and edges may differ; a lost legend or a wrong colour not.

Both are shrunk to forty columns of cells. Another font breaks lines elsewhere and pushes down what follows: rows are first
put beside the rows that they resemble most, in their order. Text is grey, so that cells are compared twice: by hue, which
tells of the drawing, where they differ most; by brightness, which a font changes a little everywhere, on average.
"""

import io

import numpy
from PIL import Image

COLUMNS = 40
#: Bounds of `differences`: other fonts stay below them, what is planted in test_gallery.py above. Of 255; a ratio.
HUE, BRIGHTNESS, HEIGHT = 42.0, 7.0, 1.15
_SKIP = 1.0  # what it costs to put a row beside one that another stands beside already


def alike(old, new):
    """Tell whether the picture `new` shows what `old` shows; both are files of images, as bytes."""
    hue, brightness, height = differences(old, new)
    return hue < HUE and brightness < BRIGHTNESS and height < HEIGHT


def differences(old, new):
    """Return by what two pictures differ: hue and brightness, 0 to 255, and the ratio of their heights, 1 or more.

    Of the hues it is the mean of the five cells that differ most, of the brightness the mean of all.
    """
    before, after = _cells(old), _cells(new)
    hue, brightness = _between(_hues(before), _hues(after)), _between(_brightness(before), _brightness(after))
    path = _beside((hue + brightness).mean(-1))
    found = []
    for kind in (hue, brightness):
        least = [numpy.full((len(one), COLUMNS), numpy.inf) for one in (before, after)]
        for row, other in path:
            least[0][row] = numpy.minimum(least[0][row], kind[row, other])
            least[1][other] = numpy.minimum(least[1][other], kind[row, other])
        found.append(numpy.sort(numpy.concatenate(least), axis=None))
    rows = sorted((len(before), len(after)))
    return float(found[0][-5:].mean()), float(found[1].mean()), rows[1] / rows[0]


def _cells(picture):
    """Return a picture as float array (rows, 40, 3), 0 to 255."""
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    rows = max(1, round(image.height * COLUMNS / image.width))
    return numpy.asarray(image.resize((COLUMNS, rows), Image.Resampling.BOX), dtype=float)


def _hues(cells):
    return numpy.stack([cells[..., 0] - cells[..., 1], cells[..., 1] - cells[..., 2]], -1)


def _brightness(cells):
    return cells.mean(-1, keepdims=True)


def _between(one, other):
    """Return how far each cell of each row is from those at its column and beside it in each row of the other picture."""
    padded = numpy.pad(other, ((0, 0), (1, 1), (0, 0)), mode="edge")
    return numpy.min(
        [abs(one[:, None] - padded[None, :, shift : shift + COLUMNS]).max(-1) for shift in range(3)], axis=0
    )


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
