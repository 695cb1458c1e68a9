"""`python -m course serve`: modelserver's own command, which also takes the certificates that the course writes."""

from typing import Any

import click

from modelserver import commands


def _serve(**arguments: Any) -> None:
    if arguments["tls"]:
        from course.cluster.certificates import read_certificate

        try:
            read_certificate(arguments["tls"])  # its dates, and that only its owner may read it
        except ValueError as error:
            raise click.UsageError(str(error)) from error
        except OSError as error:
            raise click.ClickException(str(error)) from error
    commands.serve.callback(**arguments)  # type: ignore[misc]  # a command that was made of a function has one


serve = click.Command("serve", callback=_serve, params=commands.serve.params, help=commands.serve.help)
