"""The one question that Dask's operator asks a scheduler, by HTTP: since when has it had no work?

Without it the operator would ask by Dask's own protocol without TLS, get no answer, and never end an idle cluster. The
whole of Dask's API would let every pod retire the workers. Dask reads the `routes` of the modules in its configuration.
"""

from distributed.http.scheduler.api import CheckIdleHandler

routes: list[tuple] = [("/api/v1/check_idle", CheckIdleHandler, {})]
