"""A password that is given to hostdx is nobody else's."""

import os
import subprocess
import sys

import pytest

from hostdx.app.cli import main
from hostdx.probes.children import environment
from hostdx.probes.system.bios.redfish import PASSWORD, USER, Credentials, find_credentials


def test_no_program_that_is_started_inherits_it(monkeypatch: pytest.MonkeyPatch) -> None:
    outputs: list[str] = []

    def command_line(_arguments: object) -> int:
        outputs.append(subprocess.run(["env"], capture_output=True, text=True, check=True).stdout)
        for_ourselves = environment.hostdx_environment()
        outputs.append(
            subprocess.run(["env"], capture_output=True, text=True, check=True, env=for_ourselves).stdout
        )
        assert isinstance(find_credentials("bmc"), Credentials)
        return 0

    monkeypatch.setattr(environment, "_withheld", {})
    monkeypatch.setenv(USER, "admin")
    monkeypatch.setenv(PASSWORD, "correct-horse")
    monkeypatch.setattr("hostdx.app.cli.entry.run_command_line", command_line)
    monkeypatch.setattr(sys, "argv", ["hostdx", "scenarios"])
    with pytest.raises(SystemExit):
        main()
    others, of_own = outputs
    assert "correct-horse" not in others and USER not in others and f"PATH={os.environ['PATH']}" in others
    assert f"{PASSWORD}=correct-horse" in of_own
