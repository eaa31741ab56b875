"""What a node is asked to do: the shell's command line, the agent's text and order, the bundle."""

import hashlib
import io
import json
import os
import shlex
import zipfile
from base64 import b64encode
from functools import cache
from pathlib import Path
from zlib import compress

import msgspec

from hostdx.app import __version__
from hostdx.app.features.fleet.launch.agent import MAX_BUNDLE_BYTES
from hostdx.app.recordings.limits import LINE_LIMIT
from hostdx.app.state import make_private_dir, state_dir
from hostdx.app.terminal.failure import USAGE, Failure
from hostdx.app.terminal.output import print_note
from hostdx.app.terminal.output_file import write_bytes
from hostdx.probes.children.environment import STARTED_AS, read_env_variable
from hostdx.probes.children.own_module import PYTHONS
from hostdx.probes.files.safe_read import read_trusted_file

TREE = Path(__file__).parents[4]


class NodeBundle(msgspec.Struct, frozen=True, kw_only=True):
    """`data` is empty where the nodes read it from `shared`. `parts`: Pythons and machines that it is for."""

    data: bytes = b""
    shared: str = ""
    size: int
    sha256: str
    parts: frozenset[str] = frozenset()


def make_node_bundle(shared_path: str) -> NodeBundle:
    """Raises Failure."""
    path = Path(shared_path or read_env_variable(STARTED_AS) or _cached_bundle_of_tree())
    try:
        data = read_trusted_file(path, MAX_BUNDLE_BYTES)
        manifest = json.loads(zipfile.ZipFile(io.BytesIO(data)).read("manifest.json"))
        parts = frozenset(name for name in manifest["parts"] if name.startswith("cp"))
    except OSError as error:
        location_hint = "here too, so that its checksum is known; " if shared_path else ""
        raise Failure(f"fleet: {path}: cannot be read {location_hint}({error.strerror})", USAGE) from None
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError):
        raise Failure(
            f"fleet: {path}: is no bundle of hostdx; `hostdx bundle -o {path}` makes one", USAGE
        ) from None
    return NodeBundle(
        data=b"" if shared_path else data,
        shared=shared_path,
        size=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
        parts=parts,
    )


def _cached_bundle_of_tree() -> Path:
    """Of this very tree, kept for the next time; what older trees left goes."""
    place = make_private_dir(state_dir() / "bundles")
    path = place / f"hostdx-{__version__}-{_tree_stat_digest()}.pyz"
    if not path.exists():
        from hostdx.app.features.bundle.build import build_portable_archive

        print_note("making the bundle for the nodes (once; pip fetches the wheels)")
        new_bundle = build_portable_archive()
        for old in place.glob("hostdx-*.pyz"):
            old.unlink(missing_ok=True)
        part = f"{path}.{os.getpid()}"
        write_bytes("fleet", part, 0o600, new_bundle.data)
        Path(part).rename(path)
    return path


def _tree_stat_digest() -> str:
    """Of the names, sizes and times of our files: a tree that was worked on is another one."""
    digest = hashlib.sha256()
    for folder in ("app", "probes", "scenarios"):
        for path in sorted((TREE / folder).rglob("*")):
            if path.suffix != ".pyc" and path.is_file():
                status = path.stat()
                digest.update(f"{path.relative_to(TREE)} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]


_AGENT = Path(__file__).with_name("agent.py")
_EXECUTE = (
    't=f.read(int(f.readline()));exec(compile(t,"agent","exec"),{"__name__":"hostdx_agent","SOURCE":f})'
)
MARKED = "#hostdx-fleet"


class NodeOrder(NodeBundle, frozen=True, kw_only=True):
    """The same for many nodes, with the bundle. `silence_s`: how long a run that goes on says nothing at most.
    `begin_s`: by the nodes' clocks, seconds since 1970. `ahead`: what makes a node ready while others measure; it waits
    for its turn.
    """

    argv: tuple[str, ...]
    records: bool = False  # a run, whose recording is what it prints
    begin_s: float = 0.0
    ahead: tuple[str, ...] = ()
    python: str = ""
    become: str = ""
    most_bytes: int = 64 << 20
    connect_s: float = 10.0
    most_s: float = 600.0
    silence_s: float = 120.0

    @property
    def max_line_bytes(self) -> int:
        """Bytes: a recording has many lines, a document may be one."""
        return LINE_LIMIT if self.records else self.most_bytes

    def shell_command(self, node: str = "") -> str:
        """For a login shell of any kind: one word of its own for /bin/sh, in one line.

        With a node's name the head is in it, where nothing can be sent afterwards.
        """
        source = 'f=open(0,"rb",closefd=False);'
        if node:
            packed = b64encode(compress(self.order_header_line(node))).decode()
            source = f'import base64,io,zlib;f=io.BytesIO(zlib.decompress(base64.b64decode("{packed}")));'
        names = shlex.join([self.python] if self.python else PYTHONS)
        first = f"{self.become} -n -- " if self.become else ""
        script = (
            f'echo \\{MARKED} {{\\"shell\\":1}}; PATH=$PATH:/usr/local/bin:/usr/bin; for p in {names}; do '
            '"$p" -I -S -c "import sys; sys.exit(sys.version_info < (3, 11))" </dev/null >/dev/null 2>&1 && '
            f'exec {first}"$p" -I -S -c {shlex.quote(source + _EXECUTE)}; done; echo \\{MARKED} {{\\"absent\\":1}}'
        )
        return f"exec /bin/sh -c {shlex.quote(script)}"

    def order_header_line(self, node: str) -> bytes:
        order = {
            "node": node,
            "argv": self.argv,
            "size": self.size,
            "sha256": self.sha256,
            "path": self.shared,
            "records": self.records,
            "most": self.most_bytes,
            "begin_s": self.begin_s,
            "ahead": self.ahead,
        }
        text = agent_source()
        return b"%d\n" % len(text) + text + msgspec.json.encode(order) + b"\n"

    def unfit_reason(self, python: str) -> str:
        """Return why the bundle is of no use to this interpreter; empty where it is, or where nobody knows."""
        if not self.parts or python in self.parts:
            return ""
        return f"the bundle has nothing for its Python ({python[:40]})"


@cache
def agent_source() -> bytes:
    return _AGENT.read_bytes()
