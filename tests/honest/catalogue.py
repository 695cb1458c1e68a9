"""All honest work."""

from tests.honest import other_labs, saving, writing
from tests.submissions import of_modules

HONEST = of_modules(writing, saving, other_labs)
