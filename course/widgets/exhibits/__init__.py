"""Exhibits: a module of the page's own draws from data that lie beside it, so that they work without a kernel too.

In this order of reading: `exhibit` (what all share; its page's half is `exhibit.js`), `wire` (the line to the page),
`page` (the HTML), then `request_dots`, `continents` and `ring_all_reduce` (need no kernel) and `digit_pad` (asks one).
"""
