"""How long an exhibit and a tuning may wait: limits in seconds, each with its reason; see `course.deadlines`.

That has them too, and is where they are taken from.
"""

# --- the exhibits (course/widgets/) -----------------------------------------------------------------------------------

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
