"""What the project claims, tried: the folders are those of the packages."""
