"""What is on the disk: checkpoints, their manifests and files, and which process may write them."""
