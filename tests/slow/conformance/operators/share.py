"""One process's share of the ops: it prints a line of JSON at each op, and for each verdict."""

import json
import sys
from contextlib import ExitStack
from dataclasses import asdict

import torch


def main(text: str) -> None:
    """Walk every `parts`-th op of the database, from the `part`-th on, as `text`, a `Walk` in JSON, asks."""
    request = json.loads(text)
    torch.set_num_threads(1)
    from torch.testing._internal.common_methods_invocations import op_db

    import simgpu
    from tests.slow.conformance.operators.walk import examine

    ops = op_db[request["part"] :: request["parts"]]
    with ExitStack() as stack:
        if not torch.cuda.is_available():
            stack.enter_context(simgpu.simulated_gpus(1))
        for number, op in enumerate(ops[request["first"] :], request["first"]):
            print(json.dumps({"at": number, "name": op.formatted_name}), flush=True)
            for way in request["ways"]:
                for dtype in request["dtypes"]:
                    most = request["most"] if dtype == "float32" else max(1, request["most"] // 3)
                    verdict = examine(op, way, dtype, most, request["device"])
                    if verdict is not None:
                        print(json.dumps(asdict(verdict)), flush=True)
        print(json.dumps({"done": True}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
