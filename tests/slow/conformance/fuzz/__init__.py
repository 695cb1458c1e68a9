"""Random calls of torch's functions and methods with odd arguments: none crashes, hangs or fails inside simgpu."""
