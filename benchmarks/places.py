"""Where things are: the folder of a benchmark's files, the programs built for it, the peers' environment."""

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import limit, peers_environment
from benchmarks.contest import Contestant
from benchmarks.process import ContestantFailed

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Places:
    """`folder`: what a benchmark writes. `peers`: why each package of the peers' environment is missing, or ""."""

    folder: Path = ROOT / "build" / "bench"
    peers: dict[str, str] = field(default_factory=peers_environment.found)

    def command(self, contestant: Contestant) -> list[str]:
        """Return the command of a contestant's process; raises ContestantFailed where it can't be had."""
        if ":" not in contestant.work:
            program = limit.built(contestant.work, self.folder / "limits", contestant.vectors)
            return [str(program), *(str(value) for value in contestant.arguments.values())]
        python = sys.executable
        if contestant.needs:
            reason = self.peers.get(contestant.needs, "make bench PEERS=1 installs it")
            if reason:
                raise ContestantFailed(f"not installed: {reason}")
            python = str(peers_environment.PYTHON)
        return [python, "-m", "benchmarks.contestant", contestant.work, json.dumps(contestant.arguments)]
