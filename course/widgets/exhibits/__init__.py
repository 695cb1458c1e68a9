"""Exhibits: a module of the page's own draws from data that lie beside it, so that they work without a kernel too.

Read in this order: `state` (traits that change together), `exhibit` (what all share; in the page `exhibit.js`,
`kernel.js` and `frame.js`), `wire` (the line to the page), `page` (the HTML), then `request_dots`, `continents` and
`ring_all_reduce`, which need no kernel, and `digit_pad`, which asks one.
"""
