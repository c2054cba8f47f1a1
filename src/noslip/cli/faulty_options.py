"""Find the command-line option that an error is about."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

import click
from click.core import ParameterSource

from noslip import NoslipError

#: Options whose word in sentences is another one.
_WORDS = {"changes": "start", "stops": "stop", "columns": "output", "output": "the folder"}

#: First words of places in a model that has been read; a file's have its name first.
_ELEMENTS = ("bodies", "joints", "contacts", "rows", "forces")


def naming_options(callback: Callable[..., Any] | None) -> Callable[..., Any] | None:
    """A command whose errors carry the option that they are about, as a note."""
    if callback is None:
        return None

    @functools.wraps(callback)
    def invoke(*arguments: Any, **options: Any) -> Any:
        try:
            return callback(*arguments, **options)
        except NoslipError as error:
            option = _faulty_option(error, click.get_current_context())
            if option:
                error.add_note(option)
            raise

    return invoke


def option_of(error: NoslipError) -> str:
    """The option that an error was found to be about, as it was written; else nothing."""
    return next(iter(getattr(error, "__notes__", ())), "")


def _faulty_option(error: NoslipError, ctx: click.Context) -> str:
    """The option whose word, or the name in whose value, the error mentions."""
    said = f"{error.what} {error.where}"
    given = list(_given(ctx))
    for option, _, value in given:
        name = re.split(r"[=:]", value)[0].strip()
        if name and f"'{name}'" in error.what and name != value:
            return _written(option, value)
    for option, word, value in given:
        name = re.split(r"[=:]", value)[0].strip()
        if (
            re.search(rf"\b{'[ _]'.join(map(re.escape, word.split()))}", said)
            and option not in said
        ):
            return _written(option, value)
        if name != value and error.where.casefold() == name.casefold():
            return _written(option, value)
    for option, _, value in given:  # a value that the model does not bear, with its name
        name, is_pair, number = (part.strip() for part in value.partition("="))
        if is_pair and re.search(rf"\b{re.escape(name)}\b.* {re.escape(number)}\b", str(error)):
            return _written(option, value)
    # a model that was read without faults has those of the one value that was set
    values = [_written(option, value) for option, _, value in given if option == "--set"]
    is_read = all(fault.where.partition(".")[0] in _ELEMENTS for fault in error.faults)
    if len(values) == 1 and is_read:
        return values[0]
    return ""


def _given(ctx: click.Context) -> Iterator[tuple[str, str, str]]:
    """Option as it is written, its word in sentences, and its value, for all that were given."""
    for parameter in ctx.command.params:
        name = parameter.name or ""
        if not isinstance(parameter, click.Option) or parameter.is_flag:
            continue
        if ctx.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        option = max(parameter.opts, key=len)
        word = _WORDS.get(name, option.lstrip("-").replace("-", " "))
        values = ctx.params.get(name)
        for value in values if isinstance(values, tuple) else (values,):
            yield option, word, str(value)


def _written(option: str, value: str) -> str:
    return f"{option} {value if len(value) <= 40 else value[:37] + '…'}"
