"""`make monkey`: random actions over all exhibits, drawn from a seed; ends with 1 where anything went wrong."""

import tempfile
from pathlib import Path

import click

from tests.browser.lab_page import need_chromium, running_chromium
from tests.slow.monkey.run import monkey


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--count", default=2000, show_default=True, help="Actions; a tenth of them in JupyterLab.")
@click.option("--seed", default=1, show_default=True, help="Of what is drawn: the same seed gives the same actions.")
def main(count, seed):
    """Say what was seen; exit with 1 where something went wrong, or grew, or was left behind."""
    need_chromium()
    with running_chromium() as browser, tempfile.TemporaryDirectory() as folder:
        found = monkey(browser, Path(folder), seed, count, click.echo)
    if found.wrong:
        click.echo(str(found))
        raise SystemExit(1)
    click.echo(f"{len(found.done)} actions, nothing wrong; {len(found.rss)} in JupyterLab")


if __name__ == "__main__":
    main()
