"""Tiny tasks on two workers: `executor.map` beside Dask's client.map, Ray and a pool of processes."""

from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager

from benchmarks.contest import OURS, Contest, Contestant
from benchmarks.contestant import Work
from benchmarks.figures import Target

_MAP, _CHUNKS, _CLIENT = "executor.map", "executor.map, chunksize=50", "client.map on the same cluster"
_PLAIN, _POOL = "client.map on a LocalCluster", "ProcessPoolExecutor.map"


def contests(quick, places):
    """Yield the one contest."""
    count = 500 if quick else 1000

    def one(name, how, kind="peer", way="", **more):
        return Contestant(name, f"{__name__}:{how}", {"count": count}, kind, amount=count, way=way, **more)

    ray = {"count": count, "workers": 2}
    everyone = (
        one(_MAP, "on_cluster", OURS, "map"),
        one(_CHUNKS, "on_cluster", OURS, "chunks"),
        one(_CLIENT, "on_cluster", way="client"),
        one(_PLAIN, "by_local_cluster", slow=True),
        Contestant("Ray tasks", "benchmarks.peers.ray_ways:tasks", ray, needs="ray", amount=count, slow=True),
        one(_POOL, "by_pool"),
    )
    targets = (Target(_MAP, _CLIENT, least=0.95), Target(_CHUNKS, least=5000))
    wanted = count * (count - 1)

    def right(contestant, answer):
        return "" if answer == wanted else f"the results add up to {answer}, not {wanted}"

    yield Contest(f"{count} tiny tasks", "tasks/s", everyone, "more", 1, 3 if quick else 7, targets, right)


def _double(number):
    return 2 * number


@contextmanager
def on_cluster(count):
    """One of ours: its executor, a call a message and fifty, and Dask's own map."""
    from course.cluster import local_cluster

    with local_cluster(worker=2) as cluster:
        client, run = cluster.client, cluster.executor.map
        ways = {
            "map": lambda: list(run(_double, range(count))),
            "chunks": lambda: list(run(_double, range(count), chunksize=50)),
            "client": lambda: client.gather(client.map(_double, range(count), pure=False)),
        }
        yield {name: Work(way, sum, warm_ups=1) for name, way in ways.items()}


@contextmanager
def by_local_cluster(count):
    """Dask's own map on Dask's own cluster."""
    from distributed import Client, LocalCluster

    plain = {"threads_per_worker": 1, "dashboard_address": None}
    with ExitStack() as stack:
        client = stack.enter_context(Client(stack.enter_context(LocalCluster(n_workers=2, **plain))))
        yield Work(lambda: client.gather(client.map(_double, range(count), pure=False)), sum, warm_ups=1)


@contextmanager
def by_pool(count):
    """Python's own pool of two processes: no cluster, no other machine."""
    with ProcessPoolExecutor(2) as pool:
        yield Work(lambda: list(pool.map(_double, range(count))), sum)
