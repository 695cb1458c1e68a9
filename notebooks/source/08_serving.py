# %% [markdown]
# # A model that others call
#
# **A server takes 1 ms for a request, and 800 come every second: how long do the unluckiest 1 in 100 wait?**
#
# The nine hours are over, and the network has learned. Were its settings the best? To try 36 of them, nine hours each, would
# keep one machine busy for two weeks. And whoever wants its answers doesn't have your notebook, and doesn't take turns. So
# you tune, put a server in front of the network, and see what happens when many ask at once.

# %%
from course.widgets import RequestDots

RequestDots(rate=100)

# %% [markdown]
# A dot is a request, in a simulated server that computes one at a time. Here a hundred come every second, and it could do
# four times as many. Press *Play*: do some wait all the same?
#
# | | |
# |---|---|
# | You will | tune a learning rate on two workers; export a trained network as a version; ask it over HTTP, about a digit that you draw; measure how latency grows with load; roll a version forward under load, and back |
# | Minutes | 75 |
# | You need | chapters 06 (staleness) and 07 (the digits) |
# | Resources | 2 cores, 2 GB, under 30 s; no GPU needed; nothing is downloaded |

# %%
import json
import random
import shutil
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import httpx
import numpy
import torch

from course import draw, local_cluster, tune, tuning
from course.checks import check
from course.training import mnist, train
from course.widgets import DigitPad, Predict, Scorecard
from modelserver import Client, export, local_server, pin

torch.set_num_threads(1)  # the server gets the other core

# %% [markdown]
# The server does one request at a time, and each takes exactly 1 ms. So it could do 1,000 a second. 800 come, each when
# its sender likes.

# %%
question = "From arrival to answer: 99 of 100 stay below how many ms?"
bet_tail = Predict(question, 1, 1000, log=True, unit="ms", name="08 unluckiest")
bet_tail

# %% [markdown]
# ## The best learning rate, and for whom
#
# Before a model is handed to others it deserves the best settings that you can afford to find. A *trial* is one short
# training with one set of hyperparameters. Trials don't need each other: this is work for a cluster.
#
# One worker trains the digits of chapter 07 for 100 updates; its best learning rate is somewhere from 0.05 to 3. Then
# three asynchronous workers make the same 100 updates, and each gradient comes two updates late.

# %%
question = "Three workers' best learning rate is how many times one worker's?"
bet_rate = Predict(question, 0.05, 20.0, log=True, unit="×", name="08 rate")
bet_rate

# %% [markdown]
# `tune` takes a problem, a space and a cluster. `(0.05, 3.0, "log")` is a range over powers of ten; a single
# value stays the same in all trials. Seven trials on a grid make a curve; `pruning=False` lets every trial run to its end.
# *Loss* is the mean cross-entropy on 1,000 digits that are held out: less is better.

# %% tags=["nbval-check-output"]
digits = mnist()
grid = dict(trials=7, steps=100, search="grid", pruning=False, progress=False)
rates = (0.05, 3.0, "log")
cluster = local_cluster(ps=1, worker=2)
one = tune(digits, {"learning_rate": rates, "workers": 1}, cluster, **grid)
three = tune(digits, {"learning_rate": rates, "workers": 3, "mode": "async"}, cluster, **grid)
lines = [
    f"{alone.parameters['learning_rate']:5.2f}   loss {alone.value:.2f} alone   {late.value:.2f} with three"
    for alone, late in zip(one.trials, three.trials, strict=True)
]
best = one.parameters["learning_rate"], three.parameters["learning_rate"]
why = f"Best alone {best[0]:.2f}, best with three {best[1]:.2f}: late gradients ask for shorter steps."
bet_rate.reveal(round(best[1] / best[0], 2), why, shows="\n".join(lines))

# %% [markdown]
# While the rate is small, both columns behind the answer are nearly the same: steps are short, so it hardly matters where
# they begin. Look where they part.

# %% tags=["nbval-check-output"]
print(f"with three, at the rate that is best alone: loss {three.trials[one.best.number].value:.2f}")
print(f"with three, at their own best:              loss {three.value:.2f}")

# %% [markdown]
# A rate that was tuned for one worker and used for three costs most of what tuning had gained. So tune what you are
# going to run.
#
# ## Three hyperparameters, 36 trials
#
# Seven values each of learning rate, momentum and hidden units would be 343 trials. You have 36. There are three ways to
# spend them. A *grid* has three or four values of each. *Random* search draws each trial by itself: 36 different
# learning rates. *TPE* begins at random as well, and then draws where good trials were dense. In all three a trial that is
# worse than most were at the same step is *pruned*: stopped early.

# %%
bet_search = Predict("Which search ends lowest?", choices=["grid", "random", "tpe"], name="08 search")
bet_search

# %% [markdown]
# Together they take 30 s, so they were recorded (2 cores of an AMD EPYC, 2026-11-22). Each kept a *journal*: a file in
# which every change is, before anything follows from it. The same call with the same journal goes on where that ends,
# after a power cut too. Here nothing is left to do, and it returns at once. Without `journal=` you search yourself. The
# problem is now `mnist`, the function, so that its own argument `hidden` may be searched as well.

# %%
folder = tempfile.TemporaryDirectory()
space = {"learning_rate": (0.01, 10.0, "log"), "momentum": (0.0, 0.99), "hidden": [20, 50, 100]}
searched = {}
for way in ("tpe", "random", "grid"):
    journal = shutil.copy(Path(tuning.__file__).parent / "recorded" / f"{way}.journal", folder.name)
    searched[way] = tune(mnist, space, cluster, trials=36, steps=200, search=way, journal=journal, progress=False)
lowest = min(searched, key=lambda way: searched[way].value)
picture = tuning.searches(searched, "36 trials each: TPE ends lowest, this time (recorded)")
bet_search.reveal(lowest, "It draws where good trials were dense, this time.", shows=picture)

# %% [markdown]
# Points are trials, lines the best so far. TPE's first ten trials are random search's own. One run of each is no proof:
# with another seed the order may be another. What does not change is the grid's waste: where the learning rate is far
# off, momentum makes no difference, and the grid tries all of it there.
#
# What do the good trials have in common? Each line below is a trial, through its value on every axis to its loss.

# %%
tuning.coordinates(searched["tpe"], "The thick lines, TPE's best fifth, meet at a high momentum (recorded)")

# %%
tuning.importance(searched["random"], "By the random trials, momentum matters most (recorded)")

# %% [markdown]
# A hyperparameter is important when its values in the best tenth of the trials differ from those in all (PED-ANOVA). Such
# shares are rough, and belong to these trials: by the grid's, the learning rate comes first, with 85 %.
#
# ## From a training to a folder
#
# Now train with that rate, on chapter 06's parameter server and with one worker: nothing depends on luck, so a hundred
# updates find what the trial found. Later you will want a better network, and a bad one; then the cluster has done its work.


# %% tags=["timing"]
def trained(steps):
    return train(digits, cluster, optimizer=partial(torch.optim.SGD, lr=best[0]), workers=1, total_steps=steps)


results = {steps: trained(steps) for steps in (100, 400, 10)}
cluster.close()
right = round(1000 * digits.validate(results[100].parameters)["accuracy"])
print(f"{right} of 1,000 held-out digits are right; loss {digits.validate(results[100].parameters)['loss']:.4f}")
print(f"the trial with this rate found    loss {one.value:.4f}")

# %% [markdown]
# `export` takes what `train` returned, and writes what others need to run it without your notebook. The network's
# operations are recorded by `torch.export`, for any number of images. Beside them lie names, shapes and types of what goes
# in and comes out (the *signature*), how it was trained, and examples with this network's own answers: a server compares
# them before it lets a version answer anybody.
#
# A version may be asked in several ways. This network's first half makes 100 *features* of an image; whoever has such
# features already asks the second half, `classify`, alone. So there are two signatures: one takes images, and answers
# where a request names none (`serving_default`, as TensorFlow Serving calls it); the other takes features.

# %% tags=["nbval-check-output"]
models = Path(folder.name) / "models"
held_out = digits.test_images.float() / 255, digits.test_labels


def export_digits(result):
    network = result.module()
    ways = {"features": (network.classify, network.features(held_out[0]))}
    about = dict(labels="0123456789", labelled=held_out, scaling={"image": "0 paper, 1 ink"}, signatures=ways)
    return export(
        result, held_out[0], models, name="digits", outputs=["scores"], record={"steps": result.version}, **about
    )


version = export_digits(results[100])
print(version)
for name, signature in version.signatures.items():
    print(f"{name}: {signature}")

# %%
contents = {
    "program.pt2": "the operations and the weights",
    "program.features.pt2": "those of the signature that takes features",
    "version.json": "signatures, labels, torch's version, the training's record",
    "examples.npz": "six inputs, and this network's answers to them",
    "examples.features.npz": "the same for the other signature",
    "labelled.npz": "held-out digits and their labels, to judge the next version",
    "SHA256SUMS": "a checksum of each file, written last",
}
assert set(contents) == {path.name for path in version.folder.iterdir()}
draw.table(["digits/1/", "what it holds"], contents.items(), "The seven files of version 1")

# %% [markdown]
# **A `.pt2` file is code.** When PyTorch loads one, it unpickles parts of it and evaluates expressions that stand in
# it. Whoever can write the file can run any command as you. A checksum shows damage; it says nothing about who wrote the
# file. So the server takes only folders that belong to you and that nobody else may write to. Never load one from
# a stranger.
#
# ## Somebody asks
#
# `python -m course serve models` is the server. `local_server` starts the same as a process of its own, for as long as
# this notebook wants it. You start two, side by side, since a start takes seconds: `server`, and for later `single`,
# which is told to compute one image at a time.


# %% tags=["nbval-check-output"]
def serve(largest):
    return local_server(models, workers=1, largest=largest)


with ThreadPoolExecutor() as pool:
    server, single = pool.map(serve, (64, 1))
print(httpx.get(f"{server.url}/v2/models/digits").json()["versions"])

# %% [markdown]
# One worker process computes; in front of it a process holds connections and a queue. A request is a line, some headers,
# and a body of JSON. Its form is a public standard, the *Open Inference Protocol*, so callers need no code of this
# course. (The standard has gRPC too, and so has the server: `--grpc-port`.) Here is all of one, with any HTTP library:

# %% tags=["nbval-check-output"]
address = f"{server.url}/v2/models/digits/infer"
image = [round(value, 2) for value in held_out[0][0].tolist()]
asked = {"inputs": [{"name": "image", "shape": [1, 784], "datatype": "FP32", "data": image}]}
answer = httpx.post(address, json=asked)
found = answer.json()["outputs"][0]
print(answer.request.content[:88].decode(), "…", len(answer.request.content), "bytes")
print(answer.status_code, "version", answer.json()["model_version"], {k: found[k] for k in ("name", "shape")})
scores = found["data"]
print("the largest score is that of", scores.index(max(scores)), "and it is a", held_out[1][0].item())

# %% [markdown]
# `Client` asks the same in one line. It sends the tensors' own bytes after a short JSON, keeps its connection, and asks
# again, until a deadline, what may be asked again.

# %% tags=["nbval-check-output"]
images = held_out[0].numpy()
with Client(server.url) as client:
    answer = client.infer("digits", {"image": images[::150]})
print("version", answer.version, "says", answer["scores"].argmax(1).tolist())
print("they are      ", held_out[1][::150].tolist())

# %% [markdown]
# By the other signature: the features are computed here, and only their scores over there.

# %% tags=["nbval-check-output"]
network = results[100].module()
features = network.features(held_out[0][::150]).detach().numpy()
with Client(server.url) as client:
    by_features = client.infer("digits", {"features": features}, signature="features")
print("by features:   ", by_features["scores"].argmax(1).tolist())

# %% [markdown]
# ## A digit of your own
#
# Now one that is in no data set. A pen goes along straight strokes, from point to point on a sheet of 28 × 28. Change
# the points, and ask again.

# %% tags=["nbval-check-output"]
strokes = [(6, 9), (5, 16), (9, 18), (13, 12), (17, 19), (22, 16), (22, 8)]  # (row, column): a three


def drawn(points):
    rows, columns = numpy.mgrid[:28, :28]
    sheet = numpy.zeros((28, 28), numpy.float32)
    for (row, column), (to_row, to_column) in zip(points, points[1:], strict=False):
        for part in numpy.linspace(0, 1, 20):
            away = numpy.hypot(rows - row - part * (to_row - row), columns - column - part * (to_column - column))
            sheet = numpy.maximum(sheet, numpy.clip(1.8 - away, 0, 1))
    return sheet.astype(numpy.float32)


sheet = drawn(strokes)
with Client(server.url) as client:
    print("the server says:", client.infer("digits", {"image": sheet.reshape(1, 784)})["scores"].argmax())

# %% [markdown]
# Draw one yourself: with the mouse, a pen or a finger, or choose a stored digit. After each stroke this notebook's
# kernel asks the server, as `Client` did above. Your drawing is scaled and put in the middle first (*sent*), as the
# digits of the data set were: the network has never seen one in a corner. While *Run All* goes on, the kernel has no
# time for you.

# %%
DigitPad(server.url, *digits.one_of_each())

# %% [markdown]
# Try a 7 with a bar, a very thin 8, a letter. The network knows ten answers, and has to give them shares that add up to
# 100 %: "none of these" isn't among them. A high share says that it looks like *its* digits, not that it is right.

# %% [markdown]
# ## Who waits
#
# Back to the question. Forget networks: a server, 1 ms a request, one at a time. A request begins when it has come and
# when the one before is done; the later of the two counts.


# %%
def stays(times, seconds):
    """Return how long each request stays, from its arrival to its answer."""
    free, found = 0.0, []
    for arrives in times:
        free = max(arrives, free) + seconds
        found.append(free - arrives)
    return found


# %% [markdown]
# Callers come by themselves: nobody's time depends on another's, so the gaps between them are long and short by chance.


# %%
def at_random(rate, seconds, seed=0):
    """Return times from 0 to `seconds` at which callers come by themselves, `rate` a second on average."""
    generator, times = random.Random(seed), [0.0]
    while times[-1] < seconds:
        times.append(times[-1] + generator.expovariate(rate))
    return times[1:]


# %% [markdown]
# A hundred simulated seconds of each rate:


# %% tags=["nbval-check-output"]
def within(found, percent=99):
    return sorted(found)[int(len(found) * percent / 100)]


lines, tail = ["a second   mean     99 of 100 within"], {}
for rate in (100, 500, 800, 900, 950):
    found = stays(at_random(rate, 100), 0.001)
    tail[rate] = 1e3 * within(found)
    lines.append(f"{rate:8}  {1e3 * sum(found) / len(found):5.1f} ms  {tail[rate]:5.1f} ms")
why = "Callers who don't know of each other come in bunches, and a bunch has to stand in line."
bet_tail.reveal(round(tail[800], 1), why, shows="\n".join(lines))

# %% [markdown]
# Nothing is broken: with 800 a second the server is idle for a fifth of the time. Half full, 1 in 100 stays four times as
# long as the work takes; nineteen twentieths full, more than fifty times. **So a server is never planned to be full.**
# The textbook's name for this queue is M/D/1: arrivals at random (*Markovian*), a *deterministic* time each, one server.
# With a part ρ of the server's time in use the mean stay is 1 + ρ / (2 · (1 − ρ)) times the work: 3 ms at 800 a second.
#
# There is a law in these numbers that holds for every queue: on average, the number of requests inside is the rate times the
# mean stay, *L* = λ*W* (Little, 1961). No assumption about bunches is in it: each request adds its stay to both sides,
# to the one as a stay, to the other as so many moments inside. Count who is inside at 20,000 moments:

# %% tags=["nbval-check-output"]
times = at_random(800, 100)
found = stays(times, 0.001)
ends = numpy.array(times) + found
moments = numpy.linspace(0, 100, 20_000)
inside = numpy.searchsorted(times, moments) - numpy.searchsorted(numpy.sort(ends), moments)
print(f"counted: {inside.mean():.2f} inside; rate · mean stay: {len(times) / 100 * sum(found) / len(found):.2f}")

# %% [markdown]
# ## The real server, asked in two ways
#
# Now the same with a real network. One image should take some milliseconds, so this one is wide: 11 million weights,
# 46 MB, all of which an image that is alone has to read through. `single` computes one image at a time, as the model above does.

# %%
wide, depth = torch.nn.Linear(784, 3000), torch.nn.Linear(3000, 3000)
heavy = torch.nn.Sequential(wide, torch.nn.ReLU(), depth, torch.nn.ReLU(), torch.nn.Linear(3000, 10))
export(heavy, held_out[0], models, name="heavy")


def until(seen, seconds=60):
    """Wait until `seen()` is true."""
    ends = time.monotonic() + seconds
    while not seen():
        assert time.monotonic() < ends, server.log
        time.sleep(0.02)


for one in (server, single):
    until(lambda one=one: httpx.get(f"{one.url}/v2/models/heavy/ready").status_code == 200)

# %% [markdown]
# Nobody started anything: both servers look at the folder twice a second, found the new model, tried it, and serve it.
#
# There are two ways to measure a server. In a *closed loop* some callers ask, wait for the answer, and ask again. In an
# *open loop* requests come when they come, and the clock of each starts when it is due, even if all callers are busy. One
# function does both: with `times` the loop is open, without it is closed.


# %%
def load(url, callers, seconds, times=None):
    """Return (when it was due, when it was answered) of each request to `heavy`, in seconds."""
    found, waiting, begun = [], iter(times or ()), time.perf_counter() + 0.1

    def caller():
        with Client(url) as client:
            while True:
                due = next(waiting, None) if times else max(0.0, time.perf_counter() - begun)
                if due is None or due > seconds:
                    return
                time.sleep(max(0.0, begun + due - time.perf_counter()))
                client.infer("heavy", {"input": images[:1]})
                found.append((due, time.perf_counter() - begun))

    threads = [threading.Thread(target=caller) for _ in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


# %% [markdown]
# Eight callers in a closed loop keep the server fully busy. Then the open loop asks for half as much again.

# %%
question = "One in ten waits how many times as long as a single caller?"
bet_loops = Predict(question, 1, 1000, log=True, unit="×", each=["closed loop", "open loop"], name="08 one in ten")
bet_loops

# %% tags=["timing"]
load(single.url, 1, 0.2)  # warm


def rate_and_tail(found):
    """Return the requests answered a second, and the seconds within which 90 of 100 were."""
    return len(found) / max(end for _, end in found), within([end - due for due, end in found], 90)


closed = [rate_and_tail(load(single.url, callers, 0.4)) for callers in (1, 2, 8)]
alone, (full, eight) = closed[0][1], closed[-1]
opened = []
for share in (0.5, 0.9, 1.5):
    found = load(single.url, 16, 0.8, at_random(share * full, 0.8))
    opened.append(rate_and_tail(found))
both = {"open loop": dict(opened), "closed loop": dict(closed)}
picture = draw.latency(both, "A closed loop hides the queue", alone, percent=90)
why = "Eight callers make a queue of seven, never more; in an open loop it grows as long as too many come."
bet_loops.reveal([eight / alone, opened[-1][1] / alone], why, shows=picture, stored=[7, 40])

# %% [markdown]
# In a closed loop callers ask less often when the server is slow; in an open loop they don't. A load test that waits for
# answers before it asks again measures its own politeness. Little's law in the last run:

# %% tags=["timing"]
due, end = numpy.array(sorted(found)).T
moments = numpy.linspace(0, end.max(), 5000)
inside = numpy.searchsorted(due, moments) - numpy.searchsorted(numpy.sort(end), moments)
print(f"counted: {inside.mean():.1f} inside")
print(f"rate · mean stay: {len(due) / end.max():.0f} a second · {1e3 * (end - due).mean():.1f} ms", end=" = ")
print(f"{len(due) / end.max() * (end - due).mean():.1f}")

# %% [markdown]
# ## Where the time goes
#
# The digits' network multiplies 79,400 numbers for an image. Of a request in JSON, which takes longest: reading the JSON,
# the network, or writing the answer? Each is done again and again for a tenth of a second; the least time counts.


# %%
def each(work, seconds=0.1):
    """Return the least microseconds of one call."""
    least, until = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < until:
        began = time.perf_counter()
        work()
        least = min(least, time.perf_counter() - began)
    return 1e6 * least


# %% [markdown]
# First the parts, then all of a request, in bytes and in text:

# %% tags=["timing"]
body, raw, row = json.dumps(asked), bytearray(images[:1]), torch.from_numpy(images[:1])
with torch.inference_mode(), Client(server.url) as client, httpx.Client() as http:
    took = {
        "read the JSON, make a tensor": each(lambda: torch.tensor(json.loads(body)["inputs"][0]["data"])),
        "the same from bytes": each(lambda: torch.frombuffer(raw, dtype=torch.float32)),
        "the network": each(lambda: network(row)),
        "write the answer": each(lambda: json.dumps(scores)),
        "asked and answered, over HTTP, bytes": each(lambda: client.infer("digits", {"image": images[:1]})),
        "asked and answered, over HTTP, JSON": each(lambda: http.post(address, json=asked)),
    }
rows = [(what, round(micro)) for what, micro in took.items()]
draw.table(["of one request", "µs"], rows, "The network is the small part of a request")

# %% [markdown]
# The network is the small part; reading text is several times as much, and the way there and back most of all. A faster
# network would change nothing here. Bytes instead of text do.
#
# And what does a *batch* buy? The server gives an idle worker all that waits, up to `largest` images together. Microseconds
# an image, by how many are computed at a time:

# %% tags=["timing"]
rows = []
with torch.inference_mode():
    for name, net in (("digits", network), ("heavy", heavy)):
        micro = {n: each(lambda net=net, n=n: net(torch.from_numpy(images[:n]))) / n for n in (1, 8, 64)}
        saved = micro[1] - micro[64]
        rows.append((name, *(round(m, 1) for m in micro.values()), f"{micro[1] / micro[64]:.1f}", round(saved)))
headings = ["network", "1", "8", "64", "times as many", "µs saved an image"]
draw.table(headings, rows, "In batches an image takes fewer microseconds")

# %% [markdown]
# The small one gains a large factor, of next to nothing: the microseconds saved are lost in those above. The heavy one
# gains one of what matters. To see it, ask both servers the same: a single caller, then 24 of them in
# a closed loop.


# %% tags=["timing"]
def batches_of(url):
    """Return how many images and how many batches the server has computed."""
    with Client(url) as client:
        lines = dict(line.rsplit(" ", 1) for line in client.text("/metrics").splitlines() if line[0] != "#")
    return numpy.array([float(lines[f"serving_batch_rows_{what}{{}}"]) for what in ("sum", "count")])


rows = []
for name, url in (("one at a time", single.url), ("in batches", server.url)):
    lone, before = load(url, 1, 0.3), batches_of(url)
    many = load(url, 24, 0.6)
    size = numpy.divide(*(batches_of(url) - before))
    rows.append((name, *(round(len(found) / max(end for _, end in found)) for found in (lone, many)), round(size, 1)))
single.close()
draw.table(
    ["heavy, answered a second", "1 caller", "24 callers", "images a batch"],
    rows,
    "A lone caller loses nothing by batches, many gain",
)

# %% [markdown]
# A lone caller pays nothing for batches: a batch is not waited for, it is what came while the worker was busy. So it
# grows with the load. This notebook asks from the same two cores, and that hides a part of the gain: `make bench
# TOPIC=serving` takes the callers' part out.
#
# ## Turn it yourself
#
# The server of the beginning, with all of it at once: requests come as in `at_random`, one worker computes the heavy
# network, and all that wait, up to the largest batch, are taken together. A dot is a request. Callers may also leave after
# a while. This simulated server doesn't notice, as many don't: what they asked stays in the queue and is computed,
# for nobody. (The course's server sees the connection close, and forgets the request.) And the queue has a limit: a
# request that finds it full gets 429 at once, as from the real one.
#
# 800 a second come, nearly twice as many as can be done one at a time, and callers leave after 100 ms. The queue has room
# for 32, or for 256. Which answers more?

# %%
queues = ["queue of 32", "queue of 256"]
bet_queue = Predict("How many of 100 callers get an answer?", 0, 100, each=queues, name="08 queues")
bet_queue

# %%
RequestDots(rate=300, largest=1)

# %% [markdown]
# Press *Play*, move the sliders, and look where the dots pile up. The page computes all of it; Python finds the same:

# %% tags=["nbval-check-output"]
answered, lines = {}, []
for settings in ({"largest": 1}, {"largest": 64}, {"queue": 32, "deadline": 100}, {"queue": 256, "deadline": 100}):
    dots = RequestDots(rate=800, **settings)
    came = len(dots.outcome.arrives) + len(dots.outcome.refused)
    answered[settings.get("queue")] = round(100 * len(dots.outcome.stays) / came, 1)
    lines.append(f"{settings} " + str(dots).split("Simulated: ")[1].strip(")"))
why = (
    "In the long queue a request comes to its head after 600 ms, and its caller left after 100; the short one refuses."
)
bet_queue.reveal([answered[32], answered[256]], why, shows="\n".join(lines))

# %% [markdown]
# Batches end the refusals, and 99 of 100 wait for 6 ms instead of 151. They need not be large for that: two images, on
# average. A caller who is refused knows it at once; one who waits for nothing does not. So let a queue be no longer than
# what can be answered while callers wait: by Little's law, answers a second times their patience.
#
# ## Forward, under load
#
# A better network: more updates. Four callers ask for digits all the time, and meanwhile you export version 2. The server
# looks at the folder, loads the new version beside the old one, compares its answers, and switches.

# %%
bet_failed = Predict("How many requests fail meanwhile?", 0, 100, unit="requests", name="08 failed")
bet_failed


# %%
answers, failed, over = [], [], threading.Event()


def caller(first):
    with Client(server.url) as client:
        while not over.is_set():
            try:
                answers.append((first, client.infer("digits", {"image": images[first : first + 1]})))
            except Exception as error:
                failed.append(error)
            time.sleep(0.002)


# %% tags=["nbval-check-output"]
threads = [threading.Thread(target=caller, args=(first,)) for first in range(4)]
for thread in threads:
    thread.start()
export_digits(results[400])
until(lambda: answers[-1][1].version == 2)
over.set()
for thread in threads:
    thread.join()
versions = f"versions that answered: {sorted({answer.version for _, answer in answers})}"
bet_failed.reveal(len(failed), "The old version answers until the new one is ready.", shows=versions)

# %% [markdown]
# Each answer says which version it is from. Is that true? Ask the two networks of this notebook the same:

# %% tags=["nbval-check-output"]
networks = {1: network, 2: results[400].module()}
with torch.inference_mode():
    own = {number: net(held_out[0][:4]).numpy() for number, net in networks.items()}
wrong = [a for first, a in answers if not numpy.allclose(a["scores"][0], own[a.version][first], atol=1e-4)]
print("answers that are not the named version's:", len(wrong))

# %% [markdown]
# ## And back
#
# Now a bad one: ten updates, not four hundred. Its own examples fit, its checksums as well; it is a whole version of a
# bad network. But version 2 brought labelled digits, and the server asks both.

# %% tags=["nbval-check-output"]
export_digits(results[10])
until(lambda: "refused" in server.log)
reason = next(line for line in server.log.splitlines() if "refused" in line)
print(reason[reason.index("digits") :].split(" is 0.")[0], "is worse")
with Client(server.url) as client:
    print("served: version", client.infer("digits", {"image": images[:1]}).version)

# %% [markdown]
# A caller may tell you what labelled digits can't see. Then go back by hand. `pin` writes one word beside the
# versions; the server follows within a second, and stays there after a restart. (In a shell: `python -m course versions
# models digits --serve previous`.)

# %% tags=["nbval-check-output"]
with Client(server.url) as client:
    for word in (1, "newest"):
        pin(models, "digits", word)
        wanted = 1 if word == 1 else 2
        until(lambda wanted=wanted: client.infer("digits", {"image": images[:1]}).version == wanted)
        print(f"pin {word}: version {wanted} answers")

# %% [markdown]
# ## What nonsense gets
#
# Callers make mistakes. A server must say which, never break, and never guess. Eight requests that are wrong in one
# thing each. How many of them does it answer with status 500, *it is my fault*?

# %% tags=["nbval-check-output"]
good = asked["inputs"][0]
wrong_inputs = {
    "a wrong name": {**good, "name": "picture"},
    "one pixel less": {**good, "shape": [1, 783], "data": image[1:]},
    "a shape of −1": {**good, "shape": [-1, 784]},
    "another type": {**good, "datatype": "INT8"},
    "a word for a number": {**good, "data": ["ink", *image[1:]]},
    "no data": {key: good[key] for key in ("name", "shape", "datatype")},
}
rows = []
with httpx.Client() as http:
    for what, one in wrong_inputs.items():
        rows.append((what, http.post(address, json={"inputs": [one]})))
    rows.append(("not JSON at all", http.post(address, content=b"hello")))
    rows.append(("version 99", http.post(address.replace("/infer", "/versions/99/infer"), json=asked)))
for what, answer in rows:
    print(f"{what:20} {answer.status_code}  {answer.json()['error'][:88]}")

# %% [markdown]
# None. Each says what was given and what is legal. Statuses from 400 on say *your request is wrong*, and the same request
# would get the same. 429 (*the queue is full*) and 503 (*not ready*) say that nothing was done: ask again, later.

# The server goes on, for the sheet above: draw a digit there now, and version 2 answers. It ends with this notebook's
# kernel, or with `server.close()`.
#
# ## Exercises
#
# **1. How many are inside?** Requests begin at the whole milliseconds `begins` and end at `ends`. Return how many are
# inside on average, from 0 to the last end. Slow specification: look once in every millisecond, and count.
#
# <details><summary>Hint</summary>What is the rate here, and what the mean stay?</details>


# %% tags=["exercise"]
def mean_inside(begins, ends):
    return ...  # your code


# %% tags=["solution"]
def mean_inside(begins, ends):
    return sum(end - begin for begin, end in zip(begins, ends, strict=True)) / max(ends)


# %% tags=["nbval-check-output"]
check(mean_inside)

# %% [markdown]
# **2. A percentile of buckets.** A server doesn't keep every latency; it counts them in buckets. Bucket *k* has `counts[k]`
# requests of at most `edges[k]` ms (and more than the edge before). Return the smallest edge that at least `percent` of
# 100 requests are not above. Slow specification: write every request's edge down, and count for each edge.
#
# <details><summary>Hint</summary>Add up from the left; compare 100 · sum with percent · all.</details>


# %% tags=["exercise"]
def percentile_of(edges, counts, percent):
    return ...  # your code


# %% tags=["solution"]
def percentile_of(edges, counts, percent):
    below = 0
    for edge, count in zip(edges, counts, strict=True):
        below += count
        if 100 * below >= percent * sum(counts):
            return edge


# %% tags=["nbval-check-output"]
check(percentile_of)

# %% [markdown]
# **3. Batches as they form.** Requests arrive at `arrivals` (whole milliseconds, in order). One worker takes all that wait,
# `largest` at most, whenever it is idle; a batch takes `seconds` ms, whatever its size. Return the batches' sizes in order.
# A request is taken that comes in the millisecond in which the worker becomes idle. Slow specification: let a clock tick.
#
# <details><summary>Hint</summary>When does the next batch begin, given when the worker is free and who waits first?</details>


# %% tags=["exercise"]
def batches(arrivals, seconds, largest):
    return ...  # your code


# %% tags=["solution"]
def batches(arrivals, seconds, largest):
    sizes, free, taken = [], 0, 0
    while taken < len(arrivals):
        begins = max(free, arrivals[taken])
        there = sum(arrives <= begins for arrives in arrivals)
        sizes.append(min(largest, there - taken))
        taken, free = taken + sizes[-1], begins + seconds
    return sizes


# %% tags=["nbval-check-output"]
check(batches)

# %% [markdown]
# **4. Ask again?** A client asks at most `most` times. `statuses` are what it would get each time; None is a connection that
# broke without an answer. Return (how often it asks, the last status). It asks again only where that may help: after
# None, since an answer depends on the request alone; and after the two statuses that say that nothing was done.
#
# <details><summary>Hint</summary>500 is an answer: this request did harm.</details>


# %% tags=["exercise"]
def asked(statuses, most):
    return ...  # your code


# %% tags=["solution"]
def asked(statuses, most):
    for attempt, status in enumerate(statuses, 1):
        if attempt == most or status not in (429, 503, None):
            return attempt, status


# %% tags=["nbval-check-output"]
check(asked)

# %% [markdown]
# ## What this does not show
#
# - **Other machines.** Callers and server share two cores here. Over a network a request takes longer, and the server has
#   its cores to itself.
# - **A best rate for long trainings.** 100 updates are short. And the more trials choose by the held-out digits, the less
#   these are held out: the accuracy that you report needs digits that no trial has seen.
# - **Growing with the load.** More servers, a share of callers for a new version, many hosts: modelserver/docs/serving.md
#   says which systems have it.
# - **Every bad version.** Labelled digits find what is worse on *those* digits.
#
# ## Key points
#
# - Tune what you will run: three workers' best rate is a quarter of one's.
# - Latency is mostly waiting in line, and it grows without bound as a server gets full. Measure it with an open loop.
# - *L* = λ*W*, for every queue.
# - A small network's time goes into text and transport; batches pay where arithmetic is what takes the time.
# - A version is a folder that is there whole or not at all. Loading one runs its code.
#
# ## Sources
#
# - [Open Inference Protocol v2](https://github.com/kserve/open-inference-protocol), KServe and others.
# - J. D. C. Little, [A proof for the queuing formula: L = λW](https://doi.org/10.1287/opre.9.3.383), 1961.
# - B. Schroeder, A. Wierman, M. Harchol-Balter, [Open versus closed: a cautionary
#   tale](https://www.usenix.org/conference/nsdi-06/open-versus-closed-cautionary-tale), 2006.
# - G. Tene, [How not to measure latency](https://www.infoq.com/presentations/latency-pitfalls/), 2013: coordinated omission,
#   his name for what a closed loop hides.
# - PyTorch, [torch.export](https://docs.pytorch.org/docs/stable/export.html).

# %% [markdown]
# ## Your guesses

# %% tags=["timing"]
challenge = "3,000 callers a second, all answered, 99 of 100 within 20 ms: set the exhibit so."
Scorecard(bet_tail, bet_rate, bet_search, bet_loops, bet_queue, bet_failed, challenge=challenge)
