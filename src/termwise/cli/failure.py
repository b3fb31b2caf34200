"""Whatever goes wrong ends in one line on stderr and an exit code."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from contextlib import suppress
from typing import Any, NoReturn, TextIO

import click

from termwise.errors import TermwiseError

DEBUG = "TERMWISE_DEBUG"
USAGE, UNEXPECTED = 2, 1


class Failure(click.ClickException):
    """An error that is already a line for the user, with the exit code it ends in."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.code = exit_code


class Commands(click.Group):
    """A group of commands that never ends in a traceback, unless TERMWISE_DEBUG is set."""

    def main(self, *args: Any, **settings: Any) -> NoReturn:
        """Run a command and leave with its exit code."""
        for stream in (sys.stdout, sys.stderr):
            # A name of a column that the terminal cannot show is escaped rather than an error.
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        try:
            super().main(*args, **{**settings, "standalone_mode": False, "prog_name": "termwise"})
        except Failure as error:
            _leave(error.message, error.code)
        except click.ClickException as error:
            _leave(_usage(error), USAGE)
        except click.Abort:
            _leave("interrupted", USAGE)
        sys.exit(0)

    def invoke(self, context: click.Context) -> Any:
        """Run a command; turn whatever it raises into one line, before click answers in its own ways."""
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _show_warning
                super().invoke(context)
                sys.stdout.flush()
        except (click.ClickException, click.exceptions.Exit):
            raise
        except (Exception, KeyboardInterrupt) as error:
            if os.environ.get(DEBUG):
                traceback.print_exc()
            raise Failure(*explained(error)) from error


def explained(error: BaseException) -> tuple[str, int]:
    """The line for the user, and the exit code."""
    if isinstance(error, TermwiseError):
        return str(error), USAGE
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", USAGE
    if isinstance(error, BrokenPipeError):
        return "the output was closed before all of it was written; read it to its end, or use -o", USAGE
    if isinstance(error, OSError):
        where = "the output" if error.filename is None else repr(os.fsdecode(error.filename))
        reason = error.strerror or type(error).__name__
        return f"{where}: {reason}; check the path, its permissions and the space on the disk", USAGE
    if isinstance(error, MemoryError):
        return "there is not enough memory for a table of this size; use fewer rows", USAGE
    what = f"{type(error).__name__}: {error}"
    return f"unexpected {what}; please report it, with what {DEBUG}=1 shows", UNEXPECTED


def _usage(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    path = "termwise" if context is None else context.command_path
    return f"{error.format_message()} (see '{path} --help')"


def _leave(message: str, exit_code: int) -> NoReturn:
    _abandon_output()
    with suppress(OSError):
        click.echo(f"termwise: error: {' '.join(message.split())}", err=True)
    sys.exit(exit_code)


def _abandon_output() -> None:
    """Forget what cannot be written, or Python would try again at its end and add lines of its own."""
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    click.echo(f"termwise: warning: {' '.join(str(message).split())}", err=True)
