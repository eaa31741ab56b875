"""A stream of events on stdout that is no run: of `plan`, `triage` and `pulse`, which the screens follow.

Apart from `plan`, for what follows triage wants the host's facts at once: a plan's imports take a sixth of a start.
"""

import os
import random
import sys
from datetime import UTC, datetime

import click

from hostdx.app import __version__
from hostdx.app.terminal.process import process_identity
from hostdx.probes.types import Json
from hostdx.scenarios.contract import events as ev


def make_stream_header(scenario: str, options: dict[str, Json], host: str = "") -> ev.Began:
    """The first event of a stream that is no run: of `plan` and `triage`. `host`: its name; empty: this one's."""
    me = process_identity()
    return ev.Began(
        t=0.0,
        schema=ev.SCHEMA,
        version=__version__,
        scenario=scenario,
        command=["hostdx", *sys.argv[1:]],
        host=host or os.uname().nodename,
        wall=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        seed=random.SystemRandom().getrandbits(32),
        pid=me.pid,
        pid_start=me.start,
        boot_id=me.boot_id,
        options=options,
    )


def _is_stdout_wanted(_ctx: click.Context, _parameter: click.Parameter, value: str | None) -> bool:
    if value not in (None, "-"):
        raise click.BadParameter("only `-` (stdout) here")
    return value == "-"


events_option = click.Option(
    ("--events",),
    metavar="-",
    callback=_is_stdout_wanted,
    help="Print the events as they happen, one JSON object a line.",
)
