"""The page of a notebook, as nbconvert makes it, with the network cut."""

from pathlib import Path

ADDRESS = "http://course.test/chapter.html"  # answered by the test itself; nbconvert's own page asks others for scripts
CHAPTERS = sorted((Path(__file__).resolve().parents[3] / "notebooks").glob("[0-9]*.ipynb"))


def show(page, notebook):
    """Show `notebook` in `page`, and return the page."""
    from nbconvert import HTMLExporter

    text, _ = HTMLExporter().from_notebook_node(notebook)
    answer = {"body": text, "content_type": "text/html"}
    page.set_default_timeout(90_000)  # of a busy machine
    page.unroute_all()
    page.route("**", lambda route: route.fulfill(**answer) if route.request.url == ADDRESS else route.abort())
    page.goto(ADDRESS)
    return page
