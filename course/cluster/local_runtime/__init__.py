"""Tasks on this machine: how they are started, watched, frozen, started again and ended."""
