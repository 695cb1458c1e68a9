"""How long several rooms may wait for the same thing, in seconds, and the order that all limits must keep.

A limit stands in the file that waits, with its reason above it; here are those that several rooms share. Where one wait
surrounds another, the outer one is longer; where two sides watch each other, the side that knows more notices first:
`ORDER` states that, and `tests/course/test_deadlines.py` compares it with the numbers. None of the limits decides how
fast a healthy cluster is. After such a time something counts as broken, or is looked at again.
"""

#: Without an answer for so long, a task counts its scheduler as lost, and a client does: a scheduler that reads a large
#: graph is silent for some seconds, and its loss costs more than a task's.
SCHEDULER_SILENCE = 8.0
#: Between two questions of a client to its scheduler.
CLIENT_ASKS_EVERY = 1.0
#: For a host to accept a connection, and for a TLS handshake: first packets that are sent again included.
HOST_ANSWER = 4.0
#: For one look whether a scheduler can be reached, its steps together.
REACH = 10.0
#: For the scheduler to answer a handshake.
HANDSHAKE_ANSWER = 4.0
#: Between two attempts to reach a scheduler, or to be let in.
JOIN_AGAIN_EVERY = 0.2
#: `connect` waits so long for the scheduler and for all tasks of the spec, unless told otherwise.
CONNECT = 30.0
#: A task started by hand waits so long for its scheduler, unless told otherwise: a person types slowly.
TASK_WAITS = 60.0
#: For a task that is told to stop.
TASK_LEAVES = 10.0
#: For a task to join, once its process is started.
TASK_JOINS = 60.0
#: Between two looks at something that is about to happen, such as a process that was just killed: as good as at once.
SOON_EVERY = 0.005
#: For a client to say goodbye to its scheduler.
CLIENT_CLOSES = 2.0
#: All that a client leaves when it is killed is gone after so long.
NOTHING_LEFT = 20.0

#: Each line is a chain of comparisons between names of limits, wherever they stand.
ORDER = {
    "HEARTBEAT_EVERY < TASK_HEARD_LATELY < TASK_SILENCE": "a live task is heard lately, even if a heartbeat is lost",
    "4 * HEARTBEAT_EVERY < TASK_SILENCE": "several heartbeats in a row must be missing before a task is counted out",
    "SCHEDULER_LOOKS_EVERY < HEARTBEAT_EVERY": "the scheduler looks more often than tasks speak: it adds little",
    "TASK_SILENCE + SCHEDULER_LOOKS_EVERY < LEASE_LASTS": "a frozen task is counted out before its lease is another's",
    "TASK_FROZEN + SUPERVISOR_LOOKS_EVERY < LEASE_LASTS": "and replaced before, where its supervisor sees it frozen",
    "LEASE_LASTS < SCHEDULER_SILENCE": "who loses its scheduler has lost its leases before it does anything about it",
    "TASK_SILENCE + SCHEDULER_LOOKS_EVERY < SCHEDULER_SILENCE": "a task is out before it gives up its scheduler",
    "SCHEDULER_SILENCE + CLIENT_ASKS_EVERY + LOST_CLIENT_CLOSES <= SCHEDULER_LOSS_NOTICED": (
        "a client's last question, and its goodbye, belong to the time in which it notices"
    ),
    "LEASE_ASKED_EVERY + LEASE_ANSWER < LEASE_LASTS": "a holder whose last question is answered late still holds it",
    "2 * LEASE_ASKED_EVERY <= LEASE_CANDIDATE_LIVES": "a live candidate stays one when one of its questions is late",
    "LEASE_SETTLES < LEASE_CANDIDATE_LIVES < LEASE_LASTS": "candidates come before a lease is given, and go in time",
    "2 * LOOP_PAUSES < SCHEDULER_LOOKS_EVERY": "a loop that pauses, for want of files, still hears its heartbeats",
    "PLAIN_GREETING < HOST_ANSWER < REACH": "a step of a look ends within its whole",
    "WAITING_IS_SAID < HOST_ANSWER <= HANDSHAKE_ANSWER < REACH < CONNECT < TASK_WAITS": (
        "a line for the reader comes first, then a reason, and only then the patience ends"
    ),
    "TASK_SILENCE + SCHEDULER_LOOKS_EVERY < CONNECT": "a dead task is out before the task in its place gives up",
    "SCHEDULER_SILENCE < PINNED_WORK_WAITS < DEVICES_ANSWER": "the scheduler knows more: it speaks before the client",
    "PINNED_WORK_WAITS < TASK_WAITS": "a task goes on trying to join when the work that waited for it has failed",
    "WORKER_CLOSES + CLIENT_CLOSES < TASK_LEAVES": "a task leaves properly within the time that it gets to leave",
    "TAPE_FLUSHED_EVERY < TAPE_ENDS < SCHEDULER_SILENCE < TAPE_STARTS": "a tape comes before its scheduler is lost",
    "OWNER_LOOK_EVERY < FORK_SERVER_ENDS": "the fork server sees that its owner is gone before it is killed",
    "SCHEDULER_FOUND < TASK_JOINS": "a task says itself why it cannot join, before its supervisor gives it up",
    "SOON_EVERY < SUPERVISOR_LOOKS_EVERY < TASK_FROZEN": "who looks, looks often enough to see it",
    "5 * RANKS_CONNECT <= RANKS_CONNECTED < RANKS_MEET": "ranks with a dead neighbour are free for the next run",
    "RANKS_SAY_WHY < RANK_SILENCE < RANKS_MEET < RANKS_END": "a silent rank is named by its neighbours before all end",
    "CHECKED_ANSWER_WORKS < CHECKED_ANSWER_WAITS < CHECK": "a hanging input is named before the check is too slow",
    "5 * WIRE_HEARTBEAT_EVERY < WIRE_SILENCE": "several heartbeats in a row are missing before an end counts as gone",
    "LISTENER_LOOKS_EVERY < WIRE_HEARTBEAT_EVERY": "a shard that closes does so between two heartbeats",
    "WIRE_SILENCE < SHARD_HANDSHAKE": "who calls a shard gives up before the shard cuts the handshake off",
    "WORKER_RECONNECTS_EVERY < WORKER_RECONNECTS_REFUSED < WIRE_SILENCE < WORKER_RECONNECTS": (
        "a worker that was cut off tries until its shard has counted its old connections out, and then comes in"
    ),
    "WORKERS_REJOIN < WORKER_RECONNECTS < NO_WORKER_LEFT < ALL_WORKERS_JOIN": (
        "a worker that can come back has come before the training ends for want of workers"
    ),
    "WORKER_RECONNECTS_REFUSED + LOOP_SENT_AGAIN <= WORKERS_REJOIN": "workers have loops before the next ps counts",
    "EACH_WORKER_JOINS < WORKERS_REJOIN": "a worker that comes back is not waited for as one of many that start",
    "ALL_WORKERS_JOIN < SHARD_OPENS": "a shard says which worker is missing before its own opening counts as failed",
    "DRIVER_POLLS_EVERY < END_AWAITED < FOLLOWERS_POLLED_EVERY < WIRE_HEARTBEAT_EVERY": (
        "the driver sees the loss of any shard before the shards' heartbeats would be missed"
    ),
    "END_AWAITED < LOOP_SENT_AGAIN": "a loop that ended with its training is not sent again",
    "WIRE_SILENCE < CUT_COMES < DRIVER_SILENCE": "a driver may be silent for longer than a worker, snapshot included",
    "WIRE_STOOD_STILL < WIRE_SILENCE": "who stood still for as long as its own patience knows that it did",
    "PS_ANSWER < FAR_PS_ANSWER < LOST_PS_SUCCESSOR < ANY_PS_COMES": "a live ps answers before another takes its part",
    "CHIEF_ASKS_EVERY <= LEASE_ASKED_EVERY": "a chief asks for its lease as often as a lease wants",
    "LEASE_LASTS + LEASE_SETTLES + ROLE_LOOKS_EVERY < CHIEF_SUCCESSOR": "shards wait until there is a next chief",
    "WORKER_RECONNECTS < CHIEF_SUCCESSOR": "shards outlast their workers' attempts while they wait for a chief",
    "ROLE_LOOKS_EVERY < END_HEARD < LAST_NOTICE_READ": "every role reads the last notice while the scheduler is there",
    "ROLE_LOOKS_EVERY < NEWS_ASKED_EVERY < ROLE_LISTS_TASKS_EVERY": "the costlier a question, the rarer it is asked",
    "BOARD_ANSWER < LEASE_LASTS < BOARD_SILENCE < SCHEDULER_SILENCE": "a chief's lease ends before its role gives up",
    "ROLE_LEAVES < WIRE_SILENCE": "a role that was told to end is gone before the others count it as silent",
    "PINNED_WORK_WAITS <= TRIAL_WORKER_COMES < TRIAL_SILENCE": "work moves to another task before it counts as hung",
    "TUNING_LOOKS_EVERY < TUNING_STOOD_STILL < TRIAL_STOPPED < TRIAL_STOPS": "trials end by themselves first",
    "WIRE_SILENCE < GRADIENT_ENDS": "a role that ends has seen that its shards are gone, if they are",
    "CARETAKER_LOOKS_EVERY + CARETAKER_ENDS + SLURM_ANSWERS < NOTHING_LEFT": "jobs are cancelled even by a slow Slurm",
    "SCHEDULER_SILENCE + DEPLOYED_TASK_TRIES + WORKER_CLOSES < NOTHING_LEFT": "a task without a client ends by itself",
    "DEPLOYED_TASK_TRIES < SLOW_JOIN_IS_TOLD < TASK_JOINS": "a task says what is wrong before it counts as slow",
    "FOLLOWERS_POLLED_EVERY < TASK_HANDS_OVER < NOTHING_LEFT": "a driver hears that a task ends, and keeps no job",
    "CARETAKER_ENDS_EVERY < CARETAKER_ENDS": "what came into the queue late is cancelled too",
    "TASK_SILENCE < DEPLOYED_TASK_REJOINS <= DEPLOYED_TASK_TRIES": "a cut-off task comes back, or ends by itself",
    "CLOUD_ANSWERS < CLOUD_CLUSTER_ENDS": "who doesn't answer is told before the cluster counts as one that won't end",
    "CLOUD_ANSWERS < MACHINE_CREATED < MACHINE_STARTS": "a machine is there before its scheduler is waited for",
    "MACHINE_LOOKS_EVERY < MACHINE_LOST < MACHINE_STARTS": "a machine looks several times before it gives up",
    "MACHINES_END_EVERY < MACHINES_END": "what is left of a cloud's cluster is looked at again and again",
    "CLOUD_CLUSTER_ENDS < MACHINES_END < LEFTOVER_ENDS": "what won't end is named before whoever ends it is ended",
    "max(SLURM_ANSWERS, SSH_ANSWERS, CLOUD_ANSWERS, SLOW_JOIN_IS_TOLD) < 10": "the cause is told in ten seconds",
    "SLURM_ANSWERS < DEPLOYED_TASKS_END": "jobs that are cancelled are looked at again when they may be gone",
    "PAD_ANSWER < PAD_PATIENCE": "a server that hangs is said to, before the page gives the kernel up",
    "EXHIBIT_PATIENCE < PAD_PATIENCE": "other exhibits' kernels answer at once, or say at once that they are at work",
}
