"""Where a student's code runs: as another user, without a network, with no files but Python's, and within limits.

A sandbox is described by a `Profile` and used once. The grader talks with what runs inside by two pipes (requests in,
evidence out) and otherwise takes bounded text from it:

    with Sandbox(Profile(seconds=20)).start(program) as running:
        running.send(b"...")                # never blocks past the deadline
        answer = running.receive(8)         # exactly 8 bytes, or SandboxStopped
    print(running.ended.stdout)

`program` is Python source. It runs as `__main__` with two names given: REQUESTS and EVIDENCE, the descriptors to read
from and to write to. Linux with bubblewrap; elsewhere, and where the machine forbids it, `SandboxUnavailable` says why
and what to do. Standard library only, so that any Python can grade.

Read `profile` (the limits), `sandbox` (the start), `bwrap`, `identity`, `seccomp`, `cgroup` and `installation` (what
keeps it closed), `bootstrap` (the first lines inside), `running` with `usage` and `pipes` (at work), `errors` (its
end). `unsafe` is the same without any safety.
"""

from grader.sandbox.errors import Ended, SandboxStopped, SandboxUnavailable
from grader.sandbox.profile import Profile
from grader.sandbox.running import Running
from grader.sandbox.sandbox import Sandbox

__all__ = ["Ended", "Profile", "Running", "Sandbox", "SandboxStopped", "SandboxUnavailable"]
