"""torch.cuda while GPUs are simulated: its driver, streams and generators, and what is refused."""
