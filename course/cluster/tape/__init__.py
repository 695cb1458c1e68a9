"""What a cluster did, on a tape: tasks, transfers, joins and deaths, a training's steps; to replay, store, export.

In this order of reading: `columns`, `on_scheduler` and `on_worker` (what notes), `recorder` (which starts and ends
them), `joined` (what they noted, on one axis), `record`, `tape`; and `reflow`, `chrome`, what a tape is used for.
"""
