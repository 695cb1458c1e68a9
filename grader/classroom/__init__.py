"""A class's own files: its folder, its rules, its history and its marks.

Read `folders` (where everything lies), `class_file` (`class.toml`: due dates, late penalties, extensions), `marks_csv`
(a row an exercise), `history` (each change of a mark). `atomic` writes files whole or not at all, `csv_cells` cells
that no spreadsheet runs.
"""
