"""The files that are copied into the sandbox: they need the standard library and numpy only, and hold no secret.

They run beside the student's code, in its process, so nothing that they send is trusted. They go through the request
pipe (`marking/questions.py`), so they import each other by relative names, and nothing else of the course.

Read `serve` (the main program), `cells` (a notebook without a kernel), `values` (what goes in and comes out),
`stand_ins` (for packages that are not there); `host` and `links` are a companion's.
"""
