"""The command line: `python -m course COMMAND`, one command a room, flags named as the Python arguments."""

import click


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main():
    """From one CPU to a cluster. Start with `python -m course lab`."""


# Each room's command stands in one function below, thin: it parses, calls the engine and prints.


@main.command()
@click.option("--browser/--no-browser", default=None, help="Open a browser; by default where there is a display.")
@click.option("--port", type=click.IntRange(0, 65535), help="8888 or the next free one by default; 0: any free one.")
def lab(browser, port):
    """Open JupyterLab on the first chapter, on this machine only; Ctrl-C stops it."""
    from course.lab import LabError
    from course.lab import lab as open_lab

    try:
        open_lab(browser, port)
    except LabError as error:
        raise click.ClickException(str(error)) from error


@main.command()
@click.option("--samples", default="1e7", show_default=True, help="How many darts; 1e9 is a number too.")
@click.option("--workers", default=1, show_default=True, type=click.IntRange(min=1), help="Processes that throw.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0))
@click.option("--method", default="pseudo", show_default=True, type=click.Choice(["pseudo", "sobol", "stratified"]))
def pi(samples, workers, seed, method):
    """Estimate pi by throwing darts; print it, its standard error, the seconds and the samples a second."""
    from course.pi.command import report

    try:
        number = float(samples)
    except ValueError:
        number = samples  # refused below, with the legal form
    if samples.isdigit():
        number = int(samples)  # a float has 53 bits
    try:
        for line in report(number, workers, seed, method):
            click.echo(line)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


if __name__ == "__main__":
    main(prog_name="python -m course")
