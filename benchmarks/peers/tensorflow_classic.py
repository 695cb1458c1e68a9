"""The classic TensorFlow program: 1 parameter server and workers, a process each, by `compat.v1`; a line, or digits."""

import multiprocessing
import os
import socket
from contextlib import contextmanager

from benchmarks.contestant import Work

_PATIENCE = 120  # seconds for all to be warm, or to end a run


@contextmanager
def program(data, mode, steps, workers=2):
    """`steps` updates by the program's own cluster; `data`: an .npz of x, y or of images, labels."""
    context, started = multiprocessing.get_context("spawn"), []
    hosts = [f"localhost:{port}" for port in _free_ports(1 + workers)]
    for job, index in [("ps", 0), *(("worker", index) for index in range(workers))]:
        ours, theirs = context.Pipe()
        arguments = (job, index, hosts, data, mode, theirs)
        started.append((context.Process(target=_role, args=arguments, daemon=True), ours))
        started[-1][0].start()
    pipes = [pipe for _, pipe in started[1:]]

    def run():
        for pipe in pipes:
            pipe.send(steps)
        done = [_told(pipe) for pipe in pipes]
        for pipe in pipes:
            pipe.send("rest")
        return max(made for made, _ in done) / max(seconds for _, seconds in done)

    try:
        for pipe in pipes:
            _told(pipe)  # warm
        yield Work(run, seconds=lambda rate: 1 / rate, warm_ups=1, elsewhere=("tensorflow",))
    finally:
        for process, _ in started:
            process.kill()


def _told(pipe):
    if not pipe.poll(_PATIENCE):
        raise TimeoutError(f"TensorFlow's program said nothing for {_PATIENCE} s")
    return pipe.recv()


def _role(job, index, hosts, data, mode, pipe):
    os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
    import time

    import numpy
    import tensorflow.compat.v1 as tf

    tf.disable_eager_execution()
    cluster = tf.train.ClusterSpec({"ps": hosts[:1], "worker": hosts[1:]})
    server = tf.distribute.Server(cluster, job_name=job, task_index=index)
    if job == "ps":
        server.join()
    with tf.device(tf.train.replica_device_setter(worker_device=f"/job:worker/task:{index}", cluster=cluster)):
        global_step = tf.train.get_or_create_global_step()
        loaded = numpy.load(data)
        loss, batch, rate = (_digits if "images" in loaded else _line)(tf, loaded, numpy.random.default_rng(index))
        optimizer, hooks, count = tf.train.GradientDescentOptimizer(rate), [], len(hosts) - 1
        if mode == "sync":
            optimizer = tf.train.SyncReplicasOptimizer(optimizer, replicas_to_aggregate=count, total_num_replicas=count)
            hooks = [optimizer.make_session_run_hook(index == 0)]
        train = optimizer.minimize(loss, global_step=global_step)
    with tf.train.MonitoredTrainingSession(server.target, is_chief=index == 0, hooks=hooks) as session:

        def step():
            return session.run([train, loss, global_step], batch())[-1]

        def stepping_until_told():
            while not pipe.poll():
                step()  # a synchronous step needs everybody, until all are warm, or have told
            return pipe.recv()

        while step() < 50:
            pass
        pipe.send("warm")
        steps = stepping_until_told()
        while True:
            first, began = step(), time.perf_counter()
            while (now := step()) < first + steps:
                pass
            pipe.send((int(now - first), time.perf_counter() - began))
            stepping_until_told()  # to rest
            steps = pipe.recv()


def _line(tf, loaded, random):
    x, y = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [None])
    slope, intercept = tf.Variable(0.0), tf.Variable(0.0)
    loss = tf.reduce_mean(tf.square(slope * x + intercept - y))

    def batch():
        chosen = random.integers(len(loaded_x), size=32)
        return {x: loaded_x[chosen], y: loaded_y[chosen]}

    loaded_x, loaded_y = loaded["x"], loaded["y"]
    return loss, batch, 0.02


def _digits(tf, loaded, random):
    import numpy

    images = loaded["images"].astype(numpy.float32) / 255
    labels = numpy.eye(10, dtype=numpy.float32)[loaded["labels"]]
    x, y = tf.placeholder(tf.float32, [None, 784]), tf.placeholder(tf.float32, [None, 10])
    hidden, output = (tf.Variable(tf.random_normal(shape) * shape[0] ** -0.5) for shape in ([784, 100], [100, 10]))
    hidden_bias, output_bias = tf.Variable(tf.zeros([100])), tf.Variable(tf.zeros([10]))
    scores = tf.matmul(tf.sigmoid(tf.matmul(x, hidden) + hidden_bias), output) + output_bias
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=scores))

    def batch():
        chosen = random.integers(len(images), size=100)
        return {x: images[chosen], y: labels[chosen]}

    return loss, batch, 0.5


def _free_ports(count):
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports
