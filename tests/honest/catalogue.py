"""All honest work."""

from tests.honest import other_labs, outsiders, saving, writing
from tests.submissions import of_modules

HONEST = of_modules(writing, saving, outsiders, other_labs)
