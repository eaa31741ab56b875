"""What stderr shows while a run is under way: plain lines and the drawn form, fed with every recording there is."""

import io
import re
from pathlib import Path

import pytest
from rich.console import Console
from rich.live import Live

from hostdx.app.cli.measuring.progress import PlainProgress
from hostdx.app.cli.measuring.progress_rich import DrawnProgress
from hostdx.app.recordings.reader import read_events
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.disturbance import Disturbance, InterferenceCulprit
from tests.every_case import every_case

FIXTURES = sorted((Path(__file__).parents[2] / "fixtures" / "recordings").glob("*.jsonl"))
# what rich itself writes: colours, cursor up, erase line, cursor on and off
OURS = re.compile(r"\x1b\[(?:[0-9;]*m|\d*A|2K|1A|\?25[lh])")


@every_case("path", FIXTURES)
def test_drawn(path: Path) -> None:
    screen = io.StringIO()
    view = DrawnProgress()
    view._console = Console(file=screen, force_terminal=True, width=80, height=24, highlight=False)
    view._live = Live(console=view._console, auto_refresh=False, transient=True)
    with view:
        for event in read_events(path):
            view.show(event)
    rest = OURS.sub("", screen.getvalue())
    assert "\x1b" not in rest and "\x07" not in rest and "\u202e" not in rest


def test_who_disturbs_all_along_is_told_once_a_minute(capsys: pytest.CaptureFixture[str]) -> None:
    view = PlainProgress()
    for t in range(0, 120, 3):
        for kind in ("queue", "cpu"):
            view.show(ev.Guard(t=t, kind=kind, disturbance=Disturbance(kind, figure=4.0)))
    view.show(ev.Guard(t=120, kind="cpu", disturbance=Disturbance("cpu", figure=4.0), again="train"))
    view.show(
        ev.Guard(
            t=120,
            kind="cpu",
            disturbance=Disturbance(
                "cpu", figure=4.0, culprit=InterferenceCulprit(name="dd", pid=7, rate=1, unit="CPUs")
            ),
        )
    )
    assert len(capsys.readouterr().err.splitlines()) == 2 * 2 + 2
