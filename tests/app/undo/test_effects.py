"""Applying and undoing, kind by kind, also when nobody knows how far it came."""

from pathlib import Path

import msgspec
import pytest

from hostdx.app.undo import effects
from hostdx.app.undo.journal import JournalEntry
from hostdx.scenarios.contract.action import Action, private_directory_action
from tests.every_case import every_case


def attribute(path: Path, new: str, **more: object) -> Action:
    return Action(kind="attribute", title="set", target=str(path), new=new, **more)  # type: ignore[arg-type]


def apply(action: Action) -> JournalEntry:
    return effects.carry_out_entry(effects.prepare_entry(action, "x"), ())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "scheduler").write_text("[none] mq-deadline bfq\n")
    return tmp_path / "scheduler"


def test_the_active_one_is_what_counts() -> None:
    from hostdx.app.undo.kinds.attribute import selected_word

    assert selected_word("none [mq-deadline] kyber bfq \n") == "mq-deadline"
    assert selected_word(" 128\n") == "128"
    assert selected_word("[]") == "[]"


def test_written_read_back_and_restored(path: Path) -> None:
    side = path.with_name("nr_requests")
    side.write_text("64\n")
    entry = apply(attribute(path, "bfq", side_paths=(str(side),)))
    assert (entry.old, entry.saved, entry.became) == ("none", {str(side): "64"}, "bfq")
    side.write_text("256\n")  # what a switch of the scheduler does
    assert effects.revert_entry(entry) == effects.UNDONE
    assert path.read_text() == "none\n"
    assert side.read_text() == "64\n"
    assert effects.revert_entry(entry) == effects.UNDONE  # twice does no harm


def test_side_paths_by_pattern(tmp_path: Path, path: Path) -> None:
    (tmp_path / "iosched").mkdir()
    for name in ("read_expire", "write_expire"):
        (tmp_path / "iosched" / name).write_text("500\n")
    entry = apply(attribute(path, "bfq", side_paths=(f"{tmp_path}/iosched/*", str(tmp_path / "missing"))))
    assert sorted(entry.saved) == [f"{tmp_path}/iosched/read_expire", f"{tmp_path}/iosched/write_expire"]


def test_somebody_else_changed_it_meanwhile(path: Path) -> None:
    entry = apply(attribute(path, "bfq"))
    path.write_text("kyber\n")
    outcome = effects.revert_entry(entry)
    assert outcome.state == "kept"
    assert "kyber" in outcome.reason
    assert path.read_text() == "kyber\n"


@pytest.mark.parametrize("came", ["nothing written", "written"])
def test_killed_before_it_was_known_how_far_it_came(path: Path, came: str) -> None:
    entry = effects.prepare_entry(attribute(path, "bfq"), "x")
    if came == "written":
        path.write_text("none mq-deadline [bfq]\n")
    assert effects.revert_entry(entry).state == "reverted"
    assert effects.prepare_entry(attribute(path, "bfq"), "x").old == "none"


def test_the_device_is_gone(path: Path) -> None:
    entry = apply(attribute(path, "bfq"))
    path.unlink()
    outcome = effects.revert_entry(entry)
    assert outcome.state == "reverted" and "gone" in outcome.reason


def test_what_cannot_be_written_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(effects.ChangeNotMade, match="No such file"):
        effects.prepare_entry(attribute(tmp_path / "missing", "x"), "x")
    with pytest.raises(effects.ChangeNotMade, match="not an attribute"):
        effects.prepare_entry(attribute(Path("/dev/null"), "x"), "x")  # never a device node
    with pytest.raises(effects.ChangeNotMade, match="not an attribute"):
        effects.prepare_entry(attribute(tmp_path, "x"), "x")


def test_a_value_that_is_not_taken() -> None:
    """/proc/sys/kernel/ostype can be read by all and written by none."""
    target = Path("/proc/sys/kernel/ostype")
    entry = effects.prepare_entry(attribute(target, "other"), "x")
    with pytest.raises(effects.ChangeNotMade, match="not accepted"):
        effects.carry_out_entry(entry, ())
    assert effects.revert_entry(entry).state == "reverted"


def test_a_star_in_the_users_own_folder_stays(tmp_path: Path) -> None:
    folder = tmp_path / "a*b"
    folder.mkdir()
    folder_made = Path(apply(private_directory_action(str(folder))).value)
    assert folder_made.parent == folder and folder_made.is_dir() and "*" not in folder_made.name


def test_private_directory(tmp_path: Path) -> None:
    entry = apply(private_directory_action(str(tmp_path)))
    path = Path(entry.value)
    assert (
        path.parent == tmp_path and path.name.startswith(".hostdx-") and path.stat().st_mode & 0o777 == 0o700
    )
    (path / "a/b").mkdir(parents=True)
    (path / "a/b/file").write_text("x")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("x")
    (path / "link").symlink_to(outside)
    (path / "a/file").symlink_to(outside / "precious")
    assert effects.revert_entry(entry).state == "reverted"
    assert [p.name for p in tmp_path.iterdir()] == ["outside"]
    assert (outside / "precious").read_text() == "x"
    assert "gone" in effects.revert_entry(entry).reason


@every_case("name", ["precious", "..", ".hostdx-x/../precious"])
def test_what_does_not_carry_our_mark_is_never_removed(tmp_path: Path, name: str) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / ".hostdx-x").mkdir()
    entry = msgspec.structs.replace(
        effects.prepare_entry(private_directory_action(str(tmp_path)), "x"),
        value=f"{tmp_path}/{name}",
        made=True,
    )
    assert effects.revert_entry(entry).state == "failed"
    assert (tmp_path / "precious").exists()


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    entry = apply(private_directory_action(str(tmp_path)))
    Path(entry.value).rmdir()
    (tmp_path / "precious").mkdir()
    Path(entry.value).symlink_to(tmp_path / "precious")
    assert effects.revert_entry(entry).state == "failed"
    assert (tmp_path / "precious").exists()


def test_another_directory_of_that_name_is_not_emptied(tmp_path: Path) -> None:
    entry = apply(private_directory_action(str(tmp_path)))
    path = Path(entry.value)
    path.rename(tmp_path / "moved")
    path.mkdir(mode=0o700)
    (path / "precious").write_text("x")
    assert effects.revert_entry(entry).state == "failed"
    assert (path / "precious").exists() and (tmp_path / "moved").exists()


def test_a_name_without_mark_is_not_made(tmp_path: Path) -> None:
    action = Action(kind="resource", resource="directory", title="d", target=str(tmp_path / "plain"))
    with pytest.raises(effects.ChangeNotMade, match="mark"):
        effects.prepare_entry(action, "x")


def test_command_and_its_inverse(tmp_path: Path) -> None:
    path = str(tmp_path / "made")
    action = Action(kind="command", title="c", target=path, apply=("mkdir", path), undo=("rmdir", path))
    entry = apply(action)
    assert Path(path).is_dir()
    assert effects.revert_entry(entry) == effects.UNDONE
    assert not Path(path).exists()
    retried = effects.revert_entry(entry)  # it was made, and the inverse fails now: somebody has to look
    assert retried.state == "failed"
    unsure = effects.revert_entry(msgspec.structs.replace(entry, made=False))
    assert unsure.state == "reverted"


def test_command_without_inverse() -> None:
    entry = apply(Action(kind="command", title="c", target="x", apply=("true",), irreversible=True))
    assert effects.revert_entry(entry).state == "kept"


@pytest.mark.parametrize(
    ("argv", "part"), [(("false",), "exit status 1"), (("no-such-tool-x",), "is not installed")]
)
def test_command_that_fails(argv: tuple[str, ...], part: str) -> None:
    entry = effects.prepare_entry(Action(kind="command", title="c", target="x", apply=argv), "x")
    with pytest.raises(effects.ChangeNotMade, match=part):
        effects.carry_out_entry(entry, ())


def test_what_a_reboot_undoes() -> None:
    kinds = {"directory": True, "namespace": False}
    for resource, survives in kinds.items():
        action = Action(kind="resource", resource=resource, title="r", target="x")  # type: ignore[arg-type]
        assert effects.survives_reboot(action) is survives
    assert not effects.survives_reboot(Action(kind="attribute", title="a", target="x"))
