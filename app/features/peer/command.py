"""`hostdx peer`: the other end of network streams, for one client, for a while."""

import os
import sys

import click

from hostdx.app.terminal.failure import COULD_NOT, Failure
from hostdx.app.terminal.output import print_note

SECONDS = click.FloatRange(1, 86400)
SECONDS.name = "seconds"
PORT = click.IntRange(0, 65535)
PORT.name = "port"
_USUAL_S = 900.0


@click.command()
@click.option("--bind", default="", metavar="ADDRESS", help="Address to listen on (default: all, IPv4).")
@click.option("--port", type=PORT, default=0, metavar="N", help="Port (default: a free one).")
@click.option(
    "--seconds", type=SECONDS, default=_USUAL_S, show_default=True, help="It ends after this time at the latest."
)  # fmt: skip
def peer(bind: str, port: int, seconds: float) -> int:
    """Act as the network test partner for one client, a run that was started with `--peer`.

    It prints its port and a token that holds once. It opens no file and runs nothing; it ends after its client, after
    its time, or with this terminal. With --peer HOST alone hostdx starts one over ssh itself.
    """
    from hostdx.probes.children.parent_death import die_with_parent
    from hostdx.scenarios.fullstack.measurement.peer import StreamPeer, new_peer_token, open_timed_listener

    die_with_parent(os.getppid())
    token = new_peer_token()
    try:
        server_socket = open_timed_listener(bind, port)
    except (OSError, TypeError, UnicodeError) as error:  # the latter two: of a name that none can have
        why = error.strerror if isinstance(error, OSError) else "is no address"
        raise Failure(f"peer: {bind or 'any address'} port {port}: {why}", COULD_NOT) from None
    with server_socket:
        number = server_socket.getsockname()[1]
        print_note(f"listening on port {number} for {seconds:g} s; the run on the other host takes")
        print_note(f"  --peer {bind or os.uname().nodename}:{number} --token {token}")
        why = StreamPeer(server_socket, token, seconds).serve_and_get_ending()
    print_note(f"ended: {why}")
    sys.stderr.flush()
    sys.stdout.flush()
    os._exit(0)  # its threads may still wait for bytes
