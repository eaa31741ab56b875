"""What --all measured besides the host's own check: green only where nothing differs and nothing is open."""

from pathlib import Path
from typing import Any

from hostdx.probes.types import Absent
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.contract.model import Options
from hostdx.scenarios.rpfilter import cost
from hostdx.scenarios.rpfilter.facts import read_rp_filter_facts
from hostdx.scenarios.rpfilter.plan import trials_of
from tests.every_case import every_case
from tests.fakes.streams.rpfilter_story import Story

LOADS = ("udp-ipv4", "tcp-offload-off")


def other_costs(root: Path, words: tuple[Any, ...], **more: Any) -> Finding:
    """One verdict of each load, in these words."""
    facts = read_rp_filter_facts(Story(root).host)
    trials = {trial.workload.id: trial for trial in trials_of(facts, Options({"all": True}))}
    trials_judged = []
    for load, word in zip(LOADS, words, strict=True):
        trial = trials[load]
        variant = trial.compared[1].variant.id
        ratio = {"slower": 0.94, "no material difference": 1.0, "inconclusive": 0.8}.get(word)
        run_verdict = ev.RunVerdict(t=1.0, workload=load, metric=trial.workload.metrics[0].name, baseline="none",
                           variant=variant, verdict=word, ratio=ratio, groups=9, **more)  # fmt: skip
        trials_judged.append((trial, [run_verdict]))
    further_costs_finding = cost.further_costs_finding(trials_judged, facts, Absent("not counted"))
    assert further_costs_finding is not None
    return further_costs_finding


EQUAL = "no material difference"


@every_case(
    ("words", "severity", "confidence", "loads_named"),
    [
        ((EQUAL, EQUAL), "ok", "measured", ()),
        (("slower", "inconclusive"), "notice", "measured", (0, 1)),
        (("inconclusive", "slower"), "notice", "measured", (1, 0)),
        ((EQUAL, "inconclusive"), "notice", "measured", (1,)),
        (("inconclusive", "not measured"), "notice", "hint", (0, 1)),
    ],
)
def test_green_only_where_every_verdict_is_equal_and_else_what_is_not_is_named(
    tmp_path: Path, words: tuple[Any, ...], severity: str, confidence: str, loads_named: tuple[int, ...]
) -> None:
    finding = other_costs(tmp_path, words)
    assert (finding.severity, finding.confidence) == (severity, confidence)
    loads = ("64-byte IPv4 packets", "one TCP stream, offloads off")
    places = [finding.title.find(loads[number]) for number in loads_named]
    assert places == sorted(places) and -1 not in places
    assert not any(load in finding.title for number, load in enumerate(loads) if number not in loads_named)
