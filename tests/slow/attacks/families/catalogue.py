"""All attacks."""

from tests.helpers.submissions import of_modules
from tests.slow.attacks.families import (
    cells,
    contests,
    exhausting,
    forging,
    other_labs,
    outsiders,
    racing,
    reaching,
    reading,
)

ATTACKS = of_modules(contests, forging, reading, reaching, cells, other_labs, outsiders, racing, exhausting)
