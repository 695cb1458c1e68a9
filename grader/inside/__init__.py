"""What is copied into the sandbox: standard library and numpy only, and nothing that is worth reading there.

These files run beside the student's code, in its process: nothing that they say is trusted. They are sent through the
request pipe (`marking/questions.py`), so they import each other by relative names, and nothing else of the course.

Read `serve` (the main program), `cells` (a notebook without a kernel), `values` (what goes in and comes out),
`stand_ins` (for packages that are not there); `host` and `links` are a companion's.
"""
