"""The devices of every task of a cluster."""

from course.deadlines import DEVICES_ANSWER


def devices(cluster):
    """Return the devices of each task of `cluster` as a `DeviceList`, with names such as `/job:worker/task:0/cpu:0`.

    Those that a task simulates are marked so. Raises TimeoutError when a task is busy for longer than 35 seconds.
    """
    from course.devices import DeviceList, DeviceName, list_devices

    found = []
    for task in cluster.tasks:
        name = DeviceName.parse(task)
        with cluster.at(task):
            found.append(cluster.executor.submit(list_devices, name.job, name.task))
    return DeviceList(device for one in found for device in one.result(timeout=DEVICES_ANSWER))
