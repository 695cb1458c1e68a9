# %% [markdown]
# # Lab 06: a store and its workers
#
# **Chapter 06 killed the parameter server, and training went on. Which lines of a worker made that so?**
#
# | | |
# |---|---|
# | You will | write the gradient of a line fit; write the store with its push and its pull; train with gradients that are late; keep a log by a hook; stop at a step, as the classic hook does; write the worker that outlives its store |
# | Minutes | 90 |
# | You need | chapter 06; NumPy |
# | Resources | 1 core, 1 GB, seconds; no GPU needed; nothing is downloaded |
#
# <!-- points -->
#
# Every exercise is a function or a class. Write it, run the cell, then run the `check` below it: it looks for the
# smallest input on which your answer is wrong. Marks are made in the same way, on other lines, other noise and other
# orders of arrival, from the gradients and the parameters that your code makes. You may add cells and functions of your
# own; keep the names and the arguments.
#
# Parameters are a `float64` array `w` of two numbers, slope and intercept: the line is `w[0] * x + w[1]`.

# %%
import numpy as np

from course import check

# %% [markdown]
# ## 1. The gradient of a line fit
#
# The loss of a line on some points is the mean of the squared distances, `mean((w[0] * x + w[1] - y) ** 2)`. Which way
# is down?
#
# Write `loss_gradient(w, x, y)`: the gradient of that loss in the two parameters, a `float64` array `(2,)`. `x` and
# `y` are `float64` arrays of the same length, at least 1. The slow specification (the plainest way to a right answer;
# yours may be faster): make a parameter larger by 1 and smaller by 1, and halve the difference of the two losses. (The
# loss is a parabola in each parameter, so this is exact.)
#
# <details><summary>Hint</summary>
#
# The derivative of a square is twice the inside, times the derivative of the inside: `x` for the slope, 1 for the
# intercept.
#
# </details>


# %% tags=["exercise:loss_gradient", "points:2"]
def loss_gradient(w, x, y):
    ### BEGIN SOLUTION
    distance = w[0] * x + w[1] - y
    return np.array([2 * (distance * x).mean(), 2 * distance.mean()])
    ### END SOLUTION


# %%
check(loss_gradient)

# %% [markdown]
# ## 2. The store: push and pull
#
# A store holds the parameters and a *version*, the number of gradients it has applied. Workers pull both, compute, and
# push a gradient with the version that it was computed at. By then other gradients may have come: how many is the
# push's *staleness*.
#
# Write the class `Store`:
#
# - `Store(w, learning_rate, max_staleness=None)` begins with the parameters `w`, at version 0.
# - `pull()` returns `(version, w)`.
# - `push(gradient, version)` subtracts `learning_rate * gradient` and returns the staleness of this push, the number
#   of gradients applied since `version`. With a `max_staleness`, a push that is staler is dropped: it changes nothing,
#   makes no version, and `push` returns `None`.
#
# Nothing that a worker does to an array that it gave or got may change the store, and what a worker has pulled does not
# change by itself. The slow specification: the parameters at version v are the first ones, less the learning rate times
# the sum of the first v gradients applied.
#
# Following the specification in the plain cases gives half of the points; bounded staleness and independence of the
# workers' arrays give a quarter each. In a counterexample `'scribble'` says that workers write over the arrays that they
# gave and got, and `'keep'` that what was pulled is looked at after the last call.
#
# <details><summary>Hint</summary>
#
# `a -= b` changes the array that others may hold; `a = a - b` makes a new one. `np.array(w, float)` copies.
#
# </details>


# %% tags=["exercise:store", "points:4"]
class Store:
    def __init__(self, w, learning_rate, max_staleness=None):
        ### BEGIN SOLUTION
        self.w = np.array(w, float)
        self.learning_rate, self.max_staleness, self.version = learning_rate, max_staleness, 0
        ### END SOLUTION

    def pull(self):
        ### BEGIN SOLUTION
        return self.version, self.w.copy()
        ### END SOLUTION

    def push(self, gradient, version):
        ### BEGIN SOLUTION
        staleness = self.version - version
        if self.max_staleness is not None and staleness > self.max_staleness:
            return None
        self.w = self.w - self.learning_rate * np.asarray(gradient)
        self.version += 1
        return staleness
        ### END SOLUTION


# %%
check(Store, "store")

# %% [markdown]
# ## 3. Late gradients
#
# Now a whole training, in slow motion. `turns` lists the workers in the order in which they speak to the store, for
# example `[0, 1, 1, 0]`. All workers pull at the start. At turn k, worker `turns[k]` takes its gradient on the points
# `x[k], y[k]`, *at the parameters that it pulled last*, pushes it, and pulls again at once.
#
# The store begins with both parameters 0 and applies *Adagrad*: it adds the squares of each gradient to two sums,
# which begin at 0, and then subtracts `learning_rate * gradient / (sqrt(sums) + 1e-10)`.
#
# Write `train_async(x, y, turns, learning_rate, gradient)`: the parameters at all versions, `float64`
# `(len(turns) + 1, 2)`. `x` and `y` have a row for each turn. `gradient(w, x, y)` is given; here it will be your
# `loss_gradient`, and the check passes in that of another loss. So a mistake in exercise 1 costs nothing here.
#
# The slow specification: worker `turns[k]` holds the version that it made at its last turn, or version 0. Look that up.
#
# <details><summary>Hint</summary>
#
# A dictionary from a worker to what it pulled last; `held.get(worker, first)` for one that has not spoken yet.
#
# </details>


# %% tags=["exercise:train_async", "points:4"]
def train_async(x, y, turns, learning_rate, gradient):
    ### BEGIN SOLUTION
    w, sums, held = np.zeros(2), np.zeros(2), {}
    versions = [w]
    for k, worker in enumerate(turns):
        found = gradient(held.get(worker, versions[0]), x[k], y[k])
        sums = sums + found**2
        w = w - learning_rate * found / (np.sqrt(sums) + 1e-10)
        versions.append(w)
        held[worker] = w
    return np.array(versions)
    ### END SOLUTION


# %%
check(train_async)

# %% [markdown]
# The classic problem: 101 points around y = 2x + 0.2, noise 0.4, Adagrad with 0.8, three workers in any order. How near
# does it come?

# %% tags=["notebook-only"]
rng = np.random.default_rng(6)
x = np.linspace(-1, 1, 101)
y = 2 * x + 0.2 + 0.4 * rng.normal(size=101)
chosen = rng.integers(101, size=(300, 20))
versions = train_async(x[chosen], y[chosen], rng.integers(3, size=300).tolist(), 0.8, loss_gradient)
if versions is not ...:
    print("slope and intercept after 10, 100 and 300 gradients:", np.round(versions[[10, 100, 300]], 2).tolist())

# %% [markdown]
# ## 4. A hook that keeps a log
#
# A hook is an object whose methods training calls: `begin(session)` once, `after_run(session, step)` after each step,
# `end(session)` once. A step has `step.step`, its number from 1 up, `step.worker`, `step.staleness` and `step.loss`.
#
# Write the class `StepLog`, made by `StepLog(every)`. When training has ended, its `records` is a list with a tuple for
# every `every` steps: `(number of the last of them, mean of their losses, largest staleness)`. Blocks are counted from
# step 1: with `every=10` they are steps 1 to 10, 11 to 20, and so on. The first and the last block may be incomplete:
# training may go on from a checkpoint, and may end anywhere; then the record is about the steps that were told.
#
# When the store dies and comes back from its checkpoint, steps are told again, from a smaller number: then all that was
# told before of that number and of larger ones is undone, and must not count. That is a third of the points.
#
# The slow specification: for each number from 1 up, its last telling, if no smaller number was told after that; then
# block by block. A counterexample shows `every`, the step at which training began, and the steps that were told, each
# as (number, worker, staleness, loss).
#
# <details><summary>Hint</summary>
#
# Keep the steps, and make the records at the end. On a step whose number is not larger than the last one's, drop what
# is undone first.
#
# </details>


# %% tags=["exercise:step_log", "points:3"]
class StepLog:
    def __init__(self, every):
        ### BEGIN SOLUTION
        self.every, self.steps, self.records = every, [], []
        ### END SOLUTION

    def begin(self, session):
        pass

    def after_run(self, session, step):
        ### BEGIN SOLUTION
        self.steps = [earlier for earlier in self.steps if earlier.step < step.step] + [step]
        ### END SOLUTION

    def end(self, session):
        ### BEGIN SOLUTION
        blocks = {}
        for step in self.steps:
            blocks.setdefault((step.step - 1) // self.every, []).append(step)
        for block in blocks.values():
            losses = [step.loss for step in block]
            self.records.append((block[-1].step, sum(losses) / len(losses), max(step.staleness for step in block)))
        ### END SOLUTION


# %%
check(StepLog, "step_log")

# %% [markdown]
# ## 5. Stop at a step
#
# The classic hook that ends a training takes one of two numbers: `last_step`, the step at which to stop, or
# `num_steps`, how many steps to make from where training begins, which after a checkpoint is not 0.
#
# Write the class `StopAtStep`, made by `StopAtStep(num_steps=None, last_step=None)`. Exactly one of the two must be
# given; otherwise it raises `ValueError`. `begin(session)` finds in `session.step` how many steps were made before.
# `after_run(session, step)` calls `session.request_stop("why")` as soon as `step.step` is the last step or past it.
# A hook on one of several workers sees only that worker's steps: the numbers have gaps.
#
# The slow specification: write down all steps that are told, and look for the first that is as large as the number. A
# counterexample shows the settings, the step at the beginning and the steps told; `(False, 3)` says that the hook
# raised no `ValueError` and asked for a stop at step 3.
#
# <details><summary>Hint</summary>
#
# Is 0 a number that was given? `is None` knows.
#
# </details>


# %% tags=["exercise:stop_at_step", "points:3"]
class StopAtStep:
    def __init__(self, num_steps=None, last_step=None):
        ### BEGIN SOLUTION
        if (num_steps is None) == (last_step is None):
            raise ValueError("give num_steps or last_step, one of the two")
        self.num_steps, self.last_step = num_steps, last_step
        ### END SOLUTION

    def begin(self, session):
        ### BEGIN SOLUTION
        if self.last_step is None:
            self.last_step = session.step + self.num_steps
        ### END SOLUTION

    def after_run(self, session, step):
        ### BEGIN SOLUTION
        if step.step >= self.last_step:
            session.request_stop(f"step {step.step}")
        ### END SOLUTION

    def end(self, session):
        pass


# %%
check(StopAtStep, "stop_at_step")

# %% [markdown]
# ## 6. Outlive the store
#
# Your worker is the only one. The store is a process of its own, and it is going to be killed, more than once. Each
# time it comes back a moment later from its last checkpoint: an older version, with the parameters of that version.
#
# Write `train_through(connect, gradient, x, y)`. It makes one update for each row of `x` and `y`: the update from
# version v to v + 1 uses the gradient at the parameters of version v on the points `x[v], y[v]`. When the store is at
# version `len(x)`, return its parameters.
#
# - `connect()` returns a connection, or raises `ConnectionError` while there is no store.
# - `connection.pull()` returns `(version, w)`.
# - `connection.push(g)` hands over a gradient; the store applies whatever it is handed, and answers with its new
#   version.
# - When the store dies, `pull` and `push` raise `ConnectionError`, and so does everything on that connection from then
#   on. A push that raised may have been applied or not.
#
# `gradient(w, x, y)` is given, as in exercise 3. The slow specification: that training with no death. What marks are
# made from is the store's own record of every gradient that it applied, and when.
#
# <details><summary>Hint</summary>
#
# Who knows which update is due? Not your worker's loop counter.
#
# </details>


# %% tags=["exercise:train_through", "points:5"]
def train_through(connect, gradient, x, y):
    ### BEGIN SOLUTION
    import time

    connection = None
    while True:
        try:
            if connection is None:
                connection = connect()
            version, w = connection.pull()
            if version == len(x):
                return w
            connection.push(gradient(w, x[version], y[version]))
        except ConnectionError:
            connection = None
            time.sleep(0.02)
    ### END SOLUTION


# %%
check(train_through)

# %% [markdown]
# The check's store lives in this notebook and only plays dead. The one that marks are made with is killed. Chapter 06
# has the course's own store, which several workers push to, and says what has to be added for them: the id of a push.
#
# ## Before you hand it in
#
# Choose *Kernel → Restart Kernel and Run All Cells*: every check should pass from the top. A cell that takes minutes
# costs marks when time runs out; what your cells print or draw does not matter.
