"""40 programs: their seconds on a real card beside those that simgpu models for it. None was used to fit the model."""
