"""Incidents of many nodes: those in the same minutes are one, and chance makes none."""

import random

from hostdx.scenarios.analysis.incidents.incidents import Cause, Incident, Symptom
from hostdx.scenarios.analysis.incidents.nodes import (
    NodeBook,
    NodeIncident,
    ServerMount,
    judge_nodes,
    shared_findings,
)
from tests.every_case import every_case

DAY_S = 86400.0


def make_incident(began_s: float, seconds: float, cause: Cause = "disk") -> NodeIncident:
    symptom = Symptom(
        subject="host", metric="stuck tasks", unit="", level=5.0, peak=9.0, quiet=0.0,
        began_s=began_s, ended_s=began_s + seconds,
    )  # fmt: skip
    return NodeIncident(
        Incident(cause=cause, began_s=began_s, ended_s=began_s + seconds, symptoms=(symptom,))
    )


def book(number: int, incidents: list[NodeIncident], *servers: str) -> NodeBook:
    """Each book begins at another time."""
    return NodeBook(
        book="/var/lib/hostdx/incidents", host=f"n{number:02}", first_s=1.8e9 - number * 777.0,
        seconds=2 * DAY_S, incidents=tuple(incidents), mounts=tuple(ServerMount(f"{s}:/home", "nfs4") for s in servers),
    )  # fmt: skip


def lone(rng: random.Random, count: int) -> list[NodeIncident]:
    return [make_incident(rng.random() * 1.9 * DAY_S, 200 + 900 * rng.random()) for _ in range(count)]


def joint(number: int, rng: random.Random, cause: Cause) -> NodeIncident:
    """By the clock at one time, a little earlier or later on each node."""
    return make_incident(40_000.0 + number * 777.0 + rng.gauss(0, 20), 900 + rng.gauss(0, 60), cause)


@every_case("seed", range(20))
def test_the_server_is_named_that_only_the_struck_nodes_mount(seed: int) -> None:
    rng = random.Random(seed)
    struck = sorted(rng.sample(range(24), 9))
    books = [
        book(
            n,
            [*lone(rng, rng.randrange(4)), *([joint(n, rng, "stuck")] if n in struck else [])],
            "nas01",
            *(["nas02"] if n in struck else []),
        )
        for n in range(24)
    ]
    answer = judge_nodes(books)
    (incident,) = answer.shared
    assert {f"n{n:02}" for n in struck} <= set(incident.nodes) and incident.servers == ("nas02",)
    assert len(incident.nodes) <= len(struck) + 1, "one more may have had its own by chance"
    assert incident.cause == "stuck" and abs(incident.ended_s - incident.began_s - 900) < 90
    assert sum(answer.alone.values()) == sum(len(entry.incidents) for entry in books) - len(incident.nodes)
    (finding,) = shared_findings(answer, "answers")
    assert finding.id == "incidents.nodes-server" and all(row.source == "answers" for row in finding.evidence)


def test_a_disk_that_is_busy_on_all_at_once_is_a_timer_and_no_server() -> None:
    rng = random.Random(5)
    books = [book(n, [joint(n, rng, "disk")], "nas01") for n in range(6)]
    (incident,) = judge_nodes(books).shared
    assert len(incident.nodes) == 6 and incident.servers == ()
    assert shared_findings(judge_nodes(books), "answers")[0].id == "incidents.nodes-timer"


@every_case(("others_mount_it", "kind"), [(True, "incidents.nodes-open"), (False, "incidents.nodes-server")])
def test_who_waits_with_idle_disks_waits_for_a_server_only_where_others_have_none(
    others_mount_it: bool, kind: str
) -> None:
    rng = random.Random(6)
    books = [book(n, [joint(n, rng, "waiting")] if n < 8 else [], *(["nas01"] if n < 8 or others_mount_it else []))
             for n in range(12)]  # fmt: skip
    assert [finding.id for finding in shared_findings(judge_nodes(books), "answers")] == [kind]


@every_case("seed", range(60))
def test_incidents_at_times_of_their_own_are_not_shared(seed: int) -> None:
    rng = random.Random(1000 + seed)
    nodes = rng.choice((2, 4, 10, 40))
    answer = judge_nodes([book(n, lone(rng, rng.randrange(12)), "nas01") for n in range(nodes)])
    assert answer.shared == ()
    assert shared_findings(answer, "answers")[0].severity == "ok"
