"""A worker's loop: receive parameters, compute one gradient, push it, receive again."""

import torch

from course.training.exchange import PATIENCE
from course.training.problem import batch_generator
from course.training.wire import Layout, connect


def work(problem, worker, address, token, seed=0, context=None, patience=3 * PATIENCE):
    """Work for the parameter server at `address` until it says stop; return how many gradients were pushed.

    `patience`: seconds that one answer may take; a synchronous step takes as long as the slowest worker. A server that
    is gone ends the loop too, and what is returned is a sentence: whether that is an error, the session says.
    An exception in the problem's code is told to the server and then raised.
    """
    parameters = {name: value.detach() for name, value in problem.initial().items()}
    layout = Layout.of(parameters)
    hello = {"role": "worker", "worker": worker, "token": token, "layout": layout.as_json()}
    try:
        channel = connect(address, hello, context, patience)
    except OSError as error:
        return f"no parameter server: {error}"
    try:
        channel.agree(layout)
        return _loop(channel, problem, worker, seed)
    except OSError as error:
        return f"lost the parameter server: {error}"
    finally:
        channel.close()


def _loop(channel, problem, worker, seed):
    # `received` are views of the receiving buffer: each answer overwrites them in place, between two gradients
    leaves = {name: value.requires_grad_() for name, value in channel.received.items()}
    inputs, outputs = list(leaves.values()), list(channel.sending.values())
    generator, pushed = torch.Generator(), 0
    while True:
        frame = channel.receive()
        if frame.kind != "PARM":
            return pushed
        try:
            batch = problem.batch(worker, frame.number, batch_generator(seed, worker, frame.number, generator))
            loss = problem.loss(leaves, batch)
            gradients = torch.autograd.grad(loss, inputs)
        except Exception as error:  # the problem's code may raise anything; the session reports it
            channel.send("FAIL", payload=f"{type(error).__name__}: {error}".encode())
            raise
        for output, gradient in zip(outputs, gradients, strict=True):
            output.copy_(gradient)
        channel.send_tensors("PUSH", frame.number, loss.item())
        pushed += 1
