"""How long anything may wait: every limit in seconds, why it is as long as it is, and the order that they must keep.

Where one wait surrounds another, the outer one is longer; where two sides watch each other, the side that knows more
notices first. `course/deadline_order.py` says so in one line each, and `tests/course/test_deadlines.py` holds the
numbers to it. None of them decides how fast a healthy cluster is: they are the times after which something counts as
broken, and the pauses between two looks for it.
"""

from course.deadlines_of_services import *  # noqa: F403

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
#: Between two looks of a Dask process whether its event loop keeps up. Dask's own 20 ms wake each process 50 times a
#: second, for a message that comes after 3 s: in a scheduler and three tasks, 3 % of two cores.
LOOP_KEEPS_UP_EVERY = 0.5
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
#: For all processes of a cluster to begin to record: some may be busy.
TAPE_STARTS = 10.0
#: … and to end: one that is frozen answers nothing, and what it has not sent by then is left out.
TAPE_ENDS = 6.0
#: Between two times that a task sends on what it has noted for a tape; what it noted since is lost when it is killed.
TAPE_FLUSHED_EVERY = 0.25
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
#: Between two looks of `map_reduce` at how many parts have ended.
PARTS_LOOKED_AT = 0.25

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
#: … that has no hook to tell of steps; shard 0 keeps its answer for so long, or until training has ended.
END_AWAITED = 0.1
#: Between two polls of the other shards.
FOLLOWERS_POLLED_EVERY = 0.25
#: For a ps task to say that it is there; its event loop does nothing else.
PS_ANSWER = 0.7
#: … and for one that is found by a route: TLS, Dask's greeting and the question take six ways, of 0.1 s and more.
FAR_PS_ANSWER = 1.5
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

# --- a cluster on other machines (course/deploy/) --------------------------------------------------------------------

#: For one of Slurm's commands: without slurmctld they try for 9 s and more, and say nothing meanwhile.
SLURM_ANSWERS = 8.0
#: For a host to let us in by SSH, its key and ours checked.
SSH_ANSWERS = 8.0
#: For a cloud, a gateway or Kubernetes to answer one question: whoever is not there is told within ten seconds.
CLOUD_ANSWERS = 8.0
#: For Dask's operator to take up what Kubernetes was asked for; where it runs, that is a second.
OPERATOR_ANSWERS = 30.0
#: For one of these to end a cluster, when it is asked to.
CLOUD_CLUSTER_ENDS = 30.0
#: For a cloud to make a machine: some seconds, where it has one.
MACHINE_CREATED = 300.0
#: For a cloud's machine to install Docker, take the image and start the scheduler.
MACHINE_STARTS = 1200.0
#: Between two looks of a machine whether its scheduler answers, and of a client whether its machines are there.
MACHINE_LOOKS_EVERY = 20.0
#: A machine whose scheduler has been silent for so long ends itself.
MACHINE_LOST = 300.0
#: The scheduler of a cloud's cluster ends after so long without work, unless told otherwise, and all machines with it.
MACHINES_IDLE = 1200.0
#: For a cloud to end a cluster's machines, disks and networks: a minute, and two where machines shut down slowly.
MACHINES_END = 180.0
#: For the process that ends what a killed client left, of any kind.
LEFTOVER_ENDS = 200.0
#: Between two looks at what is left of them; what has just been asked for may be missing in the first.
MACHINES_END_EVERY = 2.0
#: Between two looks at the jobs or processes of tasks that are not there; where all are there, nothing is asked.
DEPLOYED_LOOKS_EVERY = 1.0
#: A task that has left, and whose job goes on, may come back for so long; then its job is ended and replaced.
DEPLOYED_TASK_REJOINS = 5.0
#: A deployed task tries for so long to find its scheduler, at first and again: then its client is gone, and it ends.
DEPLOYED_TASK_TRIES = 6.0
#: A task that runs and has not joined for so long is told to the reader: a disk is slow, or a firewall in between.
SLOW_JOIN_IS_TOLD = 8.0
#: For a task that its system tells to end to hand over what a training has: by default Slurm kills it 30 s later.
TASK_HANDS_OVER = 15.0
#: For the jobs of a cluster that is closed to be gone from the queue.
DEPLOYED_TASKS_END = 10.0
#: Between two looks of the caretaker whether its client lives,
CARETAKER_LOOKS_EVERY = 0.5
#: … and between two times that it ends what a client left; a job may still be on its way into the queue.
CARETAKER_ENDS_EVERY = 2.0
#: It does so for so long.
CARETAKER_ENDS = 8.0
#: All that a client leaves when it is killed is gone after so long.
NOTHING_LEFT = 20.0
#: A deployed cluster without work closes itself after so long, unless told otherwise.
DEPLOYED_IDLE = 3600.0
