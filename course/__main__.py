"""The command line: `python -m course COMMAND`, one command a room, flags named as the Python arguments."""

import click


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main():
    """From one CPU to a cluster. Start with `python -m course lab`."""


# Each room's command stands in one function below, thin: it parses, calls the engine and prints.


if __name__ == "__main__":
    main(prog_name="python -m course")
