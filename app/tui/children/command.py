"""Another hostdx command as a bounded child, off the screen's thread; its answer comes back on it."""

import asyncio
from collections.abc import Callable, Sequence
from typing import NamedTuple

from textual.dom import DOMNode

from hostdx.app.run.launch import HOSTDX
from hostdx.probes.children.bounded_wait import wait_briefly_for
from hostdx.probes.children.environment import hostdx_environment

TIMEOUT_S = 60.0


class CommandOutcome(NamedTuple):
    """`error` is empty where the command did what it should."""

    output: str
    error: str


async def run_command(argv: Sequence[str], timeout_s: float = TIMEOUT_S) -> CommandOutcome:
    child = await asyncio.create_subprocess_exec(
        *HOSTDX,
        *argv,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=hostdx_environment(),
    )
    try:
        out, err = await asyncio.wait_for(child.communicate(), timeout_s)
    except TimeoutError:
        child.kill()
        await wait_briefly_for(child)
        return CommandOutcome("", f"hostdx {argv[0]} gave no answer within {timeout_s:.0f} s")
    words = err.decode("utf-8", "backslashreplace").strip().splitlines()
    text = out.decode("utf-8", "backslashreplace")
    if child.returncode:
        last = words[-1].removeprefix("hostdx: ") if words else f"exit status {child.returncode}"
        return CommandOutcome(text, last)
    return CommandOutcome(text, "")


def run_hostdx(
    asking: DOMNode, argv: Sequence[str], then: Callable[[CommandOutcome], None], timeout_s: float = TIMEOUT_S
) -> None:
    """Runs it and calls `then` on the screen's thread."""

    async def run_and_report() -> None:
        then(await run_command(argv, timeout_s))

    asking.run_worker(run_and_report(), exclusive=False, exit_on_error=True, name=argv[0])
