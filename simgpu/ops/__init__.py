"""What torch dispatches: a tensor on a simulated GPU, and each op on it: run on the CPU, told to clock and memory."""
