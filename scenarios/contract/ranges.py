"""What a number in a recording can be: the range stands in the field's type, and is checked where a line is read.

Each is far wider than anything a host shows or a run of ours writes, and narrow enough that no view overflows when it
scales, sums, inverts or takes logarithms: so a foreign recording needs no check anywhere else.
"""

from typing import Annotated, TypeAlias

from msgspec import Meta

from hostdx.probes.types import Json

_MAX_RATIO = 1e305  # where a run clips its intervals: exp(700)

Seconds: TypeAlias = Annotated[float, Meta(ge=0, le=3.2e8)]  # ten years: a run's time
Duration: TypeAlias = Annotated[float, Meta(ge=0, le=1e12)]  # of what was only foreseen
Share: TypeAlias = Annotated[float, Meta(ge=-1, le=100)]  # 0..1; but counters may go back
Probability: TypeAlias = Annotated[float, Meta(ge=0, le=1)]
Margin: TypeAlias = Annotated[float, Meta(ge=0, le=0.99)]
Value: TypeAlias = Annotated[float, Meta(ge=-1e24, le=1e24)]  # of any unit: bytes, ns, packets/s
Rate: TypeAlias = Annotated[float, Meta(ge=0, le=1e24)]  # or an amount
Ratio: TypeAlias = Annotated[float, Meta(ge=1 / _MAX_RATIO, le=_MAX_RATIO)]
Edge: TypeAlias = Annotated[float, Meta(ge=0, le=_MAX_RATIO)]  # of a ratio's interval
Change: TypeAlias = Annotated[float, Meta(ge=-_MAX_RATIO, le=_MAX_RATIO)]  # as a share: 0.1 is a tenth more
Logarithm: TypeAlias = Annotated[float, Meta(ge=-700, le=700)]  # of a ratio
Deviation: TypeAlias = Annotated[float, Meta(ge=0, le=700)]  # of logarithms
Number: TypeAlias = Annotated[int, Meta(ge=-1, le=1 << 31)]  # of groups; -1: before the first
Count: TypeAlias = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]  # of operations, bytes, ns
Whole: TypeAlias = Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)]

_DEEPEST = 60  # levels of a value


def is_showable(value: Json, depth: int = 0) -> bool:
    """Return whether a value without a type of its own (a fact's, an option's) is one that a view can show."""
    if isinstance(value, int | float):
        return abs(value) <= (_MAX_RATIO if isinstance(value, float) else 1 << 64)
    if not isinstance(value, list | dict):
        return True
    inner = value.values() if isinstance(value, dict) else value
    return depth < _DEEPEST and all(is_showable(item, depth + 1) for item in inner)
