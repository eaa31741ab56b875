"""`hostdx pulse`: the host's load, CPUs and disks every few seconds, for the home screen: it reads nothing itself."""

import time

import click

from hostdx.app.cli.measuring.event_stream import events_option, make_stream_header
from hostdx.app.recordings.writer import encode_event
from hostdx.app.terminal.output import print_raw
from hostdx.probes.reading.host import Host
from hostdx.scenarios.experiment.guards.top_processes import PulseSource

FIRST_LOOK_S = 0.4  # the first figures come soon; later ones cost less where they are few


@click.command(params=[events_option], hidden=True)
@click.option("--every", type=click.FloatRange(0.1, 3600), default=3.0, help="Seconds between two looks.")
def pulse(every: float, events: bool) -> int:  # noqa: ARG001 (`events_option` gives it)
    """Print readings of the host's load as events until nobody reads stdout any more. `events`: unused."""
    source = PulseSource(Host())
    began = time.monotonic()
    going = print_raw(encode_event(make_stream_header("pulse", {})))
    wait = min(every, FIRST_LOOK_S)
    while going:
        time.sleep(wait)
        wait = every
        going = print_raw(encode_event(source.next(round(time.monotonic() - began, 3))))
    return 0
