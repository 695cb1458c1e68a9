"""All honest work."""

from tests.honest import saving, writing
from tests.submissions import of_modules

HONEST = of_modules(writing, saving)
