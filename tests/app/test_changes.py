"""Consent, locks and the journal around every change."""

from __future__ import annotations

from pathlib import Path

import pytest

from app import effects, locks
from app.changes import Changes
from app.failure import Failure
from app.journal import SCHEMA, Header, Outcome, journals
from app.process import identity
from app.state import journal_dir
from probes.action import Action, private_directory
from scenarios.plan import Plan


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    (tmp_path / "data").mkdir()
    (tmp_path / "attribute").write_text("old\n")


def setting(tmp_path: Path, new: str | None = "new") -> Action:
    return Action(kind="attribute", title="set", target=str(tmp_path / "attribute"), new=new, consent=True)


def changes(*planned: Action, consented: bool = True, lies_on: str = "", run: str = "r") -> Changes:
    head = Header(
        schema=SCHEMA, run=run, who=identity(), command=["hostdx", "run"], recording="", began_s=0.0
    )
    plan = Plan(scenario="fake", title="t", question="q", actions=planned)
    return Changes(
        plan=plan, consented=consented, header=head, lies_on=lambda _: lies_on, warn=lambda _: None
    )


def test_a_private_directory_needs_no_consent(tmp_path: Path) -> None:
    made = changes(consented=False)
    applied = made.apply(private_directory(str(tmp_path / "data")))
    assert Path(applied.value).is_dir()
    assert len(journals(journal_dir())) == 1
    assert made.revert(applied.id).state == "reverted"
    assert made.close() == []
    assert journals(journal_dir()) == []


@pytest.mark.parametrize(
    ("planned", "consented", "lies_on", "says"),
    [
        (True, False, "", "nobody agreed"),
        (False, True, "", "not in the plan"),
        (True, True, "the journal lies on it", "the journal lies on it"),
    ],
)
def test_refused_and_untouched(
    tmp_path: Path, planned: bool, consented: bool, lies_on: str, says: str
) -> None:
    action = setting(tmp_path)
    made = changes(*([action] if planned else []), consented=consented, lies_on=lies_on)
    with pytest.raises(Failure, match=says):
        made.apply(action)
    assert made.close() == []
    assert (tmp_path / "attribute").read_text() == "old\n"
    assert journals(journal_dir()) == []


def test_another_value_than_planned_is_refused(tmp_path: Path) -> None:
    made = changes(setting(tmp_path, "new"))
    with pytest.raises(Failure, match="not in the plan"):
        made.apply(setting(tmp_path, "other"))
    open_plan = changes(setting(tmp_path, None), run="s")
    applied = open_plan.apply(setting(tmp_path, "other"))
    open_plan.revert(applied.id)
    open_plan.close()


def test_the_second_is_told_who_is_at_it(tmp_path: Path) -> None:
    first, second = changes(setting(tmp_path)), changes(setting(tmp_path), run="s")
    applied = first.apply(setting(tmp_path))
    with pytest.raises(locks.Held, match=rf"pid {identity().pid} \(`hostdx run`"):
        second.apply(setting(tmp_path))
    nested = first.apply(setting(tmp_path))  # the same run may change it again
    first.revert(nested.id)
    with pytest.raises(locks.Held):
        second.apply(setting(tmp_path))
    first.revert(applied.id)
    again = second.apply(setting(tmp_path))
    second.revert(again.id)
    first.close()
    second.close()


def test_what_fails_half_way_is_undone(tmp_path: Path) -> None:
    target = str(tmp_path / "data" / "made")
    action = Action(
        kind="command", title="c", target=target, consent=True,
        apply=("sh", "-c", f"mkdir {target}; exit 7"), undo=("rmdir", target),
    )  # fmt: skip
    made = changes(action)
    with pytest.raises(Failure, match="exit status 7"):
        made.apply(action)
    assert not Path(target).exists()
    assert made.close() == []


def test_what_cannot_be_undone_stays_in_the_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = changes(setting(tmp_path))
    applied = made.apply(setting(tmp_path))
    failed = Outcome("failed", "stuck")
    monkeypatch.setattr(effects, "revert", lambda *_: failed)
    assert made.revert(applied.id) == failed
    assert [entry.id for entry in made.close()] == [applied.id]
    assert len(journals(journal_dir())) == 1
