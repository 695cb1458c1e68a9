"""Figures of programs that are not run here (nor needed to run the course), as they were once recorded.

Hardware: 2 cores (AVX2); TensorFlow 2.21 by `compat.v1`, the classic tutorials' own programs, 1 ps + 2 workers; Ray's
figures are round trips of one caller to one actor. Another machine gives other figures, so ours is brought to the pace
of that one, by what bare sockets reached there and reach here. Only forms that take turns in one run compare exactly.
"""

BARE_SOCKETS_LINE = 4268  # updates/s, asynchronous, TLS: the same form as `bare`, on the machine of the others below
TENSORFLOW_LINE = 738  # updates/s, asynchronous, by Supervisor: the faster of two records (717–738)
TENSORFLOW_DIGITS_ASYNC, TENSORFLOW_DIGITS_SYNC = 343, 148  # updates/s, 314 kB of parameters
RAY_ACTOR_8_BYTES, RAY_ACTOR_314_KILOBYTES = 870, 280  # round trips/s
