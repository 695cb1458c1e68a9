"""How long a server of models and its callers wait: limits in seconds, each with its reason, and the order they keep.

None of them decides how fast a healthy server is: they are the times after which something counts as broken, and the
pauses between two looks for it.
"""

#: Between two looks at the models' folder for new versions.
VERSIONS_LOOKED_AT_EVERY = 0.5
#: For a store of objects to answer one call, its package's own repeats included; a large object has longer.
STORE_ANSWERS = 10.0
#: Between two looks at a store's address for new versions: each look is a call a model, which some stores bill.
BUCKET_LOOKED_AT_EVERY = 10.0
#: For a compute worker's process to start: it imports torch, from a slow disk perhaps.
SERVING_STARTS = 120.0
#: For a worker to load a version, compare its answers and warm up.
VERSION_LOADS = 120.0
#: Between two looks at the workers for one whose batch takes too long.
SERVING_LOOKS_EVERY = 0.1
#: A batch that takes longer counts as hung, and its worker is ended, unless told otherwise.
MODEL_ANSWERS = 10.0
#: For a request that is whole to be answered, its wait for a worker included, unless told otherwise; then 503.
REQUEST_ANSWERED = 30.0
#: Before a worker that failed again soon is started again; twice as long after each failure,
WORKER_STARTS_AGAIN = 0.1
#: … up to this. A worker that lived longer did not fail soon.
WORKER_STARTS_AGAIN_MOST = 5.0
#: For workers to end when their input is closed; after that they are killed,
WORKERS_CLOSE = 2.0
#: … and the kernel ends them in so long: a machine that swaps is slow.
KILLED_WORKER_ENDS = 10.0
#: For a request to be whole, from its first byte to its last; and for its caller to read the answer.
REQUEST_COMES = 30.0
#: Between two looks at the connections for those that are too slow.
CONNECTIONS_LOOKED_AT_EVERY = 1.0
#: A connection without a request is kept open for so long.
IDLE_CONNECTION = 60.0
#: A connection of gRPC makes way for a new one after so long: otherwise one whose caller reads nothing would stay.
GRPC_CONNECTION = 600.0
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

#: Each line is a chain of comparisons between the names above, and why it must hold.
ORDER = {
    "VERSIONS_LOOKED_AT_EVERY < VERSION_LOADS": "a version that is being loaded is not looked at again",
    "VERSIONS_LOOKED_AT_EVERY < BUCKET_LOOKED_AT_EVERY": "the costlier a look, the rarer it is",
    "STORE_ANSWERS < SERVER_DRAINS": "a server that ends waits for a store that is silent no longer than for callers",
    "SERVING_LOOKS_EVERY < MODEL_ANSWERS": "a model that hangs is seen to",
    "2 * MODEL_ANSWERS < SERVER_DRAINS": "a server that ends waits for a batch that hangs two workers",
    "SERVING_STARTS + VERSION_LOADS < LOCAL_SERVER_STARTS": "a server says itself why it can't answer",
    "SERVER_DRAINS < LOCAL_SERVER_ENDS": "a server that is closed has drained before it is killed",
    "2 * MODEL_ANSWERS < REQUEST_ANSWERED <= CLIENT_ANSWER": (
        "a caller whose request hangs two workers hears so, not only that it was late"
    ),
    "SERVING_LOOKS_EVERY < REQUEST_ANSWERED <= SERVER_DRAINS": "what a server that ends still answers is not late",
    "CONNECTIONS_LOOKED_AT_EVERY < REQUEST_COMES < IDLE_CONNECTION": "a slow caller is told so before it looks idle",
    "IDLE_CONNECTION < GRPC_CONNECTION": "a connection is given up for its age only while it is in use",
    "CLIENT_ASKS_AGAIN < WORKER_STARTS_AGAIN < WORKER_STARTS_AGAIN_MOST < CLIENT_ANSWER": (
        "a client is still asking when a worker that failed once has come back"
    ),
}
