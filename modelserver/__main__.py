"""The command line: `python -m modelserver serve DIRECTORY` and `python -m modelserver versions DIRECTORY MODEL`."""

import click

from modelserver.commands import serve, versions


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, commands=[serve, versions])
def main() -> None:
    """Serve exported PyTorch models over HTTP, and choose which version is served."""


if __name__ == "__main__":
    main(prog_name="python -m modelserver")
