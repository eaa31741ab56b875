"""Values of a scenario's options: as a person types them, as commands show them, and as a recording keeps secrets."""

import math
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import msgspec

from hostdx.probes.reading.secrecy.harmless_words import harmless_value, mask_unknown_text
from hostdx.probes.reading.secrecy.secrets import short_hash
from hostdx.probes.types import Json
from hostdx.scenarios.contract.plan import Option, Plan, Variant, command_variant

_SECONDS = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}
_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(sec|min|s|m|h|d)\s*")
MAX_TYPED_CHARACTERS = 64  # characters


def parse_number(option: Option, typed: str) -> float:
    """In the option's unit, within its bounds. Raises ValueError with the reason, which names what was typed."""
    text = typed.strip().lower()
    is_integer = option.kind == "integer"
    try:
        value = int(text) if is_integer else float(text)
    except ValueError:
        value = _time_or_share_of_text(option, text, typed)
    if abs(value) >= 1 << 63 or not math.isfinite(value):  # in this order: the latter needs a float
        raise ValueError(f"{typed!r} is not a number to work with")
    if option.least is not None and value < option.least:
        raise ValueError(
            f"{typed!r} is too small: at least {option.least:g}{_bound_unit(option, option.least)}"
        )
    if option.most is not None and value > option.most:
        raise ValueError(f"{typed!r} is too large: at most {option.most:g}{_bound_unit(option, option.most)}")
    return value


def _time_or_share_of_text(option: Option, text: str, typed: str) -> float:
    if (
        option.unit == "s"
        and len(text) <= MAX_TYPED_CHARACTERS
        and re.fullmatch(f"(?:{_TIME.pattern})+", text)
    ):
        return sum(float(amount) * _SECONDS[unit] for amount, unit in _TIME.findall(text))
    if option.unit == "share" and text.endswith("%"):
        try:
            return float(text[:-1]) / 100
        except ValueError:
            pass
    hint = {"s": "; write 90, 90s or 2m", "share": "; write 0.05 or 5%"}.get(option.unit, "")
    kind = "integer" if option.kind == "integer" else "number"
    raise ValueError(f"{typed!r} is not a valid {kind}{hint}")


def _bound_unit(option: Option, value: float) -> str:
    """The unit beside a bound."""
    return {"s": " s", "share": f" ({100 * value:g} %)"}.get(option.unit, "")


def command_arguments(values: Mapping[str, Json], declared: Iterable[Option] = ()) -> list[str]:
    """Options as the command line takes them; what equals its declared default is left out."""
    defaults = {o.name: o.default for o in declared}
    out: list[str] = []
    for name, value in values.items():
        if value is None or value == defaults.get(name) or value in ([], "", False):
            continue
        flag = f"--{name}"
        if value is True:
            out.append(flag)
            continue
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, float) and item.is_integer():
                item = int(item)  # `240`, as it was typed
            # one argument, so that a directory called `-x` is not taken for an option
            out.append(f"{flag}={item}")
    return out


FLAG = "private"
MAX_SHORT_WORD = 3  # letters: a shorter word stands in other words too, and is told


class OptionRedaction:
    """What is recorded of what was asked for, where it can hold secrets: with `--private` digests of it.

    `with_names`: without `--private` names of hosts, users and the like are kept. `form`: what is made
    of each text instead.
    """

    def __init__(
        self,
        options: Mapping[str, Json],
        declared: Sequence[Option],
        with_names: bool = False,
        form: Callable[[str], str] | None = None,
    ) -> None:
        self._is_private = bool(options.get(FLAG))
        if self._is_private:
            form = short_hash
        self._form = form or partial(mask_unknown_text, with_names=with_names)
        self._value_form = form or partial(harmless_value, "", with_names=with_names)
        self._variable_form = partial(harmless_value, with_names=with_names)
        self._has_own_form = form is not None
        self._names = {o.name for o in declared if o.secret}
        self._values = [text for name in self._names for text in _value_texts(options.get(name))]
        words = {
            word for text in self._values for word in (text, *_command_words(text)) if self._must_hide(word)
        }
        self._words = sorted(words, key=len, reverse=True)

    def redact_options(self, options: Mapping[str, Json]) -> dict[str, Json]:
        return {k: self._replace_values(v) if k in self._names else v for k, v in options.items()}

    def redact_command(self, words: Sequence[str]) -> list[str]:
        return [self._redact_word(word) for word in words] if self._is_private else list(words)

    def redact_text(self, text: str) -> str:
        """A sentence, as one that refuses what was asked for."""
        for word in self._words:
            text = text.replace(word, self._value_form(word))
        return text

    def redact_plan(self, plan: Plan) -> Plan:
        """A plan as it is recorded; one of a private run has no more to hide."""
        if self._is_private:
            return plan
        return msgspec.structs.replace(
            plan,
            options=self.redact_options(plan.options),
            variants=tuple(map(self._redact_variant, plan.variants)) if plan.commands else plan.variants,
            commands=tuple(map(self._form, plan.commands)),
        )

    def _redact_variant(self, variant: Variant) -> Variant:
        facts = {
            name: self._form(value) if self._has_own_form else self._variable_form(name, value)
            for name, value in variant.facts.items()
        }
        return command_variant(variant.id, facts)

    def _must_hide(self, word: str) -> bool:
        """In a sentence a word of small letters alone may be the sentence's own."""
        can_be_ordinary = not self._is_private and word.isalpha() and word.islower()
        return len(word) > MAX_SHORT_WORD and not can_be_ordinary and self._value_form(word) != word

    def _redact_word(self, word: str) -> str:
        name, equals, value = word.partition("=")
        if equals and name.removeprefix("--") in self._names:
            return f"{name}={short_hash(value)}"
        return short_hash(word) if word in self._values else word

    def _replace_values(self, value: Json) -> Json:
        texts: list[Json] = [self._form(text) for text in _value_texts(value)]
        return texts if isinstance(value, list) else texts[0] if texts else None


def _value_texts(value: Json) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else [] if value is None else [str(value)]


def _command_words(text: str) -> list[str]:
    """Words of a command, and values of `NAME=VALUE` in it."""
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    return [part for word in words for part in (word, word.partition("=")[2])]
