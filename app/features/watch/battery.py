"""What a night measures: the scenario that is a battery, for less than a minute and with little written."""

import os
from contextlib import closing

import msgspec

from hostdx.app.terminal.failure import USAGE, Failure
from hostdx.probes.reading.host import Host
from hostdx.probes.types import Json
from hostdx.scenarios.contract import registry
from hostdx.scenarios.contract.card import card_with_role
from hostdx.scenarios.contract.model import OptionMap, Scenario
from hostdx.scenarios.contract.plan import Plan

BUDGET_S = 45.0
SIZE_BYTES = 64 << 20
WRITES_BYTES = 512 << 20
KEEP = 180  # nights; a recording of one has about 100 kB


class NightSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`directory`: to measure in, empty for the battery's own choice; `textfile`: for node_exporter, empty for none;
    `fleet`: where other nodes' nights are.
    """

    directory: str = ""
    keep: int = KEEP
    textfile: str = ""
    fleet: str = ""


def night_arguments(settings: NightSettings) -> tuple[str, ...]:
    """As `hostdx watch --night` takes them."""
    places = {"--dir": settings.directory, "--textfile": settings.textfile, "--fleet": settings.fleet}
    words = [word for option, place in places.items() if place for word in (option, place)]
    return ("--keep", str(settings.keep), *words)


def check_directories(settings: NightSettings) -> None:
    """A timer for what is not there would fail every night. Raises Failure."""
    above = os.path.dirname(settings.textfile)  # noqa: PTH120
    places = {"--dir": settings.directory, "--textfile": above, "--fleet": settings.fleet}
    with closing(Host()) as host:
        for option, place in places.items():
            if place and not host.path_exists(f"{place}/.", may_hang=True):
                raise Failure(f"watch: {option}: no directory at {place}; make it, or name another", USAGE)


def load_benchmark_scenario() -> Scenario:
    return registry.load_scenario(card_with_role("battery").id)


def night_options(settings: NightSettings) -> dict[str, Json]:
    chosen: dict[str, Json] = {"budget": BUDGET_S, "size": SIZE_BYTES, "writes": WRITES_BYTES}
    return chosen | ({"dir": settings.directory} if settings.directory else {})


def make_night_plan(settings: NightSettings) -> Plan:
    """Of one night. Raises UsageError and RunRefused as the scenario does."""
    scenario = load_benchmark_scenario()
    with closing(Host()) as host, host.read_static_parts_once():
        return scenario.prepare(host, OptionMap(night_options(settings), scenario.options)).plan.with_digest()
