"""What may happen around a step: the hooks, the reader's own ones too."""
