"""`--ascii`, `--no-mouse` and `--theme` before a command that opens the app."""

import pytest

from hostdx.app.cli.entry import run_command_line


@pytest.mark.parametrize("command", ["replay", "attach"])
def test_the_look_may_stand_before_the_command(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[dict[str, object]] = []

    def record_look(_mode: str, _path: str, look: dict[str, object], _speed: float = 1.0) -> int:
        looks.append(look)
        return 0

    monkeypatch.setattr("hostdx.app.cli.screen.open_screen", record_look)
    name = "demo:storage"
    assert run_command_line(["--ascii", "--theme", "light", command, name]) == 0
    assert run_command_line([command, "--ascii", "--theme", "light", name]) == 0
    assert run_command_line(["--theme", "light", command, "--theme", "dark", name]) == 0
    assert looks[0] == looks[1] and (looks[0]["ascii_only"], looks[0]["theme"]) == (True, "light")
    assert looks[2]["theme"] == "dark"
