"""Autocast of CUDA on simulated GPUs: which ops run in which precision, and how they come to."""
