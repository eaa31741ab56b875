"""What works below a private directory names nothing by its path: who owns the folder above can rename it.

Read off the syntax of every module of `probes` and `scenarios` and of those in `app` that make and remove resources.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.every_case import every_case
from tests.syntax import ROOT, modules, parse_module

IN_APP = ("own_files", "resources", "effects", "undo", "changes")
# Calls of `os` that make, change or remove a name: with `dir_fd` (or `src_dir_fd` and `dst_dir_fd`) only.
BY_NAME = {
    "open", "unlink", "remove", "rmdir", "mkdir", "mknod", "mkfifo", "symlink", "chown", "chmod", "utime",
}  # fmt: skip
TWO_NAMES = {"rename", "replace", "link"}
NEVER = {"removedirs", "makedirs", "renames", "truncate", "chdir", "walk", "lchown"}
# Methods of Path that do so; none of them takes a descriptor.
OF_PATH = {
    "unlink", "rmdir", "mkdir", "touch", "write_text", "write_bytes", "rename", "symlink_to", "hardlink_to",
    "chmod", "lchmod",
}  # fmt: skip
# Module and function: why a name is right there.
ALLOWED = {
    "rounds.append_round": "the rounds, in the state directory",
    "namespaces._enter_new_network_namespace": "attributes of its own process",
    "safe_read.read_regular": "looks only; its flags stand on a line of their own",
    "safe_read.reopen_regular": "reads what a descriptor stands for",
    "lab._set_rp_filter_of_all_and": "an attribute of the kernel, in a namespace of our own",
    "own_links._enter_own_mounts_and_write": "attributes of the kernel, in a namespace of our own",
    "worker.__init__": "its own files once more, by their descriptors: without O_DIRECT",
    "parent_death.make_first_oom_victim": "an attribute of its own process",
    "darshan_log.parse_darshan_log": "a file without a name in TMPDIR; no run is under way",
    "archive._make_folder": "a captured host's folder in TMPDIR, made by mkdtemp; links on the way are refused",
    "archive._write_member": "as above",
    "supervisor._become_command": "/dev/null, and the directory that the user names for his own command: not ours",
    "variants.make_order": "as above",
    "temporary_folder.temporary_folder": "in TMPDIR, by mkdtemp; no run is under way",
    "temporary_folder.remove_leftovers": "our own in TMPDIR, where nobody else rules it; rmtree works by descriptor",
    "command.measure_block": "the descriptor's own name in /proc: it leads to that directory whatever it is called",
    "group_counters.enter_group": "joins a control group, an attribute of the kernel",
    "variants.make_variant": "as above",
}


def _checked_modules() -> list[Path]:
    return [*modules("probes", "scenarios"), *(path for path in modules("app") if path.stem in IN_APP)]


def trouble_with(call: ast.Call) -> str:
    """Why this call must not be there; empty for a good one."""
    keywords = {keyword.arg for keyword in call.keywords}
    text = ast.unparse(call.func)
    base, _, last = text.rpartition(".")
    if text.startswith(("shutil.", "tempfile.")) and text != "shutil.which":
        return text
    if base == "os" and last in NEVER:
        return text
    if base == "os" and last in BY_NAME and "dir_fd" not in keywords and not _only_reads(call):
        return text
    if base == "os" and last in TWO_NAMES and not {"src_dir_fd", "dst_dir_fd"} <= keywords:
        return text
    if base not in ("", "os") and last in OF_PATH and "dir_fd" not in keywords:
        return text
    if last == "open" and base != "os" and _may_write(call):
        return text
    for keyword in call.keywords:
        if keyword.arg == "cwd" and ast.unparse(keyword.value) not in ("'/'", "None"):
            return f"{text} with cwd"
    return ""


def _only_reads(call: ast.Call) -> bool:
    """An `os.open` that says plainly that it only reads; it makes nothing."""
    flags = ast.unparse(call.args[1]) if len(call.args) > 1 else ""
    plain = {"os.O_RDONLY", "os.O_PATH"} & set(flags.split(" | "))
    return bool(plain) and not any(word in flags for word in ("O_CREAT", "O_TMPFILE", "O_WRONLY", "O_RDWR"))


def _may_write(call: ast.Call) -> bool:
    """A builtin `open` or Path.open that is not plainly for reading."""
    arguments = [*call.args, *(k.value for k in call.keywords if k.arg == "mode")]
    words = [a.value for a in arguments if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    return any(set(word) <= set("rwxabt+") and set(word) & set("wxa+") for word in words)


def find_calls(tree: ast.AST, scope: str) -> Iterator[tuple[str, str]]:
    """(module.function, call) of every call that names by path."""
    for node in ast.iter_child_nodes(tree):
        inside = scope
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inside = f"{scope.partition('.')[0]}.{node.name}"
        if isinstance(node, ast.Call) and (text := trouble_with(node)):
            yield inside, text
        yield from find_calls(node, inside)


def test_nothing_is_written_or_deleted_by_its_path() -> None:
    calls = [
        (place, f"{path.relative_to(ROOT)}: {place.rpartition('.')[2]}: {text}")
        for path in _checked_modules()
        for place, text in find_calls(parse_module(path), path.stem)
    ]
    assert [line for place, line in calls if place not in ALLOWED] == []
    assert ALLOWED.keys() - {place for place, _ in calls} == set(), "allowed, and no longer needed"


@every_case(
    "code",
    [
        "os.unlink(path)", "os.rmdir(f'{a}/{b}')", "os.open(path, flags)", "os.rename(a, b, src_dir_fd=1)",
        "os.walk(place)", "shutil.rmtree(place)", "tempfile.mkdtemp(dir=place)", "path.unlink()",
        "Path(a).write_text('x')", "open(path, 'w')", "path.open('ab')", "open(path, mode='x')",
        "subprocess.Popen(argv, cwd=place)", "os.chdir(place)",
    ],
)  # fmt: skip
def test_it_is_seen(code: str) -> None:
    assert list(find_calls(ast.parse(code), "m"))


@every_case(
    "code",
    [
        "os.unlink(name, dir_fd=fd)", "os.open('.', flags, dir_fd=fd)", "open(path)", "open(path, 'rb')",
        "os.rename(a, b, src_dir_fd=1, dst_dir_fd=1)", "text.replace('w', 'x')", "path.read_text('ascii')",
        "subprocess.Popen(argv, cwd='/')", "os.fchdir(fd)", "PrivateDirectory.open(path, made)",
    ],
)  # fmt: skip
def test_what_is_right_is_not(code: str) -> None:
    assert not list(find_calls(ast.parse(code), "m"))
