"""A run that is one of several on this host (before and after a reboot): what was before it, and what they tell."""

from collections.abc import Iterator, Mapping

from app.failure import USAGE, Failure, of_scenario
from app.process import boot_id
from app.recording.earlier import earlier
from probes.types import Json
from scenarios.model import Options, Scenario, Usage


def one_of_several(command: str, scenario: Scenario, chosen: Mapping[str, Json]) -> bool:
    """Before the run. Raises Failure where it cannot follow the earlier ones."""
    options = Options(chosen)
    try:
        if not scenario.one_of_several(options):
            return False
        scenario.check(options, boot_id(), earlier(scenario))
    except Usage as why:
        raise Failure(of_scenario(command, scenario.id, str(why)), USAGE) from None
    return True


def so_far(scenario: Scenario) -> Iterator[str]:
    """What was measured until now, the answer as far as there is one, and what is still to do."""
    found = scenario.so_far(earlier(scenario))
    yield from found.lines
    if found.sides is not None:
        from app.recording.sides import paths, takes
        from app.report.results.comparison import headline
        from scenarios.compare.comparison import compared

        a, b = found.sides
        yield headline(compared(takes(paths(a)), takes(paths(b))))
        yield f"comparison: hostdx compare {' '.join(a)} -- {' '.join(b)}"
    yield from found.to_do
