"""A fact as a person reads it, and the reason where it could not be read."""

from app.recordings.session import RunSession
from app.terminal.glyphs import clean_text
from probes import units
from probes.types import Json


def value_words(value: Json, unit: str = "") -> str:
    """A fact's value as a person reads it; lists are joined, bytes get a prefix."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if unit in ("bytes", "B") and isinstance(value, int | float):
        odd = value < 10_000 and value % 1024  # an MTU of 1500 is none of 1.46 KiB
        return f"{value} B" if odd else units.format_size(value)
    if unit == "Mbit/s" and isinstance(value, int | float):
        return units.format_bit_rate(value * 1e6)
    if isinstance(value, list):
        return ", ".join(value_words(v) for v in value)
    if isinstance(value, dict):
        return "  ".join(f"{k} {value_words(v)}" for k, v in value.items())
    return clean_text(str(value)) + (f" {unit}" if unit else "")


def fact_words(session: RunSession, subject: str, name: str) -> str:
    """Empty where it was not read."""
    fact = session.facts.get(f"{subject} {name}")
    return "" if fact is None else value_words(fact.value, fact.unit)


def missing_reason(session: RunSession, subject: str, name: str) -> str:
    """Return why a fact could not be read, its beginning: `needs root`. Empty where it was read, or not asked for."""
    label = f"{subject} {name}"
    absent = session.absent.get(label)
    if absent is None or label in session.facts:
        return ""
    return "needs root" if absent.kind == "permission" else clean_text(absent.reason)
