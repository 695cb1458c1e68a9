"""The digits by the classic TensorFlow program: 1 parameter server and workers, a process each, by `compat.v1`.

TensorFlow is no dependency of the course. With `COURSE_TENSORFLOW=/path/to/a/python` that has it (2.21 was tried), the
benchmark runs this file with that Python, beside its own run; else it prints the recorded figures.
"""

import json
import multiprocessing
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

_PATIENCE = 240  # seconds


def tensorflow_rate(problem, mode, steps, workers=2):
    """Return TensorFlow's updates a second on `problem` (`course.training.mnist()`); None where no Python is named."""
    python = os.environ.get("COURSE_TENSORFLOW")
    if not python:
        return None
    import numpy

    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "digits.npz"
        numpy.savez(data, images=problem.images.numpy(), labels=problem.labels.numpy())
        ask = [python, __file__, str(data), mode, str(steps), str(workers)]
        done = subprocess.run(ask, capture_output=True, text=True, timeout=_PATIENCE, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def _main(data, mode, steps, workers):
    context, started = multiprocessing.get_context("spawn"), []
    hosts = [f"localhost:{port}" for port in _free_ports(1 + workers)]
    for job, index in [("ps", 0), *(("worker", index) for index in range(workers))]:
        ours, theirs = context.Pipe()
        arguments = (job, index, hosts, data, mode, steps, theirs)
        started.append((context.Process(target=_role, args=arguments, daemon=True), ours))
        started[-1][0].start()
    try:
        pipes = [pipe for _, pipe in started[1:]]
        for pipe in pipes:
            pipe.recv()  # warm
        for pipe in pipes:
            pipe.send("go")
        done = [pipe.recv() for pipe in pipes]
        return max(made for made, _ in done) / max(seconds for _, seconds in done)
    finally:
        for process, _ in started:
            process.kill()


def _role(job, index, hosts, data, mode, steps, pipe):
    os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
    import time

    import numpy
    import tensorflow.compat.v1 as tf

    tf.disable_eager_execution()
    cluster = tf.train.ClusterSpec({"ps": hosts[:1], "worker": hosts[1:]})
    server = tf.distribute.Server(cluster, job_name=job, task_index=index)
    if job == "ps":
        server.join()
    loaded = numpy.load(data)
    images = loaded["images"].astype(numpy.float32) / 255
    labels = numpy.eye(10, dtype=numpy.float32)[loaded["labels"]]
    with tf.device(tf.train.replica_device_setter(worker_device=f"/job:worker/task:{index}", cluster=cluster)):
        global_step = tf.train.get_or_create_global_step()
        x, y = tf.placeholder(tf.float32, [None, 784]), tf.placeholder(tf.float32, [None, 10])
        hidden, output = (tf.Variable(tf.random_normal(shape) * shape[0] ** -0.5) for shape in ([784, 100], [100, 10]))
        hidden_bias, output_bias = tf.Variable(tf.zeros([100])), tf.Variable(tf.zeros([10]))
        scores = tf.matmul(tf.sigmoid(tf.matmul(x, hidden) + hidden_bias), output) + output_bias
        loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=scores))
        optimizer, hooks, count = tf.train.GradientDescentOptimizer(0.5), [], len(hosts) - 1
        if mode == "sync":
            optimizer = tf.train.SyncReplicasOptimizer(optimizer, replicas_to_aggregate=count, total_num_replicas=count)
            hooks = [optimizer.make_session_run_hook(index == 0)]
        train = optimizer.minimize(loss, global_step=global_step)
    random = numpy.random.default_rng(index)
    with tf.train.MonitoredTrainingSession(server.target, is_chief=index == 0, hooks=hooks) as session:

        def step():
            chosen = random.integers(len(images), size=100)
            return session.run([train, loss, global_step], {x: images[chosen], y: labels[chosen]})[-1]

        warm = max(step() for _ in range(50))
        pipe.send("warm")
        pipe.recv()
        first, began = step(), time.perf_counter()
        while (now := step()) < warm + steps:
            pass
        pipe.send((int(now - first), time.perf_counter() - began))
        while not pipe.poll():
            step()  # a synchronous step needs everybody, until all have told


def _free_ports(count):
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


if __name__ == "__main__":
    print(json.dumps(_main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))))
