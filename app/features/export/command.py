"""`hostdx export`: recordings as tables."""

from __future__ import annotations

from importlib.util import find_spec

import click

from hostdx.app.features.export.output import FORMS, Form
from hostdx.app.terminal.failure import COULD_NOT, USAGE, Failure
from hostdx.app.terminal.output import print_note, print_problem, print_result
from hostdx.probes.units import count_noun


@click.command()
@click.argument("recordings", nargs=-1, metavar="RECORDING|RESULT|DIR|BASELINE...")
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    metavar="DIR",
    help="New or empty directory for the tables. Its parent must exist.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMS),
    help="Default: parquet where pyarrow is installed, else csv.",
)
@click.option("--schema", is_flag=True, help="Print the tables, columns, units and types as JSON, and stop.")
@click.option(
    "--document",
    metavar="NAME",
    help="Print the JSON Schema of a document, and stop: events, or a name listed by --schema.",
)
def export(
    recordings: tuple[str, ...], output: str | None, form: Form | None, schema: bool, document: str | None
) -> int:
    """Recordings as tables for a notebook or a database: one row is one observation, and `run_id` joins the tables.

    Reads recordings, other tools' results, triages, the folder of a fleet run, and the recordings of a baseline
    (`watch`: this host's nights). A file that cannot be read is named, and the others are exported.
    """
    from hostdx.app.features.export.schema import document_schema, schema_names, table_columns_document
    from hostdx.app.report.json_document import to_json_text

    if schema:
        print_result(to_json_text(table_columns_document()))
        return 0
    if document is not None:
        if document not in schema_names():
            raise Failure(f"export: --document {document}: there are: {', '.join(schema_names())}", USAGE)
        print_result(document_schema(document).rstrip("\n"))
        return 0
    if not recordings or output is None:
        raise click.UsageError("name recordings or directories, and -o DIR for the tables")
    return _export_and_get_status(recordings, output, form or ("parquet" if find_spec("pyarrow") else "csv"))


def _export_and_get_status(recordings: tuple[str, ...], output: str, form: Form) -> int:
    from hostdx.app.features.export.output import ExportFolder
    from hostdx.app.features.export.sources import NoRowsInFile, find_sources, read_source, run_id_of_file
    from hostdx.app.recordings.reader import pause_garbage_collection

    sources = find_sources(recordings)
    files: dict[str, str] = {}  # by run_id
    refused = 0
    with ExportFolder(output, form) as folder:
        for source in sources:
            try:
                run_id = run_id_of_file(source.path)
                if run_id in files:
                    raise NoRowsInFile(f"is the same file as {files[run_id]}; exported once")
                run = read_source(source, run_id)
            except NoRowsInFile as why:
                refused += 1
                print_problem(f"export: {source.path}: {why}")
                continue
            files[run_id] = str(source.path)
            with pause_garbage_collection():
                for table, row in run.read_rows():
                    folder.add(table, row)
            if run.damage or run.is_unfinished:
                damage = run.damage or "has no end"
                print_problem(f"export: {source.path}: {damage}; exported as far as it goes")
        if not files:
            raise Failure(f"export: none of {count_noun(len(sources), 'file')} can be exported")
        folder.finish()
    counts = ", ".join(f"{table} {count:,}" for table, count in folder.counts.items() if count)
    print_note(f"{output}: {count_noun(len(files), 'run')}; rows: {counts}")
    return COULD_NOT if refused else 0
