"""The argument RECORDING: with completion of what is there."""

from collections.abc import Callable
from typing import Any

import click


def recording_argument(*, default: str | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.argument("recording", required=False, default=default, shell_complete=complete_recording)


def complete_recording(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[Any]:
    from click.shell_completion import CompletionItem

    from app.recordings import store as recordings

    names = ["last", *recordings.list_demos(), *recordings.list_names()]
    items = [CompletionItem(name) for name in names if name.startswith(incomplete) and name.isprintable()]
    return items or [CompletionItem(incomplete, type="file")]
