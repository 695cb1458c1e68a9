"""All attacks."""

from tests.attacks import cells, exhausting, files, forging, other_labs, outsiders, reaching, reading
from tests.submissions import of_modules

ATTACKS = of_modules(forging, reading, reaching, cells, files, other_labs, outsiders, exhausting)
