"""Every type that a line of a recording may have: those of all scenarios, and each scenario's own results."""

import random
from typing import Any

from hostdx.app.recordings.reader import FORMER
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.results import result as result_types

EVERY: dict[str, type[ev.AnyEvent]] = {
    **{kind.__struct_config__.tag: kind for kind in ev.Common.__args__},
    **result_types.bundled_results(),
}


def as_formerly(tree: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Every second result in the form that had no types."""
    kind = result_types.bundled_results().get(tree["type"])
    return tree if kind is None or rng.random() < 0.5 else {**tree, "type": FORMER, "name": kind.name}
