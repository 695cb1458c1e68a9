"""The front process: it holds the sockets, the requests, one queue, one batcher and the metrics, and computes nothing.

Read in this order: `queue` (requests, batches), `worker_process` (one worker, seen from here), `pool` (all of them: who
gets which batch), `models` (which version is served), `watcher` (new versions), `app` (what an address answers), `body`
and `connection` (limits on what comes in), `access`, `metrics`, `grpc_server`, `server` (the process).
"""
