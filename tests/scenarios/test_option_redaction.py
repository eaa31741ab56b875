"""`--private`: values that can hold secrets are told as digests, the same for the same value."""

from hostdx.probes.reading.secrecy.secrets import hash_of_text
from hostdx.probes.types import Json
from hostdx.scenarios.contract.option_value import OptionRedaction
from hostdx.scenarios.contract.plan import Option, Plan, Variant

DECLARED = (
    Option(name="cmd", kind="text", help="", secret=True),
    Option(name="variant", kind="text", help="", multiple=True, secret=True),
    Option(name="private", kind="flag", help=""),
)
VARIANT = "a: CODE=tiger7 LEVEL=1"
VALUES: dict[str, Json] = {"cmd": "/job tiger7", "variant": [VARIANT], "budget": 9.0}
COMMAND = ["hostdx", "run", "--cmd", "/job tiger7", f"--variant={VARIANT}", "--budget", "9"]


def test_options_and_command_become_digests() -> None:
    redaction = OptionRedaction({**VALUES, "private": True}, DECLARED)
    assert redaction.redact_options(VALUES) == {
        "cmd": hash_of_text("/job tiger7"),
        "variant": [hash_of_text(VARIANT)],
        "budget": 9.0,
    }
    assert redaction.redact_command(COMMAND) == [
        "hostdx", "run", "--cmd", hash_of_text("/job tiger7"), f"--variant={hash_of_text(VARIANT)}", "--budget", "9"
    ]  # fmt: skip


def test_a_sentence_tells_no_word_of_them() -> None:
    redaction = OptionRedaction({**VALUES, "private": True}, DECLARED)
    text = redaction.redact_text("variant a: tiger7: no such command; CODE=tiger7")
    assert "tiger7" not in text and "variant a: sha256:" in text


def test_without_it_harmless_words_are_recorded() -> None:
    redaction = OptionRedaction(VALUES, DECLARED)
    values = redaction.redact_options(VALUES)
    assert values["budget"] == 9.0
    assert "tiger7" not in str(values) and "/job" in str(values) and "LEVEL=1" in str(values)
    assert redaction.redact_command(COMMAND) == COMMAND
    assert "tiger7" not in redaction.redact_text("variant a: tiger7: no such command")
    assert redaction.redact_text("a job of hosts") == "a job of hosts"


def test_a_recorded_plan_keeps_harmless_words_of_variants_and_commands() -> None:
    facts = {"CODE": "tiger7", "TMPDIR": "/data"}
    variant = Variant(id="a", label="CODE=tiger7, TMPDIR=/data", facts=facts)
    plan = Plan(
        scenario="s", title="", question="", options=VALUES, variants=(variant,), commands=("/job tiger7",)
    )
    redacted = OptionRedaction(VALUES, DECLARED).redact_plan(plan)
    assert "tiger7" not in str(redacted)
    assert redacted.variants[0].facts["TMPDIR"] == "/data" and "TMPDIR=/data" in redacted.variants[0].label
    assert OptionRedaction(VALUES, DECLARED, form=str).redact_plan(plan) == plan
    assert OptionRedaction({**VALUES, "private": True}, DECLARED).redact_plan(plan) == plan
