"""A card recorded: what a model needs of a CUDA device, measured by its events and the host's clock."""
