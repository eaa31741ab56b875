"""The bundle that the nodes get: the one that we run from, one made of this tree, or one that lies on the nodes."""

import hashlib
import io
import json
import os
import zipfile
from pathlib import Path

import msgspec

from hostdx.app import __version__
from hostdx.app.features.fleet.launch.agent import MAX_BUNDLE_BYTES
from hostdx.app.state import make_private, state_dir
from hostdx.app.terminal.failure import USAGE, Failure
from hostdx.app.terminal.output import print_note
from hostdx.app.terminal.output_file import write_bytes
from hostdx.probes.children.environment import STARTED_AS, read_variable
from hostdx.probes.files.safe_read import read_named

TREE = Path(__file__).parents[4]


class Parcel(msgspec.Struct, frozen=True, kw_only=True):
    """`data` is empty where the nodes read it from `shared`. `parts`: Pythons and machines that it is for."""

    data: bytes = b""
    shared: str = ""
    size: int
    sha256: str
    parts: frozenset[str] = frozenset()


def make_parcel(shared: str) -> Parcel:
    """Raises Failure."""
    path = Path(shared or read_variable(STARTED_AS) or _bundle_of_tree())
    try:
        data = read_named(path, MAX_BUNDLE_BYTES)
        manifest = json.loads(zipfile.ZipFile(io.BytesIO(data)).read("manifest.json"))
        parts = frozenset(name for name in manifest["parts"] if name.startswith("cp"))
    except OSError as error:
        location_hint = "here too, so that its checksum is known; " if shared else ""
        raise Failure(f"fleet: {path}: cannot be read {location_hint}({error.strerror})", USAGE) from None
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError):
        raise Failure(
            f"fleet: {path}: is no bundle of hostdx; `hostdx bundle -o {path}` makes one", USAGE
        ) from None
    return Parcel(
        data=b"" if shared else data,
        shared=shared,
        size=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
        parts=parts,
    )


def _bundle_of_tree() -> Path:
    """Of this very tree, kept for the next time; what older trees left goes."""
    place = make_private(state_dir() / "bundles")
    path = place / f"hostdx-{__version__}-{_tree_digest()}.pyz"
    if not path.exists():
        from hostdx.app.features.bundle.build import build_bundle

        print_note("making the bundle for the nodes (once; pip fetches the wheels)")
        new_bundle = build_bundle()
        for old in place.glob("hostdx-*.pyz"):
            old.unlink(missing_ok=True)
        part = f"{path}.{os.getpid()}"
        write_bytes("fleet", part, 0o600, new_bundle.data)
        Path(part).rename(path)
    return path


def _tree_digest() -> str:
    """Of the names, sizes and times of our files: a tree that was worked on is another one."""
    digest = hashlib.sha256()
    for folder in ("app", "probes", "scenarios"):
        for path in sorted((TREE / folder).rglob("*")):
            if path.suffix != ".pyc" and path.is_file():
                status = path.stat()
                digest.update(f"{path.relative_to(TREE)} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]
