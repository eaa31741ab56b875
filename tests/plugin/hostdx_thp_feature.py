"""One of each that a package may bring beside a scenario: a rule, a fact, an importer, a command, a screen, a part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
from hostdx_thp import SETTING, Pages, active

from hostdx.probes.imports.kinds import ImportKind
from hostdx.probes.imports.model import ImportedMeasure, ImportRefusedError, ImportResult
from hostdx.probes.imports.numbers import parse_number
from hostdx.probes.imports.source import ImportSource
from hostdx.probes.reading.host import Host
from hostdx.probes.types import FactOrUnread, make_fact
from hostdx.scenarios.contract.finding import Evidence, Finding
from hostdx.scenarios.contract.results.document import Part, paragraph_of
from hostdx.scenarios.contract.rule import HostRule, require_readable

if TYPE_CHECKING:
    from textual.screen import Screen

    from hostdx.app.recordings.session import RunSession

DEFRAG = "/sys/kernel/mm/transparent_hugepage/defrag"


def check_defrag(host: Host) -> Iterable[Finding]:
    """Yield a finding where every page fault may wait for a huge page."""
    text = str(require_readable(host.read_file_text(DEFRAG)))
    if "[always]" in text:
        proof = Evidence(f"defrag {text.strip()}", DEFRAG)
        title = "every page fault may wait for memory to be compacted"
        yield Finding(id="thp.defrag", severity="notice", title=title, evidence=(proof,))


RULES = (HostRule("thp.defrag", "thp", "huge pages that page faults wait for", check_defrag),)


def glance_entries(host: Host) -> Iterator[FactOrUnread]:
    """Yield the active setting, for triage."""
    yield make_fact("memory", "huge pages", active(host), SETTING)


def is_recognised(source: ImportSource) -> bool:
    return source.head.startswith(b"thpbench: ")


def parse(source: ImportSource) -> ImportResult:
    """Return the one figure of `thpbench: 12.5 GB/s`. Raises ImportRefusedError where there is none."""
    for line in source.read_lines():
        if (rate := parse_number(line.split()[1])) is not None:
            measured = ImportedMeasure(
                workload="memory", metric="rate", value=rate, unit="GB/s", better="more"
            )
            return ImportResult(kind="thpbench", tool="thpbench", measures=(measured,))
    raise ImportRefusedError("thpbench: no figure", "run it again")


IMPORTER = ImportKind("thpbench", "thpbench output", is_recognised, parse)


@click.command()
@click.option("--root", default="/", help="Captured tree to read.")
def thp(root: str) -> int:
    """Print which huge pages this host gives."""
    click.echo(active(Host(root if root != "/" else "")) or "unknown")
    return 0


def open_screen() -> Screen[None]:
    """Return a screen with the setting."""
    from textual.screen import Screen
    from textual.widgets import Static

    class HugePages(Screen[None]):
        BINDINGS = [("q", "app.pop_screen", "back")]

        def compose(self) -> Iterable[Static]:
            yield Static(Path(SETTING).read_text() if Path(SETTING).exists() else "unknown", markup=False)

    return HugePages()


def report_parts(session: RunSession) -> tuple[Part, ...]:
    """Return one line where the run was the scenario's, else nothing."""
    result = session.find_result(Pages)
    return (paragraph_of(f"The host's own setting was {result.value}."),) if result is not None else ()
