"""`hostdx capture`: what the rules read on this host, in a file that a colleague can look at elsewhere."""

from __future__ import annotations

import io
import os

import click

from app.output import out
from app.output_file import write_bytes
from app.printable import printable
from probes.recorded_host import RecordedHost, write
from probes.redaction import Redaction, kept, users
from probes.units import size


@click.command()
@click.option("-o", "--output", type=click.Path(), required=True, help="The file to write, a tar.gz.")
@click.option(
    "--redact",
    is_flag=True,
    help="Replace names of hosts and users, addresses, serial numbers and identifiers.",
)
def capture(output: str, redact: bool) -> int:
    """Takes what the rules read, and nothing else. Look at it with `hostdx triage --root FILE`."""
    from scenarios.triage import examine

    host = RecordedHost()
    for _ in examine(host, lambda: 0.0):
        pass
    host.ask_commands()
    names = (os.uname().nodename,)
    packed = io.BytesIO()  # `output` may be a pipe, which no tar is written to
    if redact:
        redaction = Redaction(*names, users=users())
        count = write(host, packed, redaction, redaction.name)
    else:
        count = write(host, packed, kept)
    write_bytes("capture", output, 0o600, packed.getvalue())
    said = (
        "names of hosts and users, addresses and serial numbers replaced"
        if redact
        else "as they are read: --redact replaces names"
    )
    out(printable(f"{output}: {count} files, {size(packed.tell())}; {said}"))
    return 0
