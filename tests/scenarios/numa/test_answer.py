"""The run's answer: what speaks, what could not be tested, and what was measured and stayed open."""

from pathlib import Path

from msgspec.structs import replace

from hostdx.probes.reading.host import Host
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.contract.model import OptionMap
from hostdx.scenarios.contract.plan import Plan, Workload
from hostdx.scenarios.numa.plan import NumaSetup, make_numa_setup
from hostdx.scenarios.numa.tables import describe_undecided, with_answer
from tests.every_case import every_case
from tests.fakes.hosts.tree import Tree


def _make_verdict(word: str) -> ev.RunVerdict:
    return ev.RunVerdict(t=0.0, workload="", metric="latency", baseline="near", variant="far", verdict=word)


def _plan(*names: str) -> Plan:
    loads = tuple(Workload(id=name, title=f"load {name}", metrics=()) for name in names)
    return Plan(scenario="numa", title="", question="", why="", workloads=loads)


@every_case(
    ("words", "text"),
    [
        ({"a": ["slower"], "b": ["no material difference"]}, ""),
        ({"a": ["slower"], "b": ["inconclusive"]}, "load b"),
        ({"a": ["inconclusive", "slower"], "b": []}, "load a"),
        ({"a": ["inconclusive"], "b": ["inconclusive"]}, " 2 "),
        ({"a": ["not applicable"]}, ""),
        ({}, ""),
    ],
)
def test_what_stayed_open(words: dict[str, list[str]], text: str) -> None:
    verdicts = {name: [_make_verdict(w) for w in of_load] for name, of_load in words.items()}
    undecided = describe_undecided(_plan("a", "b"), verdicts)
    assert text in undecided and bool(undecided) == bool(text)


def _layout(tmp_path: Path) -> NumaSetup:
    return make_numa_setup(Host(str(Tree(tmp_path).root)), OptionMap({}))


def test_the_headline_names_what_stayed_open(tmp_path: Path) -> None:
    calm, *_ = with_answer(_layout(tmp_path), [], "inconclusive: load b")
    assert calm.answers and calm.title.endswith("; inconclusive: load b")
    loud = Finding(id="numa.x", severity="warning", title="a CPU is slow")
    open_still = "inconclusive: load b"
    (answer,) = with_answer(_layout(tmp_path), [loud], open_still)
    assert answer.answers and answer.title == f"{loud.title}; {open_still}"


def test_what_was_noticed_is_said_and_leaves_no_green(tmp_path: Path) -> None:
    """The answer was `nothing found that slows them` over a host whose CPUs together gave 65 % of what they should."""
    layout = replace(_layout(tmp_path), measures=True)
    finding = Finding(id="numa.x", severity="notice", title="all cores reach 65 %")
    calm, rest = with_answer(layout, [finding], "")
    assert finding.title in calm.title and calm.severity == "notice" and calm.answers and not rest.answers
    quiet, *_ = with_answer(layout, [], "")
    assert quiet.severity == "ok"
