"""Every kind of fault that the suite knows, in the order in which seeds go through them."""

from tests.slow.faults.plan import Kind

_LOST = ("TrainingError", "ShardLost", "RuntimeError")

KINDS = [
    Kind("worker killed", "local", 0.5),
    Kind("worker frozen", "local", 3.5),
    Kind("ps killed", "local", 5.0),
    Kind("ps frozen, then wakes", "local", 8.0, stretch=3),
    Kind("two workers killed", "local", 5.0),
    Kind("ps and worker killed", "local", 5.0),
    Kind("checkpoint torn", "local", 5.0, after=0.25),  # there is one before the torn one
    Kind("ps killed twice", "local", 5.0),
    Kind("disk full", "local", 0.5),
    Kind("session interrupted", "local", 0.0, errors=("KeyboardInterrupt",)),
    Kind("worker killed, ps frozen", "local", 8.0),
    Kind("connection cut in mid-message", "local", 5.0),
    Kind("connections cut again and again", "local", 5.0),
    Kind("connections reset", "local", 5.0),
    Kind("one connection stalled", "local", 8.0),
    Kind("workers partitioned from ps", "local", 8.0),
    Kind("connections slow", "local", 0.5),
    Kind("worker killed by hand", "separate", 0.5),
    Kind("worker frozen by hand", "separate", 3.5, stretch=2),
    Kind("ps killed by hand", "separate", 5.0),
    Kind("ps frozen by hand, wakes", "separate", 8.0, stretch=3),
    Kind("scheduler killed", "separate", 10.0, errors=_LOST, stretch=3),
    Kind("scheduler frozen", "separate", 10.0, errors=_LOST, stretch=3),
    Kind("session killed", "driven", 0.0),
    Kind("session frozen", "driven", 10.0, errors=_LOST, stretch=2),
    Kind("clock jumps", "driven", 0.5, stretch=4),
    Kind("cable pulled for a while", "hosts", 8.0, errors=_LOST, stretch=2),
    Kind("cable pulled for good", "hosts", 8.0, errors=_LOST, stretch=2),
    Kind("cable slow and lossy", "hosts", 3.0),
    Kind("duplicate task", "separate", 0.5, stretch=4),
    Kind("port taken", "separate", 0.5, stretch=4),
    Kind("classic: chief killed", "classic", 5.0),
    Kind("classic: chief frozen", "classic", 5.0),
    Kind("classic: chief started again", "classic", 5.0),
    Kind("classic: worker killed", "classic", 0.5),
    Kind("classic: worker frozen", "classic", 3.5),
    Kind("classic: worker started again", "classic", 0.5),
    Kind("classic: ps killed", "classic", 0.0),
    Kind("classic: ps frozen", "classic", 10.0),
    Kind("classic: ps started again", "classic", 0.0),
    Kind("hook raises", "local", 0.0, errors=("ZeroDivisionError",)),
]
