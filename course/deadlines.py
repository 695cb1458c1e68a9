"""How long anything may wait: every limit in seconds, why it is as long as it is, and the order that they must keep.

Where one wait surrounds another, the outer one is longer; where two sides watch each other, the side that knows more
notices first. `ORDER` says so in one line each, and `tests/course/test_deadlines.py` holds the numbers to it. None of
them decides how fast a healthy cluster is: they are the times after which something counts as broken, and the pauses
between two looks for it.
"""

# --- a task started by hand and its scheduler: heartbeats (course/cluster/multihost/) --------------------------------

#: Between two heartbeats of a task; a packet lost and sent again (0.2 s and more) costs no heartbeat.
HEARTBEAT_EVERY = 0.5
#: A task heard this lately is alive: another process that wants its name is refused, not asked to wait.
TASK_HEARD_LATELY = 1.5
#: Without a heartbeat for so long, the scheduler counts a task out: four are missing, and a garbage collection is over.
TASK_SILENCE = 2.5
#: Between two looks of the scheduler at its tasks. Four times as late, it stood still itself, and blames none.
SCHEDULER_LOOKS_EVERY = 0.25
#: Without an answer for so long, a task counts its scheduler as lost, and a client does: a scheduler that reads a large
#: graph is silent for some seconds, and its loss costs more than a task's.
SCHEDULER_SILENCE = 8.0
#: Between two questions of a client to its scheduler.
CLIENT_ASKS_EVERY = 1.0
#: A client whose own wait ended so much later than asked for was frozen itself, and knows nothing about the scheduler.
CLIENT_STOOD_STILL = 1.0
#: For a client whose scheduler is lost to close: its goodbye has no answer.
LOST_CLIENT_CLOSES = 1.0
#: A lost scheduler is noticed by a client in so long, all in all.
SCHEDULER_LOSS_NOTICED = 10.0

# --- a lease, of which there is one holder at a time (course/cluster/lease.py) -----------------------------

#: A lease holds so long after it was last renewed, at most: a scheduler that starts anew gives nothing away for as
#: long, because a lease that its predecessor gave may still hold.
LEASE_LASTS = 3.0
#: A candidate must ask at least so often.
LEASE_ASKED_EVERY = 0.5
#: A candidate that asked so lately is live, and may win a free lease.
LEASE_CANDIDATE_LIVES = 1.0
#: From the first question on, a candidate of a lower index may still turn up and win.
LEASE_SETTLES = 0.5
#: For the scheduler to answer one question about a lease; slower than this, the answer would come too late to act on.
LEASE_ANSWER = 2.0

# --- joining (course/cluster/multihost/) -----------------------------------------------------------------------------

#: For a host to accept a connection, and for a TLS handshake: first packets that are sent again included.
HOST_ANSWER = 4.0
#: For Dask's first bytes on a connection without TLS, which both ends write at once.
PLAIN_GREETING = 1.5
#: For one look whether a scheduler can be reached, its steps together.
REACH = 10.0
#: For the scheduler to answer a handshake.
HANDSHAKE_ANSWER = 4.0
#: Between two attempts to reach a scheduler, or to be let in.
JOIN_AGAIN_EVERY = 0.2
#: A task says that it waits for its scheduler when it has waited so long: tasks started together need a second or two.
WAITING_IS_SAID = 3.0
#: `connect` waits so long for the scheduler and for all tasks of the spec, unless told otherwise.
CONNECT = 30.0
#: A task started by hand waits so long for its scheduler, unless told otherwise: a person types slowly.
TASK_WAITS = 60.0
#: Work that is pinned to a task waits so long for it to come back.
PINNED_WORK_WAITS = 30.0
#: What is refused is told again of the same host only after so long: a refused task tries again and again.
REFUSAL_IS_REPEATED = 10.0
#: A process that has no file left for a connection pauses so long before it tries again, all that it does with it.
LOOP_PAUSES = 0.05
#: For a task that is told to stop.
TASK_LEAVES = 10.0

# --- a cluster on this machine (course/cluster/local_runtime/) -------------------------------------------------------

#: For the fork server, or a fresh Python, to import torch from a slow disk and answer.
FORK_SERVER_ANSWER = 60.0
#: For the fork server to end when its owner closes it; after that it is killed.
FORK_SERVER_ENDS = 5.0
#: Between two looks of the fork server whether its owner still lives.
OWNER_LOOK_EVERY = 1.0
#: For a task to find its scheduler, once its process runs.
SCHEDULER_FOUND = 30.0
#: For a task to join, once its process is started.
TASK_JOINS = 60.0
#: Between two looks of the supervisor at the tasks' processes.
SUPERVISOR_LOOKS_EVERY = 0.1
#: Between two looks at something that is about to happen, such as a process that was just killed: as good as at once.
SOON_EVERY = 0.005
#: A task that is stopped (SIGSTOP) for so long counts as dead, as one of several hosts does that is silent.
TASK_FROZEN = 2.5
#: For the kernel to end a process that was killed: a machine that swaps is slow.
KILLED_PROCESS_ENDS = 10.0
#: For an event loop's thread to start, and to end.
LOOP_THREAD = 10.0

# --- work on a task (course/cluster/task/, course/cluster/cluster.py) ------------------------------------------------

#: For a task's Dask worker to close; a function that still runs is not waited for.
WORKER_CLOSES = 2.0
#: For a client to say goodbye to its scheduler.
CLIENT_CLOSES = 2.0
#: For every task to say which devices it has: it may be busy, and a task does one thing at a time.
DEVICES_ANSWER = 35.0
#: `executor.map` sends together what a list, a range, … gave in so long.
CALLS_SENT_EVERY = 0.05
#: … and fetches so often what has ended, unless all has.
RESULTS_FETCHED_EVERY = 0.05
#: For `nvidia-smi` to count GPUs.
GPUS_COUNTED = 10.0

# --- ranks and parts (course/replicas/, course/mapreduce/) -----------------------------------------------------------

#: For all ranks to find each other: a busy laptop, not a hang.
RANKS_MEET = 30.0
#: For gloo to connect one rank to another, once; it tries five times.
RANKS_CONNECT = 5.0
#: For all ranks to be connected: gloo's five tries.
RANKS_CONNECTED = 25.0
#: For a rank to wait for another one in a reduction, unless told otherwise.
RANK_SILENCE = 10.0
#: For the other ranks to say what they saw, once one has failed.
RANKS_SAY_WHY = 1.0
#: For all ranks together, unless told otherwise.
RANKS_END = 300.0
#: `map_reduce` waits so long for a part to end after another one, unless told otherwise.
PART_ENDS = 600.0

# --- an exercise (course/checks/) ------------------------------------------------------------------------------------

#: An answer to one input of `check` may work so long, in the processor's time: right ones take milliseconds, and the
#: first may import a library.
CHECKED_ANSWER_WORKS = 10.0
#: … and so long on the clock: a busy machine lets it wait.
CHECKED_ANSWER_WAITS = 60.0
#: For all inputs of one `check` together; after that no other begins.
CHECK = 120.0

# --- a training's connections, its workers and shards (course/training/transport/, worker/, server/) ------------------

#: Whoever has nothing to send on a connection of a training sends a heartbeat this often.
WIRE_HEARTBEAT_EVERY = 0.5
#: Without a byte for so long, the other end of a connection counts as gone: five heartbeats in a row are missing.
WIRE_SILENCE = 3.0
#: A wait that ended so much later than it was to was this process's own standstill: a laptop slept, the process was
#: stopped. What the other end did meanwhile is not known, so it gets the whole time again.
WIRE_STOOD_STILL = 1.0
#: For TLS and the handshake of a connection to a shard together, however slowly the bytes come.
SHARD_HANDSHAKE = 5.0
#: Between two looks of a shard's listener whether it is closed, or a driver is overdue; its pause where the system has
#: no file or thread for another connection.
LISTENER_LOOKS_EVERY = 0.2
#: A worker whose connections broke tries again for so long: longer than a shard needs to count the old ones out.
WORKER_RECONNECTS = 6.0
#: … where the connection is refused: no process listens there any more, and another shard is on its way.
WORKER_RECONNECTS_REFUSED = 1.0
#: Between two such attempts.
WORKER_RECONNECTS_EVERY = 0.1
#: For all workers to join at the start: their tasks import torch.
ALL_WORKERS_JOIN = 30.0
#: … and so much longer for each of them: a process imports for 0.3 s of a core, and cores may be few and busy.
EACH_WORKER_JOINS = 1.0
#: … after a shard was lost: the workers that are there by then go on.
WORKERS_REJOIN = 2.0
#: A training without any live worker ends after so long.
NO_WORKER_LEFT = 10.0
#: For the driver to come to a shard that has just opened.
DRIVER_COMES = 30.0
#: Without a heartbeat of a driver for so long, a shard ends: a debugger may stop all of its threads, a job control the
#: whole process; one that ends closes its connections, which is noticed at once.
DRIVER_SILENCE = 600.0
#: For the log to bring a follower to the place of a snapshot: updates of a large model may come before it.
CUT_COMES = 60.0
#: For a process that ends to finish the optimiser's steps it is in.
STEPS_END_AT_EXIT = 3.0

# --- a training: the driver (course/training/driver/) ---------------------------------------------------------------

#: For a ps task to open its shard: a first optimiser imports a lot, and laptops are busy.
SHARD_OPENS = 60.0
#: Between two polls of shard 0 by the driver.
DRIVER_POLLS_EVERY = 0.02
#: Between two polls of the other shards.
FOLLOWERS_POLLED_EVERY = 0.25
#: For a ps task to say that it is there; its event loop does nothing else.
PS_ANSWER = 0.7
#: The successor of a lost ps task is waited for so long, while others could take its part.
LOST_PS_SUCCESSOR = 2.0
#: … and so long when no ps task is left at all.
ANY_PS_COMES = 30.0
#: A worker's loop that ended while training goes on is sent again after so long: training may just have ended.
LOOP_SENT_AGAIN = 1.0

# --- a training whose roles are started by hand (course/training/multihost/) -----------------------------------------

#: Between two questions of a candidate for the chief's lease, or of the chief.
CHIEF_ASKS_EVERY = 0.3
#: Shards whose chief is lost wait so long for the next one.
CHIEF_SUCCESSOR = 10.0
#: Between two looks of a role at the status board.
ROLE_LOOKS_EVERY = 0.3
#: Between two questions of a role for what the chief has told all readers: a line of progress comes every 2 s.
NEWS_ASKED_EVERY = 1.0
#: Between two questions of a ps role to the scheduler about which tasks there are; they cost it more.
ROLE_LISTS_TASKS_EVERY = 2.0
#: For the scheduler to answer one question about the status board.
BOARD_ANSWER = 2.0
#: Without an answer about the status board for so long, a role says that its scheduler is lost, and ends.
BOARD_SILENCE = 7.0
#: For the workers' loops to hear from their shards that training has ended, before the chief closes these.
END_HEARD = 1.0
#: The scheduler's process stays for so long at the end, for the others to read the last notice.
LAST_NOTICE_READ = 5.0
#: Between two starts of a role's worker loop for the same shards.
WORKER_LOOP_AGAIN = 0.5
#: A role that gets SIGTERM is gone after so long, whatever it was in the middle of: checkpoints are whole or not there.
ROLE_LEAVES = 2.5
#: For a role that ends to finish the gradient it is in, or to give up shards that are gone.
GRADIENT_ENDS = 5.0


#: What must hold between these, each line a chain of comparisons, and why.
ORDER = {
    "HEARTBEAT_EVERY < TASK_HEARD_LATELY < TASK_SILENCE": (
        "a live task has been heard lately, with one heartbeat lost too; one that has not waits to be counted out"
    ),
    "4 * HEARTBEAT_EVERY < TASK_SILENCE": "several heartbeats in a row must be missing before a task is counted out",
    "SCHEDULER_LOOKS_EVERY < HEARTBEAT_EVERY": "the scheduler looks more often than tasks speak: it adds little",
    "TASK_SILENCE + SCHEDULER_LOOKS_EVERY < LEASE_LASTS": "a frozen task is counted out before its lease is another's",
    "TASK_FROZEN + SUPERVISOR_LOOKS_EVERY < LEASE_LASTS": "and replaced before, where its supervisor sees it frozen",
    "LEASE_LASTS < SCHEDULER_SILENCE": "who loses its scheduler has lost its leases before it does anything about it",
    "TASK_SILENCE + SCHEDULER_LOOKS_EVERY < SCHEDULER_SILENCE": (
        "a task that is cut off is counted out by its scheduler before it gives its scheduler up and joins anew"
    ),
    "SCHEDULER_SILENCE + CLIENT_ASKS_EVERY + LOST_CLIENT_CLOSES <= SCHEDULER_LOSS_NOTICED": (
        "a client's last question, and its goodbye, belong to the time in which it notices"
    ),
    "LEASE_ASKED_EVERY + LEASE_ANSWER < LEASE_LASTS": "a holder whose last question is answered late still holds it",
    "2 * LEASE_ASKED_EVERY <= LEASE_CANDIDATE_LIVES": "a live candidate stays one when one of its questions is late",
    "LEASE_SETTLES < LEASE_CANDIDATE_LIVES < LEASE_LASTS": (
        "candidates are known before a free lease is given, and are forgotten before the lease is free again"
    ),
    "2 * LOOP_PAUSES < SCHEDULER_LOOKS_EVERY": "a loop that pauses, for want of files, still hears its heartbeats",
    "PLAIN_GREETING < HOST_ANSWER < REACH": "a step of a look ends within its whole",
    "WAITING_IS_SAID < HOST_ANSWER <= HANDSHAKE_ANSWER < REACH < CONNECT < TASK_WAITS": (
        "a line for the reader comes first, then a reason, and only then the patience ends"
    ),
    "TASK_SILENCE + SCHEDULER_LOOKS_EVERY < CONNECT": (
        "a task that takes the place of a dead one waits until that one is counted out, and then still joins in time"
    ),
    "SCHEDULER_SILENCE < PINNED_WORK_WAITS < DEVICES_ANSWER": (
        "what the scheduler knows (this task is away) comes before the client's own patience, which knows less"
    ),
    "PINNED_WORK_WAITS < TASK_WAITS": "a task goes on trying to join when the work that waited for it has failed",
    "WORKER_CLOSES + CLIENT_CLOSES < TASK_LEAVES": "a task leaves properly within the time that it gets to leave",
    "OWNER_LOOK_EVERY < FORK_SERVER_ENDS": "the fork server sees that its owner is gone before it is killed",
    "SCHEDULER_FOUND < TASK_JOINS": "a task says itself why it cannot join, before its supervisor gives it up",
    "SOON_EVERY < SUPERVISOR_LOOKS_EVERY < TASK_FROZEN": "who looks, looks often enough to see it",
    "5 * RANKS_CONNECT <= RANKS_CONNECTED < RANKS_MEET": (
        "ranks whose neighbour died while they connected are free again before the next run gives them up"
    ),
    "RANKS_SAY_WHY < RANK_SILENCE < RANKS_MEET < RANKS_END": "a silent rank is named by its neighbours before all end",
    "CHECKED_ANSWER_WORKS < CHECKED_ANSWER_WAITS < CHECK": (
        "an input that hangs is told as such before the whole check is too slow"
    ),
    "5 * WIRE_HEARTBEAT_EVERY < WIRE_SILENCE": "several heartbeats in a row are missing before an end counts as gone",
    "LISTENER_LOOKS_EVERY < WIRE_HEARTBEAT_EVERY": "a shard that closes does so between two heartbeats",
    "WIRE_SILENCE < SHARD_HANDSHAKE": "who calls a shard gives up before the shard cuts the handshake off",
    "WORKER_RECONNECTS_EVERY < WORKER_RECONNECTS_REFUSED < WIRE_SILENCE < WORKER_RECONNECTS": (
        "a worker that was cut off tries until its shard has counted its old connections out, and then comes in"
    ),
    "WORKERS_REJOIN < WORKER_RECONNECTS < NO_WORKER_LEFT < ALL_WORKERS_JOIN": (
        "a worker that can come back has come before the training ends for want of workers"
    ),
    "WORKER_RECONNECTS_REFUSED + LOOP_SENT_AGAIN <= WORKERS_REJOIN": (
        "workers that lost a ps have their loops again when the next incarnation counts who is there"
    ),
    "EACH_WORKER_JOINS < WORKERS_REJOIN": "a worker that comes back is not waited for as one of many that start",
    "ALL_WORKERS_JOIN < SHARD_OPENS": "a shard says which worker is missing before its own opening counts as failed",
    "DRIVER_POLLS_EVERY < FOLLOWERS_POLLED_EVERY < WIRE_HEARTBEAT_EVERY": (
        "the driver sees the loss of any shard before the shards' heartbeats would be missed"
    ),
    "DRIVER_POLLS_EVERY < LOOP_SENT_AGAIN": "a loop that ended with its training is not sent again",
    "WIRE_SILENCE < CUT_COMES < DRIVER_SILENCE": (
        "a driver may be stopped for longer than a worker may be silent, and a snapshot may take some of that time"
    ),
    "WIRE_STOOD_STILL < WIRE_SILENCE": "who stood still for as long as its own patience knows that it did",
    "PS_ANSWER < LOST_PS_SUCCESSOR < ANY_PS_COMES": "a ps task that lives has answered before another takes its part",
    "CHIEF_ASKS_EVERY <= LEASE_ASKED_EVERY": "a chief asks for its lease as often as a lease wants",
    "LEASE_LASTS + LEASE_SETTLES + ROLE_LOOKS_EVERY < CHIEF_SUCCESSOR": (
        "the shards of a lost chief wait until its lease has run out and the next chief has seen that it is one"
    ),
    "WORKER_RECONNECTS < CHIEF_SUCCESSOR": "shards outlast their workers' attempts while they wait for a chief",
    "ROLE_LOOKS_EVERY < END_HEARD < LAST_NOTICE_READ": "every role reads the last notice while the scheduler is there",
    "ROLE_LOOKS_EVERY < NEWS_ASKED_EVERY < ROLE_LISTS_TASKS_EVERY": "the costlier a question, the rarer it is asked",
    "BOARD_ANSWER < LEASE_LASTS < BOARD_SILENCE < SCHEDULER_SILENCE": (
        "a chief has lost its lease before its role gives the scheduler up, and says so before its client is closed"
    ),
    "ROLE_LEAVES < WIRE_SILENCE": "a role that was told to end is gone before the others count it as silent",
    "WIRE_SILENCE < GRADIENT_ENDS": "a role that ends has seen that its shards are gone, if they are",
}
