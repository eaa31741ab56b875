"""`hostdx bundle`: hostdx with all that it needs in one file, to be copied to hosts that have nothing but a Python."""

import hashlib
from pathlib import Path

import click

from hostdx.app.terminal.output import print_line
from hostdx.app.terminal.output_file import OutputFile, check_outputs, write_files
from hostdx.probes.units import format_size


@click.command()
@click.option(
    "-o", "--output", type=click.Path(), required=True, help="The file to write, such as hostdx.pyz."
)
def bundle(output: str) -> int:
    """Any Python from 3.11 to 3.14 runs it, on x86_64 and aarch64 with glibc. pip fetches the wheels.

    Beside it: its SHA-256 sums, and what it holds as a CycloneDX bill of materials.
    """
    from hostdx.app.features.bundle.build import build_portable_archive

    materials, sums = f"{output}.cdx.json", f"{output}.sha256"
    check_outputs("bundle", output, materials, sums)
    archive = build_portable_archive()
    files = (OutputFile(output, 0o755, archive.data), OutputFile(materials, 0o644, archive.bill))
    sum_lines = "".join(
        f"{hashlib.sha256(file.data).hexdigest()}  {Path(file.path).name}\n" for file in files
    )
    write_files("bundle", (*files, OutputFile(sums, 0o644, sum_lines.encode())))
    print_line(
        f"{output}: {format_size(len(archive.data))}, {archive.wheels} wheels; beside it .sha256 and .cdx.json"
    )
    return 0
