"""Every kind of fault that the suite knows, in the order in which seeds go through them."""

from tests.faults.plan import Kind

ASYNC = ("async",)

KINDS = [
    Kind("worker killed", "local", 0.5),
    Kind("worker frozen", "local", 3.5),
    Kind("ps killed", "local", 5.0),
    Kind("ps frozen, then wakes", "local", 8.0),
    Kind("two workers killed", "local", 5.0),
    Kind("ps and worker killed", "local", 5.0),
    Kind("checkpoint torn", "local", 5.0),
    Kind("ps killed twice", "local", 5.0),
    Kind("disk full", "local", 0.5),
    Kind("session interrupted", "local", 0.0, errors=("KeyboardInterrupt",)),
    Kind("worker killed, ps frozen", "local", 8.0),
    Kind("connection cut in mid-message", "local", 0.5),
    Kind("connections cut again and again", "local", 0.5),
    Kind("connections reset", "local", 0.5),
    Kind("one connection stalled", "local", 3.5),
    Kind("workers partitioned from ps", "local", 8.0),
    Kind("connections slow", "local", 0.5),
    Kind("hook raises", "local", 0.0, errors=("ZeroDivisionError",)),
]
