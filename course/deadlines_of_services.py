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

# --- tuning (course/tuning/) -----------------------------------------------------------------------------------------
