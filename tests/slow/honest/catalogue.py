"""All honest work."""

from tests.helpers.submissions import of_modules
from tests.slow.honest import other_labs, outsiders, saving, writing

HONEST = of_modules(writing, saving, outsiders, other_labs)
