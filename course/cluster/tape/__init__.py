"""What a cluster did, on a tape: tasks, transfers, joins and deaths, a training's steps; to replay, store, export.

In this order of reading: `columns`, `on_scheduler` and `on_worker` (what notes), `clocks`, `recorder` (which starts and
ends them), `record_of_notes` (what they noted, on one axis), `record`, `tape`; `reflow` and `chrome` use a tape.
"""
