"""torch.cuda while GPUs are simulated: devices, streams, generators, graphs, NCCL, and what is refused."""
