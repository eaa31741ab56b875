"""The argument RECORDING: with completion of what is there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


def recording_argument(*, required: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.argument("recording", required=required, shell_complete=_complete)


def _complete(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[Any]:
    from click.shell_completion import CompletionItem

    from app import recordings

    names = ["last", *recordings.demos(), *recordings.names()]
    found = [CompletionItem(name) for name in names if name.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type="file")]
