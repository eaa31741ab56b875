"""`--private`: values that can hold secrets are told as digests, the same for the same value."""

from __future__ import annotations

from probes.secrecy.secrets import digest
from probes.types import Json
from scenarios.option_value import Discretion
from scenarios.plan import Option

DECLARED = (
    Option(name="cmd", kind="text", help="", secret=True),
    Option(name="variant", kind="text", help="", multiple=True, secret=True),
    Option(name="private", kind="flag", help=""),
)
VARIANT = "a: CODE=tiger7 LEVEL=1"
VALUES: dict[str, Json] = {"cmd": "/job tiger7", "variant": [VARIANT], "budget": 9.0}
COMMAND = ["hostdx", "run", "--cmd", "/job tiger7", f"--variant={VARIANT}", "--budget", "9"]


def test_options_and_command_become_digests() -> None:
    told = Discretion({**VALUES, "private": True}, DECLARED)
    assert told.options(VALUES) == {
        "cmd": digest("/job tiger7"),
        "variant": [digest(VARIANT)],
        "budget": 9.0,
    }
    assert told.command(COMMAND) == [
        "hostdx", "run", "--cmd", digest("/job tiger7"), f"--variant={digest(VARIANT)}", "--budget", "9"
    ]  # fmt: skip


def test_a_sentence_tells_no_word_of_them() -> None:
    told = Discretion({**VALUES, "private": True}, DECLARED)
    text = told.text("variant a: tiger7: no such command; CODE=tiger7")
    assert "tiger7" not in text and "variant a: sha256:" in text


def test_without_it_all_is_as_it_was() -> None:
    told = Discretion(VALUES, DECLARED)
    assert told.options(VALUES) == VALUES and told.command(COMMAND) == COMMAND
    assert told.text("tiger7") == "tiger7"
