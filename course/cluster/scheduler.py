"""Our schedulers: Dask's, with leases, and for tasks started by hand a greeting and a watch over them."""

from distributed import Scheduler

from course.cluster.lease import Leases

LOOPBACK = "127.0.0.1"


class LocalScheduler(Scheduler):
    """A Dask scheduler that keeps leases, and serves no web page unless `dashboard` is true."""

    def __init__(self, dashboard, **settings):
        super().__init__(dashboard=dashboard, dashboard_address=f"{LOOPBACK}:0" if dashboard else None, **settings)
        leases = Leases()
        self.handlers |= {"lease": leases.ask, "release_lease": leases.release}

    def start_http_server(self, routes, dashboard_address, default_port=0, ssl_options=None):
        self.http_server = None
        if dashboard_address:
            super().start_http_server(routes, dashboard_address, default_port, ssl_options)


class TaskScheduler(LocalScheduler):
    """The scheduler of tasks that are started one by one, those of `spec`; `say` gets lines for the reader."""

    def __init__(self, spec, say, **settings):
        super().__init__(False, **settings)
        self.spec, self.say = spec, say
