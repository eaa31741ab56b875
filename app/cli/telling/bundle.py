"""`hostdx bundle`: hostdx with all that it needs in one file, to be copied to hosts that have nothing but a Python."""

import hashlib
from pathlib import Path

import click

from app.output import out
from app.output_file import Output, check_outputs, write_files
from app.printable import printable
from probes.units import size


@click.command()
@click.option(
    "-o", "--output", type=click.Path(), required=True, help="The file to write, such as hostdx.pyz."
)
def bundle(output: str) -> int:
    """Any Python from 3.11 to 3.14 runs it, on x86_64 and aarch64 with glibc. pip fetches the wheels.

    Beside it: its SHA-256 sums, and what it holds as a CycloneDX bill of materials.
    """
    from app.bundle.build import built

    materials, sums = f"{output}.cdx.json", f"{output}.sha256"
    check_outputs("bundle", output, materials, sums)
    made = built()
    files = (Output(output, 0o755, made.data), Output(materials, 0o644, made.bill))
    told = "".join(f"{hashlib.sha256(one.data).hexdigest()}  {Path(one.path).name}\n" for one in files)
    write_files("bundle", (*files, Output(sums, 0o644, told.encode())))
    out(printable(f"{output}: {size(len(made.data))}, {made.wheels} wheels; beside it .sha256 and .cdx.json"))
    return 0
