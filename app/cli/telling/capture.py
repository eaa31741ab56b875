"""`hostdx capture`: what the rules read on this host, in a file that a colleague can look at elsewhere."""

import io
import os

import click

from hostdx.app.terminal.output import print_line, print_problem
from hostdx.app.terminal.output_file import check_outputs, write_bytes
from hostdx.probes.reading.recording_host import RecordingHost, write_archive
from hostdx.probes.reading.secrecy.redaction import Redaction, list_people, strip_secrets
from hostdx.probes.reading.time_limit import iterate_in_time
from hostdx.probes.units import format_size

MAX_PROGRAMS_S = 30.0
MAX_CAPTURE_S = 120.0  # usually two seconds, the commands among them


@click.command()
@click.option("-o", "--output", type=click.Path(), required=True, help="The file to write, a tar.gz.")
@click.option(
    "--redact",
    is_flag=True,
    help="Replace names of hosts and users, addresses, serial numbers and identifiers.",
)
def capture(output: str, redact: bool) -> int:
    """Takes what the rules read, and nothing else. Look at it with `hostdx triage --root FILE`."""
    from hostdx.scenarios.triage.triage import examine_host

    check_outputs("capture", output)
    host = RecordingHost()
    host.ask_programs(MAX_PROGRAMS_S)
    for _ in iterate_in_time(examine_host(host, lambda: 0.0), host, MAX_CAPTURE_S):
        pass
    host.ask_commands()
    if host.is_out_of_time:
        print_problem(
            f"capture: not everything was read within {MAX_CAPTURE_S:.0f} s: the file holds what was"
        )
    names = (os.uname().nodename,)
    packed = io.BytesIO()  # `output` may be a pipe, which no tar is written to
    if redact:
        redaction = Redaction(*names, users=list_people())
        count = write_archive(host, packed, redaction, redaction.name)
    else:
        count = write_archive(host, packed, strip_secrets)
    write_bytes("capture", output, 0o600, packed.getvalue())
    redaction_text = (
        "names of hosts and users, addresses and serial numbers replaced"
        if redact
        else "as they are read: --redact replaces names"
    )
    print_line(f"{output}: {count} files, {format_size(packed.tell())}; {redaction_text}")
    return 0
