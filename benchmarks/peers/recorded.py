"""Figures of programs that are not run here (nor needed to run the course), as they were once recorded.

Hardware: 2 cores (AVX2); TensorFlow 2.21 by `compat.v1`, the classic tutorials' own programs, 1 ps + 2 workers; Ray's
figures are round trips of one caller to one actor. Another machine gives other figures: the ratio to one of these says
roughly where we stand, and only forms that take turns in one run are compared exactly.
"""

TENSORFLOW_LINE = 738  # updates/s, asynchronous, by Supervisor: the faster of two records (717–738)
TENSORFLOW_DIGITS_ASYNC, TENSORFLOW_DIGITS_SYNC = 343, 148  # updates/s, 314 kB of parameters
RAY_ACTOR_8_BYTES, RAY_ACTOR_314_KILOBYTES = 870, 280  # round trips/s
