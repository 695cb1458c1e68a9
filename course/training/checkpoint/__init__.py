"""What is on the disk: checkpoints, their manifests and files, and who may write them."""
