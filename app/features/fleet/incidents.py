"""Many nodes' incident books, compared: what happened in the same minutes on several of them."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from hostdx.app.features.fleet.summary import is_answer_file
from hostdx.app.recordings.store import files_below
from hostdx.app.report.delivery import deliver_document
from hostdx.app.report.json_document import to_json_text
from hostdx.app.report.results.finding_parts import incident_parts
from hostdx.app.terminal.failure import USAGE, Failure
from hostdx.app.terminal.output import print_note
from hostdx.app.terminal.output_file import deliver_text
from hostdx.probes.files.safe_read import open_trusted_regular, read_regular
from hostdx.probes.units import count_noun
from hostdx.scenarios.analysis.incidents.nodes import NodeBook, NodesJudgement, judge_nodes, shared_findings
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.contract.results import document as doc

MAX_BOOK_BYTES = 16 << 20
HEAD_BYTES = 4096
MAX_ALONE_ROWS = 40
METHOD = (
    "Incidents of several nodes belong together if at least half of the shorter one lies in common. They are called "
    "shared from three nodes and three in ten on, if so many at once are no chance (less than 1 in 1,000, by how long "
    "each node had incidents). A server is named if nearly all of these nodes mount it, and fewer of the others."
)
_DECODER = msgspec.json.Decoder(NodeBook)


def read_incident_books(arguments: Sequence[str]) -> list[NodeBook]:
    """Return the answers of `hostdx incident --format json` among these files and folders, one a host.

    The one that ends last stands for a host. Raises Failure where a folder cannot be read.
    """
    books: dict[str, NodeBook] = {}
    for path in _json_files(arguments):
        with suppress(OSError, ValueError, RecursionError):
            if not _is_incident_book(path):
                continue
            try:
                book = _DECODER.decode(read_regular(str(path), MAX_BOOK_BYTES))
            except msgspec.ValidationError as error:
                print_note(f"fleet: {path}: no answer of `hostdx incident`: {error}")
                continue
            earlier = books.get(book.host)
            if earlier is None or earlier.first_s + earlier.seconds < book.first_s + book.seconds:
                books[book.host] = book
    return list(books.values())


def _is_incident_book(path: Path) -> bool:
    """By its first keys: thousands of triages are not read twice. Raises OSError, ValueError."""
    with os.fdopen(open_trusted_regular(path), "rb") as file:
        return b'"book"' in file.read(HEAD_BYTES)


def _json_files(arguments: Sequence[str]) -> Iterator[Path]:
    for argument in arguments:
        path = Path(argument)
        if path.is_dir():
            yield from files_below("fleet", path, _is_json_answer)
        elif path.name.endswith(".json"):
            yield path


def _is_json_answer(name: str) -> bool:
    return name.endswith(".json") and is_answer_file(name)


def deliver_incidents(books: Sequence[NodeBook], source: str, form: str, output: str | None) -> int:
    """Raises Failure for a form that has no rows of incidents."""
    if form == "ndjson":
        raise Failure("fleet judge: incidents have no rows: write --format md, html or json", USAGE)
    judgement = judge_nodes(books)
    findings = shared_findings(judgement, source)
    if form == "json":
        document = {"schema": ev.SCHEMA, **msgspec.to_builtins(judgement), "findings": findings}
        deliver_text("fleet", output, to_json_text(document) + "\n")
    else:
        deliver_document("fleet", output, incidents_document(judgement, findings), form)
    return 0


def incidents_document(judgement: NodesJudgement, findings: Sequence[Finding]) -> doc.ReportDocument:
    sections = [
        doc.ReportSection(finding.title, tuple(incident_parts(finding)), role=finding.severity)
        for finding in findings
        if finding.evidence
    ]
    ranked = sorted(judgement.alone.items(), key=lambda entry: (-entry[1], entry[0]))
    if ranked:
        rows = tuple((name, str(count)) for name, count in ranked[:MAX_ALONE_ROWS])
        parts: list[doc.Part] = [doc.Table(("node", "incidents of its own"), rows, right=frozenset({1}))]
        if len(ranked) > MAX_ALONE_ROWS:
            parts.append(doc.paragraph_of(f"{count_noun(len(ranked) - MAX_ALONE_ROWS, 'more node')}"))
        sections.append(doc.ReportSection("Incidents of one node alone", tuple(parts)))
    sections.append(doc.ReportSection("How it is judged", (doc.paragraph_of(METHOD),), appendix=True))
    first = findings[0]
    return doc.ReportDocument(
        f"{count_noun(judgement.nodes, 'node')}: incidents",
        (doc.Toned(first.title, first.severity),),
        tuple(sections),
    )
