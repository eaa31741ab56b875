"""A wait for another process, a socket or a thread has a time limit, or stands here with the reason for having none.

Read off the syntax. A limit is an argument of the call, `WNOHANG`, or `asyncio.timeout` or `wait_for` around it.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.every_case import assert_each, every_case
from tests.syntax import ROOT, modules, parse_module

CHILDREN = {
    "os.wait",
    "os.waitpid",
    "os.wait3",
    "os.wait4",
    "os.waitid",
    "signal.sigwait",
    "signal.sigwaitinfo",
    "signal.pause",
}
STARTED = {"subprocess.run", "subprocess.call", "subprocess.check_call", "subprocess.check_output"}
WITHOUT_ARGUMENT = {
    "wait",
    "communicate",
    "join",
    "acquire",
    "result",
}  # of Popen, Thread, Lock, Future: a limit is one
OF_STREAMS = {"recv", "recvfrom", "recvmsg", "recv_into", "accept", "readline"}
TIMEOUT = "settimeout, or not blocking, where the socket is made"
MEASURED = "the wait is the operation that is measured, between two processes of ours that die together"
DONE = "asked for when it is done"
# Why it has none.
ALLOWED = {
    "app/features/fleet/launch/agent.py": "on a node: the launcher speaks or ends the connection",
    "app/run/consent.py": "a person is asked; Ctrl-C ends it",
    "app/run/signals.py": DONE,
    "probes/engine/command/run_server.py": "the user's command, of any length; the client's limit ends its supervisor",
    "probes/engine/command/supervisor.py": "waitid said that it has ended",
    "probes/engine/command/taskstats.py": TIMEOUT,
    "probes/engine/loads/calls.py": MEASURED,
    "probes/engine/loads/pinned_loads.py": MEASURED,
    "probes/engine/pool.py": "its only caller sets the limit",
    "probes/system/setting_calls.py": TIMEOUT,
    "scenarios/contention/measurement/operations.py": MEASURED,
    "scenarios/fullstack/measurement/peer.py": TIMEOUT,
    "scenarios/fullstack/measurement/remote.py": "its only caller sets the limit",
    "scenarios/fullstack/measurement/station.py": DONE,
    "scenarios/fullstack/measurement/worker.py": TIMEOUT,
    "scenarios/rpfilter/measurement/sender.py": TIMEOUT,
}  # fmt: skip


def dotted_name(node: ast.expr) -> str:
    """Return what is called, with brackets for what has no name; ast.unparse takes twenty times as long."""
    if isinstance(node, ast.Attribute):
        return f"{dotted_name(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "()"


def waits_forever(call: ast.Call) -> bool:
    """Return True where nothing in the call itself ends the wait."""
    name = dotted_name(call.func)
    keywords = {keyword.arg for keyword in call.keywords}
    method = name.rpartition(".")[2] if "." in name else ""
    if name in CHILDREN:
        return "WNOHANG" not in ast.unparse(call)
    if name in STARTED:
        return "timeout" not in keywords
    if name == "select.select":
        return len(call.args) < 4
    if method in OF_STREAMS:
        return True
    return method in WITHOUT_ARGUMENT and not call.args and not keywords & {"timeout", "blocking"}


def unlimited_waits(node: ast.AST, limited: bool = False) -> Iterator[ast.Call]:
    if isinstance(node, ast.AsyncWith):
        limited |= any("timeout" in ast.unparse(item.context_expr) for item in node.items)
    if isinstance(node, ast.Call):
        if not limited and waits_forever(node):
            yield node
        limited |= dotted_name(node.func) in ("asyncio.wait_for", "wait_for")
    for child in ast.iter_child_nodes(node):
        yield from unlimited_waits(child, limited)


def test_each_wait_has_a_limit_or_a_reason() -> None:
    def check(path: Path) -> None:
        lines = [f"{call.lineno}: {ast.unparse(call)}" for call in unlimited_waits(parse_module(path))]
        assert bool(lines) == (str(path.relative_to(ROOT)) in ALLOWED), (
            lines or "it waits for nothing: not a line of ALLOWED"
        )

    assert_each(modules("app", "probes", "scenarios"), check)


@every_case(
    ("text", "count"),
    [
        ("child.wait()", 1), ("child.wait(timeout=2)", 0), ("os.waitpid(p, 0)", 1), ("os.waitpid(p, os.WNOHANG)", 0),
        ("subprocess.run(['x'])", 1), ("subprocess.run(['x'], timeout=1)", 0), ("select.select([a], [], [])", 1),
        ("select.select([a], [], [], 1)", 0), ("','.join(x)", 0), ("thread.join()", 1), ("end.recv(1)", 1),
        ("async def f():\n async with asyncio.timeout(1):\n  await child.wait()", 0),
        ("async def f():\n await asyncio.wait_for(child.communicate(), 1)", 0),
    ],
)  # fmt: skip
def test_what_counts_as_a_wait_without_a_limit(text: str, count: int) -> None:
    assert len(list(unlimited_waits(ast.parse(text)))) == count
