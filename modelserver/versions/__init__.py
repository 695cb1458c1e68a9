"""A model on the disk: numbered folders that appear whole or not at all, with what proves that they are unchanged.

Read in this order: `signature` (what goes in and comes out), `checksums`, `ownership` (whose folders are loaded),
`version` (one folder, read), `publish` (how a folder appears, and which old ones go), `pin` (which version is served),
`export` (from a module to a folder).
"""
