"""Who is measured again: suspects and peers in an order that is drawn."""

from hostdx.app.features.fleet.launch.rounds import short_run_arguments, shuffle_suspects_and_peers
from hostdx.probes.types import Json
from hostdx.scenarios.analysis.peers.screen import screen_nodes
from hostdx.scenarios.contract.action import Action
from hostdx.scenarios.contract.plan import Option, Plan, Workload
from tests.fakes.many_nodes import Nodes


def test_suspects_do_not_all_run_first() -> None:
    nodes = Nodes(40, 6)
    nodes.slow(["node0001", "node0002"], 0.5)
    screening = screen_nodes(nodes.all())
    suspects = tuple(screening.suspects)
    orders = [shuffle_suspects_and_peers(screening, suspects, seed) for seed in range(20)]
    assert all(set(suspects) < set(names) for names in orders)
    assert any(set(names[: len(suspects)]) != set(suspects) for names in orders)
    assert shuffle_suspects_and_peers(screening, suspects, 3) == shuffle_suspects_and_peers(
        screening, suspects, 3
    )


ONLY = Option(name="only", kind="choice", help="", multiple=True, choices=("a", "b", "c", "d"), loads=True)


def plan_of(*actions: Action) -> Plan:
    loads = tuple(Workload(id=id, title=id, metrics=()) for id in ONLY.choices)
    return Plan(scenario="x", title="", question="", workloads=loads, actions=actions)


def test_a_retest_measures_what_is_open_in_its_share_of_the_time() -> None:
    words, count = short_run_arguments([ONLY], {"budget": 60.0, "size": 1}, {"c", "b"}, [plan_of()])
    assert count == 2 and words == ["--budget=30", "--size=1", "--only=b", "--only=c"]
    assert short_run_arguments([ONLY], {"budget": 2.0}, {"c"}, [plan_of()])[0][0] == "--budget=1", (
        "the least there is"
    )


def test_a_retest_is_whole_where_it_cannot_be_shorter() -> None:
    asks = plan_of(Action(kind="attribute", title="", target="/sys/x", new="b", consent=True))
    whole_run = (["--budget=60"], 0)
    chosen: dict[str, Json] = {"budget": 60}
    assert short_run_arguments([], chosen, {"a"}, [plan_of()]) == whole_run, "no such option"
    assert short_run_arguments([ONLY], chosen, {"a", "b", "c", "d"}, [plan_of()]) == whole_run, "all are open"
    assert short_run_arguments([ONLY], chosen, {"a"}, [plan_of(), asks]) == whole_run, (
        "another plan would have to be agreed to"
    )
    assert short_run_arguments([ONLY], {"only": ["a", "b"]}, {"a"}, [plan_of()]) == (["--only=a"], 1)
