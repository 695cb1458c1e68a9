"""`python -m course.deploy.clouds KIND LEFTOVER`: end a cluster whose client is gone; the ledger has these lines."""

import asyncio
import json
import sys

from course.deploy.clouds.cloud_runtime import LEFTOVER_ENDS
from course.deploy.clouds.kinds import CLOUDS
from course.deploy.launcher import DeployError


def main(kind: str, leftover: str) -> int:
    """End what `leftover`, JSON, names on the system `kind`; return 0, or 1 once it has said why it can't."""
    try:
        asyncio.run(asyncio.wait_for(CLOUDS[kind].end(json.loads(leftover)), LEFTOVER_ENDS))
    except (DeployError, ImportError, OSError, TimeoutError) as error:
        print(error or f"it has not ended for {LEFTOVER_ENDS:.0f} s", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
