"""Notebooks that were handed in: their owners, their times of arrival, and their places in the class's folder.

Read `importing` (one download, from its names to submitted/STUDENT/LAB/), then what it uses: `archive` (a zip or a
folder), `owners` (a file's student) by `roster` and `moodle`, `handed_in` (which file is the notebook), `attempts`
(every notebook that came, and when), `import_record` (files that could not be placed).
"""
