"""What was handed in: whose it is, when it came, and how it is laid into the class's folder.

Read `importing` (one download, from its names to submitted/STUDENT/LAB/), then what it asks: `archive` (a zip or a
folder), `owners` (a file's student) by `roster` and `moodle`, `handed_in` (which file is the notebook), `attempts`
(every notebook that came, and when), `import_record` (what could not be placed).
"""
