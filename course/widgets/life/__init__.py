"""The Life player: its Python, and its files for the page: engine, boards to come, picture, hand."""
