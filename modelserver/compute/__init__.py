"""A compute worker: a process with one thread of torch that loads versions and answers batches, one at a time.

`pipe` is what it and the front process say to each other, `program` one loaded version, `worker` the loop,
`orphan` how it ends with its front process.
"""
