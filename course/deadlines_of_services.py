"""How long a server of models and a tuning may wait: limits in seconds, each with its reason; see `course.deadlines`.

That has them too, and is where they are taken from.
"""

# --- serving (course/serving/) ---------------------------------------------------------------------------------------

#: Between two looks at the models' folder for new versions.
VERSIONS_LOOKED_AT_EVERY = 0.5
#: For a compute worker's process to start: it imports torch, from a slow disk perhaps.
SERVING_STARTS = 120.0
#: For a worker to load a version, compare its answers and warm up.
VERSION_LOADS = 120.0
#: Between two looks at the workers for one whose batch takes too long.
SERVING_LOOKS_EVERY = 0.1
#: A batch that takes longer counts as hung, and its worker is ended, unless told otherwise.
MODEL_ANSWERS = 10.0
#: Before a worker that failed again soon is started again; twice as long after each failure,
WORKER_STARTS_AGAIN = 0.1
#: … up to this. A worker that lived longer did not fail soon.
WORKER_STARTS_AGAIN_MOST = 5.0
#: For a request to be whole, from its first byte to its last; and for its caller to read the answer.
REQUEST_COMES = 30.0
#: Between two looks at the connections for those that are too slow.
CONNECTIONS_LOOKED_AT_EVERY = 1.0
#: A connection without a request is kept open for so long.
IDLE_CONNECTION = 60.0
#: A server that was told to end answers what is under way for so long.
SERVER_DRAINS = 30.0
#: For a server that a notebook starts to answer: its workers start, and load the versions.
LOCAL_SERVER_STARTS = 300.0
#: For a server that a notebook closes to end; after that it is killed.
LOCAL_SERVER_ENDS = 45.0
#: A client waits so long for an answer, its repeats included, unless told otherwise.
CLIENT_ANSWER = 30.0
#: A client's first pause before it asks again; twice as long each time, and by chance up to as much again.
CLIENT_ASKS_AGAIN = 0.05
#: For a server to answer about a digit that was drawn in a page; the kernel does nothing else meanwhile.
PAD_ANSWER = 2.0
#: … after so long the page says that no kernel answers; an answer that comes later is still shown.
PAD_PATIENCE = 3.0
#: An exhibit whose kernel is silent for so long goes on with stored answers; any message later makes it live again.
EXHIBIT_PATIENCE = 1.5

# --- tuning (course/tuning/) -----------------------------------------------------------------------------------------

#: A trial that neither reports nor ends for so long, on a task that lives, hangs, unless told otherwise.
TRIAL_SILENCE = 600.0
#: Where no worker task is there any more, one is waited for so long.
TRIAL_WORKER_COMES = 30.0
#: Between two looks of the driver at trials that say nothing, and at the clock.
TUNING_LOOKS_EVERY = 0.2
#: A look that comes so much later than it was to was the driver's own standstill, and no trial's.
TUNING_STOOD_STILL = 1.0
#: For workers to answer that they were told to stop a trial.
TRIAL_STOPPED = 2.0
#: For trials to stop when tuning ends early: each looks once an update. After that a local task's process is ended.
TRIAL_STOPS = 3.0
