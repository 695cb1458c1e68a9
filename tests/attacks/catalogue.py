"""All attacks."""

from tests.attacks import forging
from tests.submissions import of_modules

ATTACKS = of_modules(forging)
