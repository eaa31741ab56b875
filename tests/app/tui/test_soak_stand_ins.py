"""What the soak puts in the place of a command takes what the command takes: else its walk ends at the first one."""

import inspect
from collections.abc import Callable

from hostdx.app.tui.children.event_child import run_command
from tests.every_case import every_case
from tests.soak import bursts, pilot


@every_case("stand_in", [bursts.answer_late, pilot.answer_at_once])
def test_a_stand_in_takes_what_the_command_takes(stand_in: Callable[..., object]) -> None:
    for call in (
        inspect.signature(run_command).bind(["undo"]),
        inspect.signature(run_command).bind(["undo"], 1.0),
    ):
        inspect.signature(stand_in).bind(*call.args)
