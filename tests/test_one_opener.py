"""Files are opened to read by one opener: a FIFO would be waited for, a device touched, a neighbour's link followed.

Read off the syntax: whatever opens a file by a path that is not spelled out below /proc, /sys or /dev stands here, with
the reason for which the path is nobody's choice.
"""

import ast
from collections.abc import Iterable, Iterator

from tests.every_case import every_case
from tests.syntax import ROOT, modules, nodes

READS = {"open", "read_text", "read_bytes"}  # of Path, and `open` alone
BY_NAME = {
    "tarfile.open",
    "gzip.open",
    "bz2.open",
    "lzma.open",
    "zipfile.ZipFile",
    "sqlite3.connect",
    "io.open",
}
NAMED = {"cafile", "capath", "certfile", "filename"}
NOT_PATHS = {"webbrowser", "os", "self._files", "urllib.request"}  # what `.open` is no Path's of
KERNEL = ("/proc/", "/sys/", "/dev/null")
KERNELS = "the kernel's own file, below /proc or /sys"
STATE = "in the state or the runtime directory, which is ours alone"
BUNDLE = "the bundle's own file, its directory of ours alone, wheels in a directory of its own"
OUTPUT = "written: tests/app/terminal/test_output_file.py"
# Whose choice the path is.
ALLOWED = {
    "probes/reading/other_package.py": "on the module search path, from which code is run anyway",
    "probes/reading/parsed_toml.py": "written beside Python's byte code (O_EXCL)",
    "probes/files/safe_read.py": "looks with O_PATH, its flags on a line of their own",
    "app/cli/telling/explain.py": "a page of our own code",
    "app/undo/kinds/text_file.py": "made where none is (O_EXCL), else the journalled path, without links or waiting",
    "app/features/watch/openmetrics.py": "made beside its target (O_EXCL), never read",
    **dict.fromkeys(("app/cli/telling/explain.py", "app/features/fleet/launch/errand.py"), "a page of our own code"),
    "scenarios/fullstack/measurement/remote.py": "a page of our own code",
    "app/report/forms/html.py": "its own style sheet",
    **dict.fromkeys(
        (
            "app/cli/telling/completion.py", "app/features/watch/timer.py",
            "app/features/watch/incidents/recorder.py",
        ),
        "a file of our own, beside it",
    ),
    "app/features/fleet/launch/agent.py": "on a node: its directory, and a bundle that must be a file",
    "app/features/export/schema.py": "a page of our own code",
    "app/features/fleet/launch/errand.py": "a zip in memory",
    "app/features/fleet/folder.py": "written, in a directory of ours alone",
    "app/features/fleet/launch/call.py": "written, in a directory of ours alone",
    "probes/system/disk/drive/ebs.py": "the node of an EBS volume, by a checked name, to read its log page",
    "probes/system/disk/directory.py": "a directory only (O_DIRECTORY), to ask for its attributes",
    "probes/reading/captured/archive.py": "a captured host's folder, made by mkdtemp",
    **dict.fromkeys(("app/features/bundle/build.py", "app/features/bundle/unpack.py"), BUNDLE),
    "probes/children/start.py": "itself, of which it holds a lock",
    **dict.fromkeys(("app/terminal/output_file.py", "app/tui/requests.py"), OUTPUT),
    **dict.fromkeys(
        (
            "app/features/watch/incidents/book.py",
            "app/locks.py", "app/recordings/baselines.py", "app/recordings/writer.py",
            "app/run/launch.py", "app/tui/theme.py", "app/undo/journal.py", "app/undo/killed_ending.py",
            "scenarios/fstrim/rounds.py",
        ),
        STATE,
    ),
    **dict.fromkeys(
        (
            "app/undo/kinds/attribute.py", "app/undo/kinds/resources.py", "app/undo/kinds/own_groups.py",
            "probes/engine/command/energy.py", "probes/engine/command/group_counters.py",
            "scenarios/rpfilter/measurement/lab.py", "scenarios/rpfilter/measurement/lab.py",
            "scenarios/rpfilter/measurement/scheduling_delay.py",
            "probes/engine/command/process_tree.py", "probes/engine/command/supervisor.py", "probes/system/apic.py",
            "probes/system/kernel_log.py", "probes/system/pcie_tags.py", "probes/system/running/processes.py",
            "app/features/watch/incidents/recorder.py",
            "scenarios/experiment/schedule/host_settings.py", "probes/profile/wait_samples.py",
            "probes/profile/rings.py",
        ),
        KERNELS,
    ),
}  # fmt: skip


def trouble_with(call: ast.Call) -> str:
    """Why this call must not be there; empty for a good one."""
    keywords = {keyword.arg for keyword in call.keywords}
    text = ast.unparse(call.func)
    base, _, last = text.rpartition(".")
    if text in BY_NAME and "fileobj" not in keywords:
        return text
    if keywords & NAMED and not text.startswith(("logging.", "msgspec.")):
        return f"{text} with {', '.join(sorted(keywords & NAMED))}"
    if text in ("open", "os.open"):
        path, flags = call.args[0], ast.unparse(call.args[1]) if len(call.args) > 1 else ""
        if "dir_fd" in keywords or _is_plain(path) or (text == "os.open" and "os.O_PATH" in flags):
            return ""
        return text
    if base and last in READS and base not in NOT_PATHS and not (last == "open" and not _of_path(call)):
        inner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if isinstance(inner, ast.Call) and ast.unparse(inner.func) == "Path" and _is_plain(inner.args[0]):
            return ""
        return text
    return ""


def _is_plain(path: ast.expr) -> bool:
    """Begins with a directory of the kernel's in so many letters."""
    if isinstance(path, ast.JoinedStr) and path.values:
        path = path.values[0]
    if ast.unparse(path) == "os.devnull":
        return True
    return isinstance(path, ast.Constant) and str(path.value).startswith(KERNEL)


def _of_path(call: ast.Call) -> bool:
    """Path.open takes a mode; what takes none is something else's."""
    modes = [*call.args, *(k.value for k in call.keywords if k.arg == "mode")]
    return not modes or any(
        isinstance(a, ast.Constant) and set(str(a.value)) <= set("rwxabt+") for a in modes
    )


def find_openers(read: Iterable[ast.AST]) -> Iterator[str]:
    """Every call that opens by a path."""
    return (text for node in read if isinstance(node, ast.Call) and (text := trouble_with(node)))


def test_only_these_open_by_a_path() -> None:
    openers = {
        str(path.relative_to(ROOT)): texts
        for path in modules("app", "probes", "scenarios")
        if (texts := list(find_openers(nodes(path))))
    }
    assert {path: texts for path, texts in openers.items() if path not in ALLOWED} == {}
    assert ALLOWED.keys() - openers.keys() == set(), "allowed, and no longer needed"


@every_case(
    "code",
    [
        "open(path)", "open(path, 'rb')", "os.open(path, os.O_RDONLY)", "path.read_text()", "Path(a).read_bytes()",
        "path.open('rb')", "Path(name).open()", "ssl.create_default_context(cafile=name)", "tarfile.open(path)",
        "context.load_verify_locations(cafile=a)", "gzip.open(path)",
    ],
)  # fmt: skip
def test_it_is_seen(code: str) -> None:
    assert list(find_openers(ast.walk(ast.parse(code))))


@every_case(
    "code",
    [
        "opened(path)", "os.open(name, os.O_RDONLY, dir_fd=fd)", "os.open(path, os.O_PATH | os.O_CLOEXEC)",
        "open('/proc/self/uid_map')", "Path(f'/proc/{pid}/stat').read_text()", "os.fdopen(fd, 'rb')",
        "tarfile.open(fileobj=file, mode='w:gz')",
    ],
)  # fmt: skip
def test_what_is_right_is_not(code: str) -> None:
    assert not list(find_openers(ast.walk(ast.parse(code))))
