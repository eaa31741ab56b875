"""Nothing under --root leads out of it, whatever the symlinks say."""

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostdx.probes.reading.captured.captured_paths import resolve_host_path
from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent
from tests.fakes.hosts.tree import Tree

SECRET = "outside: must never be read"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    place = tmp_path / "secret"
    place.write_text(SECRET)
    return place


def test_absolute_targets_start_at_the_root(tree: Tree, secret: Path) -> None:
    tree.link("/sys/hop", "/proc/there").put("/proc/there", "inside")
    tree.link("/sys/passwd", "/etc/passwd").link("/sys/secret", str(secret))
    host = tree.host()
    assert host.read_file_text("/sys/hop") == "inside"
    for path in ("/sys/passwd", "/sys/secret"):
        for may_hang in (False, True):
            value = host.read_file_text(path, may_hang=may_hang)
            assert isinstance(value, Absent) and value.kind == "captured"


def test_dots_stop_at_the_root(tree: Tree, secret: Path) -> None:
    up = "../" * 40
    host = tree.link("/sys/up", f"{up}secret").link("/sys/dir", up).put("/top", "inside").host()
    assert isinstance(host.read_file_text("/sys/up"), Absent)
    assert isinstance(host.read_file_text("/sys/dir/secret"), Absent)
    assert isinstance(host.read_file_text(f"/sys/{up}secret"), Absent)
    assert host.read_file_text("/sys/dir/top") == "inside"
    assert host.glob_paths("/sys/dir/*") == ("/sys/dir/proc", "/sys/dir/sys", "/sys/dir/top")


def test_links_through_folders(tree: Tree, secret: Path) -> None:
    tree.link("/sys/out", str(secret.parent)).put("/sys/in/file", "inside").link("/sys/in/self", ".")
    host = tree.host()
    assert isinstance(host.read_file_text("/sys/out/secret"), Absent)
    assert isinstance(host.list_names("/sys/out"), Absent)
    assert host.glob_paths("/sys/out/*") == ()
    assert host.read_file_text("/sys/in/self/self/self/file") == "inside"


def test_loops_end(tree: Tree) -> None:
    tree.link("/sys/a", "b").link("/sys/b", "a").link("/sys/c", "c/c/c")
    host = tree.host()
    for path in ("/sys/a", "/sys/b/x", "/sys/c"):
        value = host.read_file_text(path)
        assert isinstance(value, Absent) and value.kind == "invalid"


def test_a_link_itself_can_be_read_wherever_it_points(tree: Tree) -> None:
    assert tree.link("/sys/up", "/etc/passwd").host().read_link("/sys/up") == "/etc/passwd"
    assert resolve_host_path(str(tree.root), "/sys/up/", follow_last=False) == "/sys/up"


names = st.sampled_from(["a", "b", "c", "secret", "sys", ".."])
paths = st.lists(names, min_size=1, max_size=5).map("/".join)
targets = st.one_of(paths, paths.map("/".__add__), paths.map("../../../../../..".__add__), st.just("OUT"))


@settings(max_examples=120, deadline=None)
@given(forest=st.dictionaries(paths, targets, max_size=8), paths=st.lists(paths, min_size=1, max_size=4))
def test_no_forest_of_symlinks_escapes_or_raises(forest: dict[str, str], paths: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        outer = Path(folder)
        (outer / "secret").write_text(SECRET)
        root = outer / "x" / "root"
        (root / "sys").mkdir(parents=True)
        (root / "sys" / "a").write_text("inside")
        for place, target in forest.items():
            link = root / os.path.normpath("/" + place).lstrip("/")
            to = str(outer / "secret") if target == "OUT" else target
            try:
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(to)
            except OSError:  # something is there already, or a loop
                continue
        host = Host(str(root))
        for path in [*paths, *forest]:
            for text in (host.read_file_text(f"/{path}"), host.read_file_text(f"/{path}/secret")):
                assert isinstance(text, Absent) or text == "inside"
            assert isinstance(host.list_names(f"/{path}"), tuple | Absent)
            real = host.resolve_path(f"/{path}")
            if isinstance(real, str):
                assert os.path.realpath(f"{root}{real}").startswith(str(root.resolve()))
            for glob_path in host.glob_paths(f"/{path}/*"):
                assert "secret" not in (host.read_file_text(glob_path) or "")
