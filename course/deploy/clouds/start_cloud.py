"""Start a cluster by one of Dask's deployers, from the arguments of `deploy`."""

from collections.abc import Callable, Mapping
from typing import Any

from course.deploy.clouds.cloud_cluster import CloudCluster
from course.deploy.clouds.cloud_options import cloud_options
from course.deploy.clouds.cloud_runtime import CloudRuntime
from course.deploy.clouds.kinds import CLOUDS
from course.deploy.launcher import load
from course.deploy.ledger import new_entry


def start_cloud(
    kind: str, jobs_and_options: Mapping[str, Any], timeout: float | None, wait: bool, say: Callable[..., None]
) -> CloudCluster:
    """Return the cluster of `deploy(kind, **jobs_and_options)`; `kind`, one of `CLOUDS`. Raises as `deploy` does."""
    deployer = CLOUDS[kind]
    workers, options = cloud_options(kind, deployer.options, jobs_and_options)
    load(kind, deployer.library)
    entry = new_entry(kind, tuple(f"/job:worker/task:{index}" for index in range(workers)))
    runtime = CloudRuntime(entry, deployer(entry.name, workers, options), say)
    try:
        return CloudCluster(runtime.start(timeout, wait), runtime)
    except BaseException:
        runtime.close()
        raise
