"""A class's own files: its folder, its rules, its history and its marks."""
