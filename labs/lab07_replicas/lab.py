# %% [markdown]
# # Lab 07: replicas
#
# **Gradients that arrive eight updates late: by what factor must the learning rate shrink, or all diverges?**
#
# | | |
# |---|---|
# | You will | split a product over tasks that work at once; take the gradients of a network's replicas and average them by their shares; write the store that waits for its workers; descend with stale gradients, and find the largest rate that they stand |
# | Minutes | 90 |
# | You need | chapters 06 and 07; NumPy, PyTorch |
# | Resources | 1 core, 1 GB, seconds; no GPU needed; nothing is downloaded |
#
# <!-- points -->
#
# Every exercise is a function or a class. Write it, run the cell, then run the `check` below it: it looks for the
# smallest input on which your answer is wrong. Marks are made in the same way, on other inputs, from values: products,
# gradients, parameters. You may add cells and functions of your own; keep the names and the arguments. The course's own
# `replicas` is not there when marks are made.

# %%
import numpy as np
import torch

from course import check

# %% [markdown]
# ## 1. A split product
#
# Row i of `a @ b` needs row i of `a` and all of `b`. So several tasks can each make some of the rows.
#
# Write `product_by_tasks(a, b, tasks)`: the product of two `float64` arrays, made by the tasks. `tasks` is a list of
# functions; `tasks[k](left, right)` sends two arrays to task k, a process of its own, waits, and returns their
# product. Cut the rows of `a` into one slice for each task, in order, whose sizes differ by at most one, the larger
# ones first (as `np.array_split` does). Every task is given its slice and all of `b`, once. There are at least as many
# rows as tasks. The slow specification (the plainest way to a right answer; yours may be faster): one task after
# another.
#
# That gets half of the points. The other half is for tasks that work *at once*: each is asked before the answer of any
# other is waited for. The check's tasks tell, and so do those that marks are made with: none of them answers until all
# have been asked, or some seconds have passed.
#
# <details><summary>Hint</summary>
#
# A call waits, so each needs a thread: `concurrent.futures.ThreadPoolExecutor(len(tasks))` and its `map` or `submit`.
#
# </details>


# %% tags=["exercise:product_by_tasks", "points:4"]
def product_by_tasks(a, b, tasks):
    ### BEGIN SOLUTION
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(len(tasks)) as pool:
        asked = [pool.submit(task, rows, b) for task, rows in zip(tasks, np.array_split(a, len(tasks)), strict=True)]
        return np.concatenate([answer.result() for answer in asked])
    ### END SOLUTION


# %%
check(product_by_tasks)

# %% [markdown]
# ## 2. The replicas of a network
#
# A network has two layers: `hidden = sigmoid(x @ w1 + b1)`, `scores = hidden @ w2 + b2`. Its loss on some rows is the
# *mean* cross-entropy of the scores and the rows' labels. Each replica has all parameters and a share of the rows.
#
# Write `replica_gradients(parameters, x, labels, shares)`. `parameters` is the list `[w1, b1, w2, b2]`, `x` has a row
# for each of `labels`, all are tensors (`float64`; the labels `int64`). Replica k gets the next `shares[k]` rows; the
# shares sum up to all rows. Return two tensors:
#
# - `(replicas, n)`: each replica's gradient of *its* loss, as one row of n numbers, all of w1 first (`flatten`), then
#   b1, w2, b2. A replica without rows has the gradient 0.
# - `(n,)`: their mean, such that it is the gradient of the loss on all rows.
#
# The slow specification of the second: no replicas.
#
# <details><summary>Hint</summary>
#
# `torch.autograd.grad(loss, parameters)` gives the gradients of copies for which `requires_grad_()` was called. A mean
# of unequal parts needs weights.
#
# </details>


# %% tags=["exercise:replica_gradients", "points:4"]
def replica_gradients(parameters, x, labels, shares):
    ### BEGIN SOLUTION
    copies = [parameter.clone().requires_grad_() for parameter in parameters]
    w1, b1, w2, b2 = copies
    every = []
    for rows, truth in zip(x.split(shares), labels.split(shares), strict=True):
        if len(rows) == 0:
            every.append(torch.zeros(sum(parameter.numel() for parameter in parameters), dtype=x.dtype))
            continue
        scores = torch.sigmoid(rows @ w1 + b1) @ w2 + b2
        found = torch.autograd.grad(torch.nn.functional.cross_entropy(scores, truth), copies)
        every.append(torch.cat([part.flatten() for part in found]))
    gradients = torch.stack(every)
    weights = torch.tensor(shares, dtype=x.dtype) / len(x)
    return gradients, weights @ gradients
    ### END SOLUTION


# %%
check(replica_gradients)

# %% [markdown]
# ## 3. The store that waits
#
# Synchronous training: an update is the mean of the gradients of `needed` *different* workers, all computed at the
# store's present version. Whoever comes late, or comes twice, is sent away.
#
# Write the class `SyncStore`:
#
# - `SyncStore(w, learning_rate, needed)` begins with the parameters `w`, a `float64` array, at version 0.
# - `pull()` returns `(version, w)`.
# - `push(worker, version, gradient, rows)`: `gradient` is that of a mean over so many `rows`, computed at `version`.
#   It returns one of three words. `"dropped"`: the version is not the present one, or this worker has pushed at this
#   version before; nothing changes. `"waiting"`: the push is kept. `"applied"`: with this one there are `needed`; the
#   store subtracts the learning rate times the mean gradient over all their rows, and is at the next version.
#
# Adding up numbers of a computer depends on the order, so the store adds in the order of the workers' numbers, the
# smallest first, not in the order in which they came: who was quicker must not change the answer. That is a quarter of
# the points, and so is sending away; the mean is half. The slow specification: keep all pushes ever made, and at each
# one look through them.
#
# <details><summary>Hint</summary>
#
# A dictionary from the worker to its gradient and rows; `sorted` goes through it by number.
#
# </details>


# %% tags=["exercise:sync_store", "points:4"]
class SyncStore:
    def __init__(self, w, learning_rate, needed):
        ### BEGIN SOLUTION
        self.w, self.learning_rate, self.needed = np.array(w, float), learning_rate, needed
        self.version, self.waiting = 0, {}
        ### END SOLUTION

    def pull(self):
        ### BEGIN SOLUTION
        return self.version, self.w.copy()
        ### END SOLUTION

    def push(self, worker, version, gradient, rows):
        ### BEGIN SOLUTION
        if version != self.version or worker in self.waiting:
            return "dropped"
        self.waiting[worker] = np.array(gradient, float), rows
        if len(self.waiting) < self.needed:
            return "waiting"
        used = [self.waiting[number] for number in sorted(self.waiting)]
        mean = sum(found * count for found, count in used) / sum(count for _, count in used)
        self.w = self.w - self.learning_rate * mean
        self.version, self.waiting = self.version + 1, {}
        return "applied"
        ### END SOLUTION


# %%
check(SyncStore, "sync_store")

# %% [markdown]
# ## 4. Stale gradients
#
# Asynchronous training in its purest form: every gradient is `delay` updates late. Version k + 1 is version k, less
# the learning rate times the gradient at version k − delay; as long as there is no such version, at version 0.
#
# Write `delayed_descent(w, rate, delay, steps, gradient)`: all versions of the number `w`, from 0 to `steps`, a
# `float64` array `(steps + 1,)`. `gradient(w)` is given; it is a function of one number. The slow specification: write
# the versions down one after another, and for each look up the two that it follows from.
#
# <details><summary>Hint</summary>
#
# Keep all versions in a list; `versions[max(0, k - delay)]`.
#
# </details>


# %% tags=["exercise:delayed_descent", "points:2"]
def delayed_descent(w, rate, delay, steps, gradient):
    ### BEGIN SOLUTION
    versions = [w]
    for k in range(steps):
        versions.append(versions[k] - rate * gradient(versions[max(0, k - delay)]))
    return np.array(versions, float)
    ### END SOLUTION


# %%
check(delayed_descent)

# %% [markdown]
# On the parabola w², whose gradient is 2w, one rate and four delays:

# %% tags=["notebook-only"]
for delay in (0, 1, 2, 3):
    versions = delayed_descent(1.0, 0.4, delay, 60, lambda w: 2 * w)
    if versions is not ...:
        print(f"{delay} late: after 20, 40 and 60 steps", versions[[20, 40, 60]].round(4).tolist())

# %% [markdown]
# ## 5. How much lateness a rate stands
#
# On a parabola with the gradient `curvature * w`, there is a largest learning rate: below it the versions shrink
# towards 0, above it they grow without end. Lateness lowers it.
#
# Write `stable_rate(curvature, delay)`: that rate, to 1 %. `curvature` is between 0.1 and 100, `delay` from 0 to 12.
# The slow specification: try rates and run the descent of exercise 4 for some thousand steps; halve the interval
# between one that shrinks and one that grows. (Fifteen halvings will do.)
#
# <details><summary>Hint</summary>
#
# How the rate depends on the curvature you can say without a computer. For the delay, measure; compare the largest of
# the last hundred versions with the largest of a hundred early ones.
#
# </details>


# %% tags=["exercise:stable_rate", "points:3"]
def stable_rate(curvature, delay):
    ### BEGIN SOLUTION
    low, high = 0.0, 2.5
    for _ in range(15):
        rate, versions = (low + high) / 2, [1.0] * (delay + 1)
        while len(versions) < 3000 and abs(versions[-1]) < 1e9:
            versions.append(versions[-1] - rate * versions[-1 - delay])
        grows = abs(versions[-1]) >= 1e9 or max(map(abs, versions[-100:])) > max(map(abs, versions[100:200]))
        low, high = (low, rate) if grows else (rate, high)
    return low / curvature
    ### END SOLUTION


# %%
check(stable_rate)

# %% [markdown]
# Now the question from the top has your answer:

# %% tags=["notebook-only"]
fresh, late = stable_rate(1.0, 0), stable_rate(1.0, 8)
if fresh is not ...:
    print(f"eight updates late: a rate {fresh / late:.0f} times smaller")

# %% [markdown]
# ## Before you hand it in
#
# Choose *Kernel → Restart Kernel and Run All Cells*: every check should pass from the top. A cell that takes minutes
# costs marks when time runs out; what your cells print or draw does not matter.
