"""What every event of a run is."""

import msgspec

from hostdx.scenarios.contract.ranges import Seconds


class RunEvent(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True, tag_field="type"):
    """An event of a run; `t` is seconds since the run began, on a monotonic clock."""

    t: Seconds
