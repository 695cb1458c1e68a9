# %% [markdown]
# # Lab 08: serving
#
# **A server takes 10 ms for a request, and 95 come in a second, at random moments. One in a hundred takes longer than how
# many milliseconds?**
#
# | | |
# |---|---|
# | You will | work out how long requests take that come when they like; write the batcher of a model server; read a percentile off the histograms of several workers; find the version to serve in a folder that somebody is writing into; call a server again only when that does no harm |
# | Minutes | 120 |
# | You need | Python; a little NumPy. Chapter 08 shows a server of which these are the parts |
# | Resources | 1 core, 1 GB, seconds; no GPU needed; nothing is downloaded |
#
# <!-- points -->
#
# Every exercise is a function or a class. Write it, run the cell, then run the `check` below it: it looks for the
# smallest input on which your answer is wrong. Marks are made in the same way, on other inputs, from what your code
# returns, and in the last exercise from the record of the server that it calls. You may add cells and functions of your
# own; keep the names and the arguments. No exercise needs another one. All times are in seconds.

# %%
import hashlib
import json
import math
import os
import random

import numpy as np

from course import check

# %% [markdown]
# ## 1. How long requests take
#
# Users send requests when they like, whether the server is quick or not: that is an *open* loop. A client that waits
# for each answer before it sends the next request is a *closed* one. When the server is slow, such a client sends less,
# and what it measures leaves out the queue: Gil Tene calls it *coordinated omission*. So a request's latency is counted
# from the moment at which it was due, not from when somebody got round to it.
#
# Write `latencies(due, seconds, workers)`. Request k is due at `due[k]` and keeps a worker busy for `seconds[k]`. Both
# are `float64` arrays `(n,)`, n at least 1; `due` never falls, `seconds` are above 0. There are `workers` workers, at
# least 1, and one queue: requests are begun in their order, each as soon as it is due and some worker is free. Return
# the latencies, a `float64` array `(n,)`: from when a request was due until it is done.
#
# The slow specification (the plainest way to a right answer; yours may be faster): a request is begun when it is due
# or, if that is later, at the moment from which fewer than `workers` of the requests before it are unfinished.
#
# <details><summary>Hint</summary>
#
# For each worker, keep the time at which it becomes free. The next request goes to the worker who is free first.
#
# </details>


# %% tags=["exercise:latencies", "points:2"]
def latencies(due, seconds, workers):
    ### BEGIN SOLUTION
    free, took = [0.0] * workers, []
    for when, lasts in zip(due, seconds, strict=True):
        first = free.index(min(free))
        free[first] = max(free[first], when) + lasts
        took.append(free[first] - when)
    return np.array(took)
    ### END SOLUTION


# %%
check(latencies)

# %% [markdown]
# ## 2. The batcher
#
# A model often takes little longer for 32 rows than for one. So a server's *batcher* puts requests together. It must not
# make anybody wait for that: while a worker is idle, nothing waits. Batches become large by themselves when there is
# much to do.
#
# Write the class `Batcher`. Its methods are called in the order of time; `now` is the time.
#
# - `Batcher(limit, room)`: a batch has at most `limit` rows; at most `room` requests wait. At first no worker is idle
#   and nothing waits. `limit` is at least 1, `room` at least 0.
# - `take(request, now)`: a request has come. It returns one of three words. `"started"`: there is an idle worker, and
#   it begins with this request alone. `"queued"`: no worker is idle, and the request waits. `"refused"`: no worker is
#   idle, and `room` requests wait already.
# - `idle(now)`: a worker has nothing to do. It returns the batch that this worker begins now: the list of its requests'
#   numbers, in the order in which they came. When nothing waits, it returns `[]`, and the worker is idle until `take`
#   gives it something. Several workers can be idle at the same time.
#
# A request has `request.number`; `request.rows`, from 1 to `limit`; `request.signature`, a text with the names, types
# and shapes of its tensors; and `request.until`, the time at which its client gives up. A batch is made so:
#
# - A request whose client has given up (`until` is `now` or earlier) waits no longer: it is in no batch, and takes no
#   room.
# - The request that waits longest is in the batch.
# - The others in it have the same signature as that one. They follow in the order in which they came, as many as fit.
#   The first *of that signature* that doesn't fit ends the batch. Requests with other signatures keep their places.
#
# Half of the points are for batches by rows and the queue's limit, a quarter each for signatures and for clients who
# give up. In a counterexample, what was given is a pair for each call: the word of a `take`, the batch of an `idle`. The
# slow specification: keep every request that ever came, with a note of what became of it, and go through all of them at
# each call.
#
# <details><summary>Hint</summary>
#
# A list of those who wait, and the number of idle workers. Begin both methods by leaving out who has given up.
#
# </details>


# %% tags=["exercise:batcher", "points:4"]
class Batcher:
    def __init__(self, limit, room):
        ### BEGIN SOLUTION
        self.limit, self.room = limit, room
        self.waiting, self.free = [], 0
        ### END SOLUTION

    def take(self, request, now):
        ### BEGIN SOLUTION
        self.waiting = [one for one in self.waiting if one.until > now]
        if self.free:
            self.free -= 1
            return "started"
        if len(self.waiting) >= self.room:
            return "refused"
        self.waiting.append(request)
        return "queued"
        ### END SOLUTION

    def idle(self, now):
        ### BEGIN SOLUTION
        self.waiting = [one for one in self.waiting if one.until > now]
        if not self.waiting:
            self.free += 1
            return []
        batch, rows = [], 0
        for one in self.waiting:
            if one.signature != self.waiting[0].signature:
                continue
            if rows + one.rows > self.limit:
                break
            batch.append(one.number)
            rows += one.rows
        self.waiting = [one for one in self.waiting if one.number not in batch]
        return batch
        ### END SOLUTION


# %%
check(Batcher, "batcher")

# %% [markdown]
# ## 3. Percentiles from histograms
#
# A server that kept every latency would run out of memory. It keeps a *histogram*: for each of a few bounds, how many
# latencies were at most that long. The counts are *cumulative*: each has those of the smaller bounds in it. The last
# bound is infinite, so its count is that of all requests. The monitoring system reads the histograms now and then, and
# what happened in between is the difference of two readings. A worker that died and was started again counts from 0
# again.
#
# Write `quantile(share, bounds, readings)`: the latency, a float in seconds, that a share of the requests did not
# exceed, of all workers together, between two readings.
#
# - `share` is above 0 and at most 1.
# - `bounds` is a `float64` array `(b,)` of rising bounds above 0, the last one infinite; b is at least 2.
# - `readings` has a pair `(before, after)` for each worker, at least one: `int64` arrays `(b,)` of its cumulative
#   counts. When `after[-1] < before[-1]`, the worker was started again in between, once, and `after` is all that it has
#   counted since; what it counted between the first reading and its death is lost. Otherwise it was not.
#
# The rule is that of Prometheus, which most such systems follow. With n requests in all, look for the place `share * n`
# in the first bucket whose cumulative count is at least that. Take the requests of a bucket to be spread evenly from
# the bound before it (0 for the first bucket) to its own. If that bucket is the last one, whose bound is infinite, the
# answer is the largest finite bound. Without any request it is `nan`.
#
# Half of the points are for one worker, a quarter each for several and for those that were started again. The slow
# specification: for a latency x between 0 and the largest finite bound, count how many requests took at most x, a part
# of a bucket counting for its part; halve the interval for the smallest x whose count is `share * n`.
#
# <details><summary>Hint</summary>
#
# Add up the workers' counts first, the percentile comes after. A mean of percentiles is no percentile of anything.
#
# </details>


# %% tags=["exercise:quantile", "points:4"]
def quantile(share, bounds, readings):
    ### BEGIN SOLUTION
    counts = np.zeros(len(bounds))
    for before, after in readings:
        counts += after if after[-1] < before[-1] else after - before
    place = share * counts[-1]
    if not counts[-1]:
        return math.nan
    found = int(np.argmax(counts >= place))
    if found == len(bounds) - 1:
        return float(bounds[-2])
    lower, less = (bounds[found - 1], counts[found - 1]) if found else (0.0, 0.0)
    return float(lower + (bounds[found] - lower) * (place - less) / (counts[found] - less))
    ### END SOLUTION


# %%
check(quantile)

# %% [markdown]
# Now the question from the top has your answer: 10 ms of work, 95 requests a second for twenty minutes, one worker. What
# would a client in a closed loop have told you? (Cells that only show something, such as this one, are not run when
# marks are made.)

# %% tags=["notebook-only"]
due = np.sort(np.random.default_rng(8).uniform(0, 1200, 95 * 1200))
took = latencies(due, np.full(len(due), 0.010), 1)
bounds = np.append(np.geomspace(0.010, 2.0, 40), math.inf)


def told(took):
    counts = np.array([np.sum(took <= bound) for bound in bounds])
    exact, found = np.quantile(took, 0.99), quantile(0.99, bounds, [(0 * counts, counts)])
    return (
        f"mean {took.mean() * 1000:.0f} ms, 99 % {found * 1000:.0f} ms by the histogram, {exact * 1000:.0f} ms exactly"
    )


if took is not ... and quantile(0.5, bounds, [(np.zeros(41), np.ones(41))]) is not ...:
    print(told(took))

# %% [markdown]
# Little's law says that as many requests are in the server, on average, as come in a second times the mean latency.
# Look in at a hundred thousand moments, and count. (In the long run the mean is 105 ms, by the formula of Pollaczek and
# Khinchine: with a worker that is busy for a share r of the time, the wait is r / (2 - 2 r) times the work. Twenty
# minutes are not long.)

# %% tags=["notebook-only"]
if took is not ...:
    moments = np.random.default_rng(9).uniform(0, 1200, 100_000)
    inside = np.searchsorted(due, moments) - np.searchsorted(np.sort(due + took), moments)
    print(f"in the server: {inside.mean():.2f} on average; Little's law says {95 * took.mean():.2f}")

# %% [markdown]
# Now let your batcher put requests together, on a model that takes 9 ms for each batch and 1 ms for each row in it: one
# alone takes the same 10 ms as before. Here is the first minute, with batches of at most 1, 2 and 32 rows.

# %% tags=["notebook-only"]
from types import SimpleNamespace


def with_batches(due, limit):
    batcher, now, came, took = Batcher(limit, len(due)), 0.0, 0, {}

    def take(when):
        batcher.take(SimpleNamespace(number=came, rows=1, signature="x", until=math.inf), when)
        return came + 1

    for _ in due:  # there are no more batches than requests
        while came < len(due) and due[came] <= now:
            came = take(due[came])
        batch = batcher.idle(now)
        if not batch and came < len(due):  # the worker is idle until the next request comes
            now, batch = due[came], [came]
            came = take(now)
        now += 0.009 + 0.001 * len(batch)
        took |= {number: now - due[number] for number in batch}
    return np.array(list(took.values()))


if took is not ... and Batcher(1, 1).idle(0.0) == []:
    minute = due[due < 60]
    for limit in (1, 2, 32):
        print(f"at most {limit:>2} rows:", told(with_batches(minute, limit)))

# %% [markdown]
# ## 4. The version to serve
#
# A trainer writes version after version of a model into a folder, while a server looks into it every few seconds. It
# must never serve a version that is half there. It only reads: whatever else lies there belongs to somebody who may be
# writing it just now.
#
# Write `newest(directory, served)`: the number of the version to serve. `directory` is the folder's path, a text.
# `served` is the number that is served now, which you returned last time, or 0 when none is.
#
# - A version is a *folder* in it whose name is a number: the digits 0 to 9 only, the first not 0. `9` and `10` are
#   versions; `3.part`, `latest` and `007` are none.
# - It is complete when it has a file `checksums.json`, and that holds a whole JSON dictionary, name of a file → its
#   SHA-256 in 64 hexadecimal digits, and all these files are in the version's folder with that checksum. Other files
#   don't matter. Names have no folders in them.
# - `rolled_back.json` in `directory`, if it is there, is a JSON list of the numbers of versions that turned out to be
#   bad. (It is always whole.)
#
# Return the largest number that is complete and not rolled back. The version that is served is in memory, and was
# complete when it was loaded: it counts as complete whatever has become of its folder since. When no version is left,
# return 0. Never raise an error: a version that can't be read is not complete.
#
# Marks are made on folders in which a writer does one thing after another, with a look in between: half the points for
# versions that come and go, a quarter each for those that are half written and for what is rolled back. A
# counterexample tells what the writer did. There, `look` is a call of yours, and `restart` a new server, which serves
# nothing yet; `write 1/checksums.json for model.pt2 'a'` writes the checksum of a file that holds the letter a. What was
# given is a pair for each look: your number, and whether you left the folder as it was. The slow specification: of all
# numbers from 1 on, ask each whether it is a complete version, and keep the largest.
#
# <details><summary>Hint</summary>
#
# `hashlib.sha256(data).hexdigest()` is a checksum of bytes. `OSError` and `ValueError` are what reading files and JSON
# raise; `json.JSONDecodeError` is a `ValueError`.
#
# </details>


# %% tags=["exercise:newest", "points:4"]
def newest(directory, served):
    ### BEGIN SOLUTION
    def is_complete(folder):
        try:
            with open(os.path.join(folder, "checksums.json"), encoding="utf-8") as file:
                sums = json.load(file)
            for name, checksum in sums.items():
                with open(os.path.join(folder, name), "rb") as file:
                    if hashlib.sha256(file.read()).hexdigest() != checksum:
                        return False
        except (OSError, ValueError):
            return False
        return True

    bad = []
    if os.path.exists(os.path.join(directory, "rolled_back.json")):
        with open(os.path.join(directory, "rolled_back.json"), encoding="utf-8") as file:
            bad = json.load(file)
    names = [name for name in os.listdir(directory) if set(name) <= set("0123456789") and name[0] != "0"]
    there = [int(name) for name in names if is_complete(os.path.join(directory, name))]
    return max([number for number in [*there, served] if number not in bad], default=0)
    ### END SOLUTION


# %%
check(newest)

# %% [markdown]
# ## 5. Call again, where that does no harm
#
# Servers are restarted, queues are full, answers get lost. A good client tries again, but not always: a request may have
# been carried out although its answer never came, and a client that keeps knocking makes a full server fuller.
#
# Write `call(request, send, clock, sleep, deadline)`.
#
# - `request` is a dictionary: `"method"`, `"GET"` or `"POST"`; `"path"`; `"id"`, a text or `None`. Send it as it is.
# - `send(request, timeout)` sends it once and waits for an answer for `timeout` seconds at most. It returns an answer,
#   or raises an error, as the table says. An answer has `answer.status`, a number, and `answer.retry_after`: after how
#   many seconds to come back, or `None`.
# - `clock()` is the time in seconds, and `sleep(seconds)` waits. Time is simulated: it passes in `send` and in `sleep`
#   only. `deadline` is a time of that clock.
#
# | `send` | what happened | send it again? |
# |---|---|---|
# | raises `ConnectionRefusedError` | nobody was there to take the request | yes |
# | raises `ConnectionResetError` | the connection broke: it may have been carried out, or not | only if twice does no harm |
# | raises `TimeoutError` | no answer in `timeout` seconds: by then it is too late | no |
# | status 429 or 503 | the server is too busy, and did nothing | yes |
# | any other status | that is the answer | no |
#
# Twice does no harm when the method is `"GET"`; or the path ends with `/infer`, which computes and changes nothing; or
# the `"id"` is not `None`, since the server carries out each id once. Where nothing is to be sent again, return the
# answer, or let the error pass.
#
# **Pauses.** Before it is sent again for the n-th time (n = 1, 2, …), sleep for s seconds. With `step = 0.1 * 2**(n - 1)`
# and `wait`, the `retry_after` of the answer that has just come (0 where there is none), s is at least
# `max(wait, step / 2)` and at most `wait + step`. Where in between is yours to choose: at random, so that clients that
# were sent away together do not come back together.
#
# **The deadline.** Each `timeout` is all of the time that is left until `deadline`. Nothing is sent at the deadline or
# later: when the time has come already, raise `TimeoutError` and send nothing. When the pause would end at the deadline
# or later, don't sleep: give up at once, which means to return the last answer, or to raise the last error.
#
# What is sent again counts 0.4 of the points, the pauses 0.2, the deadline 0.4. The slow specification: the list of all
# that was sent and slept, read line by line against the rules above. That record is the server's, not yours. In a
# counterexample, what was given is the status of the answer that you returned, and the name of the error that you
# raised; one of the two is empty.
#
# <details><summary>Hint</summary>
#
# One loop, in which `send` stands once, in a `try`. Both errors of connections are a `ConnectionError`, and all three
# are an `OSError`: which `except` comes first?
#
# </details>


# %% tags=["exercise:call", "points:5"]
def call(request, send, clock, sleep, deadline):
    ### BEGIN SOLUTION
    harmless = request["method"] == "GET" or request["path"].endswith("/infer") or request["id"] is not None
    if clock() >= deadline:
        raise TimeoutError("no time is left")
    step = 0.1
    while True:
        answer, error = None, None
        try:
            answer = send(request, deadline - clock())
            if answer.status not in (429, 503):
                return answer
        except ConnectionRefusedError as failure:
            error = failure
        except ConnectionResetError as failure:
            if not harmless:
                raise
            error = failure
        wait = (answer.retry_after or 0) if answer else 0
        pause = max(wait, step / 2) + random.random() * step / 2
        if clock() + pause >= deadline:
            if error is not None:
                raise error
            return answer
        sleep(pause)
        step *= 2
    ### END SOLUTION


# %%
check(call)

# %% [markdown]
# ## Sources
#
# - Percentiles: Prometheus, [histogram_quantile](https://prometheus.io/docs/prometheus/latest/querying/functions/#histogram_quantile),
#   and its source, `promql/quantile.go`, `bucketQuantile`.
# - Coordinated omission: Gil Tene's [wrk2](https://github.com/giltene/wrk2), a load generator that counts from when a
#   request was due.
# - What may be sent again: RFC 9110, *HTTP Semantics*, [idempotent methods](https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2)
#   and [Retry-After](https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3); 429 is in
#   [RFC 6585](https://www.rfc-editor.org/rfc/rfc6585#section-4).
# - Little's law: J. D. C. Little, *A Proof for the Queuing Formula L = λW*, Operations Research 9 (1961).
#
# ## Before you hand it in
#
# Choose *Kernel → Restart Kernel and Run All Cells*: every check should pass from the top. A cell that takes minutes
# costs marks when time runs out; what your cells print or draw does not matter.
