"""What a scenario of another package declares, checked before anything goes by it."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scenarios.contract.model import Scenario

NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
# of every scenario's command beside its own
TAKEN = frozenset(
    ("help", "yes", "consent", "json", "events", "recording", "tied", "quiet", "with-arguments")
)


def check_declaration(scenario: Scenario) -> None:
    """Raise ImportError where the scenario declares what no command, list or screen could take."""
    import msgspec

    from scenarios.contract.card import Card
    from scenarios.contract.declared_options import ScenarioWords
    from scenarios.contract.plan import Option

    words = {name: getattr(scenario, name) for name in ScenarioWords.__struct_fields__}
    try:
        msgspec.convert(msgspec.to_builtins(words), ScenarioWords)
        msgspec.convert(msgspec.to_builtins(scenario.card), Card)
        options = msgspec.convert(msgspec.to_builtins(scenario.options), tuple[Option, ...])
    except (msgspec.MsgspecError, TypeError, RecursionError) as error:
        raise ImportError(f"its declaration: {error}") from error
    if not all(math.isfinite(words[name]) for name in ("takes_s", "checkup_s")):
        raise ImportError("how long it takes is no number to work with")
    names = [option.name for option in options]
    for name in names:
        if not NAME.fullmatch(name) or name in TAKEN or names.count(name) > 1:
            raise ImportError(
                f"its option {name[:40]!r} is no name, is given twice or is every scenario's own"
            )
    texts = (
        *(word for word in words.values() if isinstance(word, str)),
        *(option.help for option in options),
    )
    if unprintable := next((text for text in texts if not text.isprintable()), ""):
        raise ImportError(f"its text {unprintable[:40]!r} holds what a terminal obeys")
