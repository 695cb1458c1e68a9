"""`python -m benchmarks [NAME …]`: run the benchmark files (each has `rows()`), print figures, ratios and limits."""

import importlib
import os
import platform
import sys
from pathlib import Path


def main(names):
    """Run the named benchmarks, or all of them, in turn."""
    here = Path(__file__).parent
    every = sorted(p.stem for p in here.glob("*.py") if p.stem not in {"__init__", "__main__", "report"})
    unknown = set(names) - set(every)
    if unknown:
        sys.exit(f"no benchmark called {', '.join(sorted(unknown))}; there are {', '.join(every)}")
    print(f"{platform.platform()}, Python {platform.python_version()}, {os.cpu_count()} cores; medians")
    for name in names or every:
        module = importlib.import_module(f"benchmarks.{name}")
        print(f"\n{name}: {module.__doc__.splitlines()[0]}", flush=True)
        for row in module.rows():
            print(row, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
