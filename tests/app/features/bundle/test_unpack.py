"""A bundle is built and unpacked."""

import ast
import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from hostdx.app.features.bundle import build, unpack
from hostdx.app.features.bundle.unpack import (
    START,
    Bundle,
    UnfitBundle,
    candidate_unpack_folders,
    make_and_check_unpack_folder,
    unpack_if_needed,
)
from hostdx.app.terminal.failure import USAGE, Failure
from tests.every_case import every_case
from tests.needs import ROOT, needs, one_always
from tests.syntax import ROOT as TREE

FILES = (
    "hostdx/app/__init__.py",
    "hostdx/app/cli/__init__.py",
    "hostdx/app/features/bundle/unpack.py",
    START,
)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hundredth of the files and a package of one file: a whole bundle takes half a second to unpack."""
    path = tmp_path_factory.mktemp("small") / "hostdx.pyz"
    with pytest.MonkeyPatch.context() as patched:
        files = {name: data for name, data in build._own_files_by_path().items() if name in FILES}
        patched.setattr(build, "_own_files_by_path", lambda: files)
        patched.setattr(build, "fetch_wheels", fetch_small_package)
        path.write_bytes(build.build_portable_archive().data)
    path.chmod(0o755)
    return path


def fetch_small_package(into: Path) -> list[Path]:
    """For this interpreter and machine alone."""
    python = "cp3{0}-cp3{0}".format(sys.version_info[1])
    wheel = into / f"part-1-{python}-manylinux2014_{os.uname().machine}.whl"
    wheel.write_bytes(build.make_archive({"part.so": b"elf"}, build.OLDEST_S))
    return [wheel]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return Path(make_and_check_unpack_folder(next(candidate_unpack_folders())))


def test_it_is_unpacked_once_and_for_its_owner_alone(bundle: Path, place: Path) -> None:
    archive = Bundle(str(bundle))
    folder = Path(unpack_if_needed(archive, str(place)))
    assert place.stat().st_mode & 0o777 == folder.stat().st_mode & 0o777 == 0o700
    assert not [p for p in folder.rglob("*") if p.stat().st_mode & 0o077]
    status = (folder / "hostdx/app").stat()
    assert Path(unpack_if_needed(archive, str(place))) == folder and (folder / "hostdx/app").stat() == status
    assert {p.name for p in place.iterdir()} == {"lock", folder.name}


@pytest.mark.parametrize("harm", one_always("edited", "gone", "link", "cut off"))
def test_what_was_tampered_with_is_made_anew(bundle: Path, place: Path, harm: str) -> None:
    archive = Bundle(str(bundle))
    folder = unpack_if_needed(archive, str(place))
    file = Path(folder, "hostdx/app/cli/__init__.py")
    before = file.read_bytes()
    if harm == "edited":
        file.write_bytes(before[::-1])
    elif harm == "cut off":
        file.write_bytes(before[:10])
        os.utime(file, (archive.time_s, archive.time_s))
    else:
        file.unlink()
        if harm == "link":
            file.symlink_to("/etc/passwd")
    assert unpack_if_needed(archive, str(place)) == folder
    assert file.read_bytes() == before and not file.is_symlink()
    assert {p.name for p in place.iterdir()} == {"lock", Path(folder).name}


def test_what_a_killed_one_left_and_what_is_old_goes(bundle: Path, place: Path) -> None:
    (place / ".new/app").mkdir(parents=True)
    old, recent = place / "hostdx-0.0.1-abc-cp311-x86_64", place / "hostdx-0.0.2-abc-cp311-x86_64"
    for folder in (old, recent):
        folder.mkdir()
    os.utime(old, (1e9, 1e9))
    folder = unpack_if_needed(Bundle(str(bundle)), str(place))
    assert {p.name for p in place.iterdir()} == {"lock", recent.name, Path(folder).name}


def test_what_a_process_still_runs_from_stays(bundle: Path, place: Path, tmp_path: Path) -> None:
    folder = Path(unpack_if_needed(Bundle(str(bundle)), str(place)))
    old, ended = place / "hostdx-0.0.1-abc-cp311-x86_64", place / "hostdx-0.0.2-abc-cp311-x86_64"
    for tree in (old, ended):
        (tree / START).parent.mkdir(parents=True)
        (tree / START).write_bytes((folder / START).read_bytes())
        (tree / "waits.py").write_text("print(1, flush=True); input()\n")
        os.utime(tree, (1e9, 1e9))
    with subprocess.Popen(
        [sys.executable, "-I", str(old / START), "waits"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stdout.readline()
        os.utime(old, (1e9, 1e9))
        (folder / "hostdx/app/cli/__init__.py").unlink()
        unpack_if_needed(Bundle(str(bundle)), str(place))
        assert {p.name for p in place.iterdir()} == {"lock", old.name, folder.name}
        process.communicate(b"\n")
    (folder / "hostdx/app/cli/__init__.py").unlink()
    unpack_if_needed(Bundle(str(bundle)), str(place))
    assert not old.exists()


def test_a_part_that_was_damaged_on_its_way_is_refused(bundle: Path, place: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.pyz"
    data = bytearray(bundle.read_bytes())
    data[data.index(b"any.zip") + 200] ^= 1
    damaged.write_bytes(data)
    with pytest.raises(UnfitBundle, match="copy"):
        unpack_if_needed(Bundle(str(damaged)), str(place))
    assert {p.name for p in place.iterdir()} == {"lock"}


def test_an_interpreter_that_it_has_nothing_for(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpack.sys, "abiflags", "t")
    with pytest.raises(UnfitBundle, match=r"cp3\d+t"):
        Bundle(str(bundle))


def test_a_directory_that_others_rule_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loose, open_folder = tmp_path / "loose", tmp_path / "open"
    loose.mkdir(0o755)
    open_folder.mkdir()
    open_folder.chmod(0o777)
    (tmp_path / "link").symlink_to(loose)
    for path in (loose, open_folder / "hostdx", tmp_path / "link"):
        with pytest.raises(UnfitBundle):
            make_and_check_unpack_folder(str(path))
    monkeypatch.setattr(unpack.os, "ST_NOEXEC", os.statvfs(tmp_path).f_flag or 4096)
    with pytest.raises(UnfitBundle, match="noexec"):
        make_and_check_unpack_folder(str(tmp_path / "fine"))


@needs(ROOT)
def test_another_users_directory_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "own", tmp_path / "above/hostdx"):
        path.mkdir(0o700, parents=True)
    os.chown(tmp_path / "own", 1234, -1)
    os.chown(tmp_path / "above", 1234, -1)
    for path in (tmp_path / "own", tmp_path / "above/hostdx"):
        with pytest.raises(UnfitBundle):
            make_and_check_unpack_folder(str(path))


@needs(ROOT)
@pytest.mark.parametrize("cache", ["dangling link", "link of root's", "not there"])
def test_nothing_is_made_where_another_user_rules_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: str
) -> None:
    home, etc = tmp_path / "home/alice", tmp_path / "etc"
    for path in (home, etc):
        path.mkdir(parents=True)
    if cache != "not there":
        (home / ".cache").symlink_to(etc / "nologin")
    if cache == "dangling link":
        os.chown(home / ".cache", 1234, -1, follow_symlinks=False)
    os.chown(home, 1234, -1)
    before = sorted(tmp_path.rglob("*"))
    for variable in ("XDG_CACHE_HOME", "TMPDIR"):
        monkeypatch.setenv(variable, str(home / ".cache"))
    first, _, last = candidate_unpack_folders()
    for place in (first, last):
        with pytest.raises(UnfitBundle):
            make_and_check_unpack_folder(place)
    assert sorted(tmp_path.rglob("*")) == before


@needs(ROOT)
@pytest.mark.parametrize("owner", [0, 1234])
def test_no_link_in_a_folder_for_everybody_is_followed(tmp_path: Path, owner: int) -> None:
    """Others may move one of root's there; a folder of root's they cannot."""
    (everybody := tmp_path / "tmp").mkdir()
    everybody.chmod(0o1777)
    (everybody / "link").symlink_to(tmp_path / "absent")
    os.chown(everybody / "link", owner, -1, follow_symlinks=False)
    with pytest.raises(UnfitBundle):
        make_and_check_unpack_folder(f"{everybody}/link/hostdx")
    assert make_and_check_unpack_folder(f"{everybody}/new/folder/hostdx") == f"{everybody}/new/folder/hostdx"
    assert not (tmp_path / "absent").exists()


def test_a_way_of_our_own_is_made_over_our_own_links(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("a/b")
    (tmp_path / "loop").symlink_to("loop")
    assert make_and_check_unpack_folder(f"{tmp_path}/link/c/hostdx") == f"{tmp_path}/a/b/c/hostdx"
    assert make_and_check_unpack_folder(f"{tmp_path}/link/../hostdx") == f"{tmp_path}/a/hostdx"
    for path in ("absent/../hostdx", "loop/hostdx"):
        with pytest.raises((OSError, UnfitBundle)):
            make_and_check_unpack_folder(f"{tmp_path}/{path}")
    assert not (tmp_path / "absent").exists() and not (tmp_path / "hostdx").exists()


def test_where_none_will_do_one_line_says_why(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(
        unpack, "candidate_unpack_folders", lambda: iter([f"{tmp_path}/file/hostdx", "relative"])
    )
    monkeypatch.setattr(unpack, "__file__", f"{bundle}/hostdx_unpack.py")
    with (tmp_path / "said").open("w+") as error_file:
        with pytest.raises(SystemExit) as end:
            unpack.main(error_file)
        error_file.seek(0)
        assert end.value.code == 3 and len(error_file.readlines()) == 1


def test_an_old_python_reads_the_stub() -> None:
    text = (TREE / "app/features/bundle/stub.py").read_text("ascii")
    tree = ast.parse(text, feature_version=(3, 4))
    newer = (ast.JoinedStr, ast.AnnAssign, ast.NamedExpr, ast.Nonlocal)
    assert not [node for node in ast.walk(tree) if isinstance(node, newer) or getattr(node, "returns", None)]


@every_case("version", [(2, 7), (3, 6), (3, 10)])
def test_an_older_python_gets_one_line(bundle: Path, version: tuple[int, int], tmp_path: Path) -> None:
    """As one says it is: what it would do with a stub that it can read."""
    pretend = f"import sys; sys.version_info = {version}; sys.argv = ['hostdx.pyz']; "
    code = pretend + f"exec(open({str(TREE / 'app/features/bundle/stub.py')!r}).read())"
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True)
    assert done.returncode == 3 and done.stdout == "" and len(done.stderr.splitlines()) == 1


@pytest.fixture
def two_wheels(monkeypatch: pytest.MonkeyPatch) -> None:
    def write_wheels(into: Path) -> list[Path]:
        pure, compiled = (
            into / "Pure_Part-1.0-py3-none-any.whl",
            into / "core-2-cp312-cp312-manylinux_2_28_aarch64.whl",
        )
        pure.write_bytes(build.make_archive({"pure.py": b"", "pure.pyi": b""}, build.OLDEST_S))
        compiled.write_bytes(build.make_archive({"core.so": b"elf"}, build.OLDEST_S))
        return [pure, compiled]

    monkeypatch.setattr(build, "fetch_wheels", write_wheels)


def test_it_is_reproducible(two_wheels: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(build.EPOCH, "1700000000")
    first, second = build.build_portable_archive(), build.build_portable_archive()
    assert first == second
    monkeypatch.setenv(build.EPOCH, "1700000002")
    assert build.build_portable_archive().data != first.data
    manifest = json.loads(zipfile.ZipFile(io.BytesIO(first.data)).read("manifest.json"))
    assert manifest["time_s"] == 1700000000


@every_case("epoch", ["yesterday", "-1", "0", "99999999999"])
def test_an_epoch_that_is_none_is_refused(epoch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(build.EPOCH, epoch)
    with pytest.raises(Failure) as error:
        build.build_portable_archive()
    assert error.value.status == USAGE


def test_what_pip_says_is_the_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pip = tmp_path / "python"
    pip.write_text("#!/bin/sh\necho 'ERROR: no route to the index' >&2; exit 1\n")
    pip.chmod(0o755)
    monkeypatch.setattr(build.sys, "executable", str(pip))
    with pytest.raises(Failure, match="no route to the index"):
        build.fetch_wheels(tmp_path)


def test_it_cannot_be_made_where_hostdx_is_not_installed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(Failure):
        build.fetch_wheels(tmp_path)
