"""`hostdx import FILE…`: other tools' results as recordings, recomputed and contradicted."""

import sys
from pathlib import Path

import click
import msgspec

from hostdx.app.features.imports import recording as imported
from hostdx.app.report.json_document import to_json_text
from hostdx.app.terminal.failure import COULD_NOT, USAGE, Failure
from hostdx.app.terminal.output import print_line, print_problem, print_result
from hostdx.app.terminal.output_file import check_outputs, write_bytes
from hostdx.probes.imports import kinds
from hostdx.probes.imports.hep.prmon import PrmonJson, PrmonText, compare_text_with_summary
from hostdx.probes.imports.path_names import distinct_short_names
from hostdx.probes.units import count_noun
from hostdx.scenarios.analysis.compare.bounding_box import bounding_box_points_of
from hostdx.scenarios.analysis.compare.snapshot import ParsedImportFile
from hostdx.scenarios.analysis.imported.findings import NOT_IMPORTED, RECOGNISED, file_findings
from hostdx.scenarios.analysis.imported.pile import ResultSet, make_result_set
from hostdx.scenarios.analysis.incidents.findings import INCIDENT, QUIET
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import Finding

_LINES = 4  # of a finding's evidence
_LISTED = "\n".join(f"  {kind.id:<15} {kind.title}" for kind in kinds.all_kinds())


@click.command("import", epilog=f"\b\nKinds:\n{_LISTED}")
@click.argument("files", nargs=-1, required=True, type=click.Path())
@click.option("-o", "--output", type=click.Path(), help="Write one recording of all FILES to this file.")
@click.option(
    "--kind",
    "kind_name",
    metavar="KIND",
    help="The kind of the files, where it is not to be recognised by content.",
)
@click.option(
    "--series", is_flag=True, help="FILES are one series in time, of one host: look for a trend in them."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def import_(
    files: tuple[str, ...], output: str | None, kind_name: str | None, series: bool, as_json: bool
) -> int:
    """Other tools' results as recordings: what a file claims is compared with what its parts give.

    Each FILE becomes a recording; several results of one benchmark become one more, with the outliers among them, their
    box, and their trend where they are of one host.
    """
    kind = kinds.find_kind(kind_name) if kind_name else None
    if kind_name and kind is None:
        raise Failure(f"import: --kind {kind_name}: no such kind; `hostdx import --help` lists them", USAGE)
    if output is not None:
        check_outputs("import", output, new=True)
    read: list[ParsedImportFile] = []
    refused: list[tuple[str, str]] = []
    for name in dict.fromkeys(files):
        try:
            read.append(imported.read_foreign_result(Path(name), kind))
        except Failure as why:
            refused.append((name, why.text))
            print_problem(why.text)
    if not read:
        return COULD_NOT
    names = distinct_short_names([file.path for file in read])
    read = [_with_matching_file(f, read, name) for f, name in zip(read, names, strict=True)]
    pile = make_result_set(read, series=series) if output is not None or _are_of_one_benchmark(read) else None
    written = _write_and_get_paths(read, pile, output)
    if as_json:
        print_result(to_json_text(_import_document(read, written, refused, pile)))
        return COULD_NOT if refused else 0
    for file in read:
        _print_import_summary(file, written.get(file.path))
    if pile is not None and len(pile.order) > 1:
        if "" in written:
            print_line(f"{count_noun(len(read), 'file')} together: {written['']}")
        for finding in pile.findings:
            print_line(f"  {finding.severity}: {finding.title}")
            for line in finding.evidence[:_LINES]:
                print_line(f"    {line.text}")
    return COULD_NOT if refused else 0


def _with_matching_file(file: ParsedImportFile, read: list[ParsedImportFile], name: str) -> ParsedImportFile:
    """Under its name; a prmon summary is compared with the series of the same name, where both were given."""
    file = msgspec.structs.replace(file, name=name)
    detail = file.result.detail
    if not isinstance(detail, PrmonJson):
        return file
    stem = str(Path(file.path).with_suffix(""))
    for other in read:
        series = other.result.detail
        if isinstance(series, PrmonText) and str(Path(other.path).with_suffix("")) == stem:
            both = (*file.result.contradictions, *compare_text_with_summary(series, detail))
            result = msgspec.structs.replace(file.result, contradictions=both)
            return msgspec.structs.replace(file, result=result)
    return file


def _write_and_get_paths(
    read: list[ParsedImportFile], pile: ResultSet | None, output: str | None
) -> dict[str, Path]:
    """By the file's path; "" is the recording of all of them together."""
    command = ["hostdx", *sys.argv[1:]]
    if output is not None and pile is not None:
        path = Path(output)
        write_bytes("import", output, 0o600, imported.recording_bytes(pile, command), new=True)
        return {"": path} if len(read) > 1 else {read[0].path: path}
    written = {}
    for file in read:
        content = imported.recording_bytes(make_result_set([file]), ["hostdx", "import", file.path])
        written[file.path] = imported.save_imported_recording(
            content, file.result.kind, file.result.began or file.modified
        )
    if len(read) > 1 and pile is not None:
        first = min(file.result.began or file.modified for file in read)
        written[""] = imported.save_imported_recording(
            imported.recording_bytes(pile, command), f"{read[0].result.kind}-together", first
        )
    return written


def _are_of_one_benchmark(read: list[ParsedImportFile]) -> bool:
    """Results of one benchmark, or IO500 results with applications to be put into their box."""
    box = any(file.result.kind.startswith("io500") for file in read)
    return len({f.result.tool for f in read if not (box and bounding_box_points_of(f.name, f.result))}) == 1


def _print_import_summary(file: ParsedImportFile, path: Path | None) -> None:
    *problems, summed = file_findings(file)
    target_text = f" → {path}" if path is not None else ""
    link = Path(file.path)
    led = f" (a link to {link.resolve()})" if link.is_symlink() else ""
    print_line(f"{file.name}{led}: {summed.title}{target_text}")
    for finding in problems:
        if finding.id in (NOT_IMPORTED, RECOGNISED, QUIET):
            print_line(f"  {finding.title}")
        elif finding.id.startswith(INCIDENT):
            print_line(f"  {finding.severity}: {finding.title}")
            for line in finding.evidence[1:]:
                print_line(f"    {line.text}")
        elif finding.severity != "ok":
            print_line(f"  {finding.severity}: {_title_with_first_evidence(finding)}")


def _title_with_first_evidence(finding: Finding) -> str:
    first = f" ({finding.evidence[0].text})" if finding.evidence else ""
    more = f", {len(finding.evidence) - 1} more" if len(finding.evidence) > 1 else ""
    return f"{finding.title}{first}{more}"


def _import_document(
    read: list[ParsedImportFile],
    written: dict[str, Path],
    refused: list[tuple[str, str]],
    pile: ResultSet | None,
) -> dict[str, object]:
    return {
        "schema": ev.SCHEMA,
        "imported": [
            {
                "file": file.path,
                "sha256": file.sha256,
                "bytes": file.bytes,
                "recording": str(written.get(file.path, written.get("", ""))) or None,
                "findings": file_findings(file),
                "result": file.result,
                "timeline": file.timeline,
            }
            for file in read
        ],
        "together": str(written[""]) if "" in written else None,
        "pile": pile.findings if pile is not None else [],
        "refused": [{"file": name, "reason": text} for name, text in refused],
    }
