"""A fleet run on nodes that answer, hang, refuse and talk rubbish: each has its state, none holds up the rest."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from hostdx.app.features.fleet.folder import SCHEMA, TRIAGE, FleetFolder, FleetRunHead
from hostdx.app.terminal.failure import COULD_NOT, Failure
from hostdx.probes.reading.process_stat import is_running
from tests.every_case import every_case
from tests.fakes.fake_fleet import FakeFleet
from tests.needs import module, needs, one_always
from tests.real.polled import happens

pytestmark = [needs(module("ClusterShell")), pytest.mark.usefixtures("own_state")]


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeFleet:
    monkeypatch.setattr("hostdx.app.features.fleet.launch.call.LOGIN_S", 100.0)
    return FakeFleet(tmp_path)


def make_campaign(
    fleet: FakeFleet,
    scenario: str,
    *nodes: str,
    resumed: bool = False,
    together: bool = False,
    **manner: object,
):  # type: ignore[no-untyped-def]
    from hostdx.app.features.fleet.launch.campaign import FleetCampaign, LaunchSettings
    from hostdx.app.features.fleet.launch.errand import make_node_bundle

    head = FleetRunHead(
        schema=SCHEMA, scenario=scenario, nodes=list(nodes), seed=1, started="2026-01-01T00:00:00Z", together=together,
    )  # fmt: skip
    path = fleet.place / "answers"
    folder = FleetFolder(path) if resumed else FleetFolder.make_new(path, head)
    settings = {"rsh": str(fleet.ssh), "python": sys.executable, "connect_s": 1.0, **manner}
    return FleetCampaign(folder, head, make_node_bundle(str(fleet.bundle)), LaunchSettings(**settings))


def first_states(campaign) -> dict[str, str]:  # type: ignore[no-untyped-def]
    return {node: line.state for (node, round), line in campaign.folder.read_answers().items() if round == 0}


def test_one_that_closes_its_output_and_lives_on_holds_up_nobody(fleet: FakeFleet) -> None:
    campaign = make_campaign(fleet, TRIAGE, "mute1", "n1", "mute2", "n2")
    campaign.triage_nodes()
    states = first_states(campaign)
    assert (states.pop("n1"), states.pop("n2")) == ("answered", "answered")
    pids = [int(pid) for pid in (fleet.place / "mute").read_text().split()]
    assert len(pids) == 2 and not any(map(is_running, pids))
    assert states.keys() == {"mute1", "mute2"} and not {"answered", "interrupted"} & set(states.values())


def test_each_node_has_its_state(fleet: FakeFleet) -> None:
    campaign = make_campaign(fleet, TRIAGE, "n1", "gone1", "deny1", "rubbish1", "flood1", "zeros1", "n2")
    campaign.triage_nodes()
    assert first_states(campaign) == {
        "n1": "answered", "n2": "answered", "gone1": "unreachable", "deny1": "refused",
        "rubbish1": "rubbish", "flood1": "rubbish", "zeros1": "rubbish",
    }  # fmt: skip
    lines = campaign.folder.read_answers()
    assert lines["n1", 0].file == "nodes/n1/triage.json" and lines["gone1", 0].file is None
    assert sorted(path.name for path in (campaign.folder.path / "nodes").iterdir()) == ["n1", "n2"]


def test_the_nodes_ask_their_programs_where_that_is_wanted(
    fleet: FakeFleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hostdx.app.features.fleet.launch.campaign import FleetCampaign

    orders: list[tuple[str, ...]] = []
    make_order = FleetCampaign._order_to_read

    def keep_order(campaign: FleetCampaign, words: tuple[str, ...]) -> object:
        orders.append(words)
        return make_order(campaign, words)

    monkeypatch.setattr(FleetCampaign, "_order_to_read", keep_order)
    for programs in (False, True):
        make_campaign(fleet, TRIAGE, "n1", resumed=programs).triage_nodes(ask_programs=programs)
    assert orders == [(TRIAGE, "--json"), (TRIAGE, "--json", "--programs")]


def test_what_a_connection_has_started_ends_with_it(
    fleet: FakeFleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ProxyCommand that hangs was left to process 1 when ssh was killed."""
    monkeypatch.setattr("hostdx.app.features.fleet.launch.call.LOGIN_S", 0.5)
    make_campaign(fleet, TRIAGE, "proxy1").triage_nodes()
    pid = int((fleet.place / "proxy").read_text())
    assert happens(lambda: not is_running(pid), 10.0)


def test_each_node_runs_its_own_plan_and_no_other(fleet: FakeFleet) -> None:
    campaign = make_campaign(fleet, "fake", "n1", "other1", "held1")
    campaign.measure_nodes(0, campaign.ask_consents(campaign.fetch_plans(campaign.head.nodes, [])), [])
    assert first_states(campaign) == {"n1": "answered", "other1": "skipped", "held1": "skipped"}
    assert "pid 7" in campaign.folder.read_answers()["held1", 0].reason


def test_changes_are_agreed_to(fleet: FakeFleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hostdx.app.run.consent.ask_yes_no", lambda _question: False)
    campaign = make_campaign(fleet, "fake", "n1", "ask1", "old1")
    may = campaign.ask_consents(campaign.fetch_plans(campaign.head.nodes, []))
    assert set(may) == {"n1"} and first_states(campaign) == {"ask1": "skipped", "old1": "skipped"}
    with pytest.raises(Failure) as error:
        campaign.ask_consents(campaign.fetch_plans(["ask1"], []))
    assert error.value.status == COULD_NOT


@pytest.mark.parametrize(("nodes", "limit"), [(("share1", "share2"), 1), (("n1", "n2"), 64)])
def test_what_is_shared_is_loaded_by_one_at_a_time(
    fleet: FakeFleet, monkeypatch: pytest.MonkeyPatch, nodes: tuple[str, ...], limit: int
) -> None:
    campaign = make_campaign(fleet, "fake", *nodes)
    plans = campaign.fetch_plans(nodes, [])
    limits: list[int] = []
    monkeypatch.setattr(
        campaign._engine, "run_calls", lambda _calls, _limit, at_once, _racks: limits.append(at_once)
    )
    campaign.measure_nodes(0, plans, [])
    assert limits == [limit]


GROUPS = """[Main]
default: racks
[racks]
map: case $GROUP in r1) echo n[1-3];; r2) echo n[4-5];; esac
list: echo r1 r2
"""


@pytest.mark.parametrize("at_once", one_always(2, 0))
def test_one_of_each_rack_at_a_time(
    fleet: FakeFleet, monkeypatch: pytest.MonkeyPatch, disk_folder: Path, at_once: int
) -> None:
    """Its groups' folder outlives it: ClusterShell goes on to start its commands there."""
    from ClusterShell.NodeSet import set_std_group_resolver_config

    from hostdx.app.features.fleet.launch.engine import ConnectionEngine, groups_by_node

    (disk_folder / "groups.conf").write_text(GROUPS)
    set_std_group_resolver_config(str(disk_folder / "groups.conf"))
    try:
        campaign = make_campaign(fleet, "fake", *(f"n{n}" for n in range(1, 8)), per="racks", at_once=at_once)
        with pytest.raises(Failure):
            groups_by_node(campaign.head.nodes, "switches")
    finally:
        set_std_group_resolver_config(None)
    assert campaign._racks == {
        "n1": "@racks:r1",
        "n2": "@racks:r1",
        "n3": "@racks:r1",
        "n4": "@racks:r2",
        "n5": "@racks:r2",
    }
    plans = campaign.fetch_plans(campaign.head.nodes, [])
    measuring: list[Counter[str]] = []
    ready: list[Counter[str]] = []
    fill = ConnectionEngine._start_waiting_calls

    def count_calls(self: ConnectionEngine) -> None:
        fill(self)
        racks = {node: campaign._racks.get(node, "") for node in self._open}
        measuring.append(Counter(rack for node, rack in racks.items() if self._open[node].going))
        ready.append(Counter(racks.values()))

    monkeypatch.setattr(ConnectionEngine, "_start_waiting_calls", count_calls)
    campaign.measure_nodes(0, plans, [])
    assert set(first_states(campaign).values()) == {"answered"} and len(first_states(campaign)) == 7
    assert max(max(counts.values()) for counts in measuring if counts) == (at_once or 1)
    assert max(max(counts.values()) for counts in ready if counts) == min(3, 2 * (at_once or 1)), (
        "as many are made ready"
    )
    assert max(len(counts) for counts in measuring) == 3, "each rack for itself; those in none are one"


def test_a_stop_is_told_by_each_node_and_the_rest_is_taken_up_again(
    fleet: FakeFleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hostdx.app.features.fleet.launch.call import NodeCall

    campaign = make_campaign(fleet, "fake", "n1", "slow1", "n2", at_once=1)
    plans = campaign.fetch_plans(campaign.head.nodes, [])
    line = NodeCall.take_output_line

    def take_and_stop(call: NodeCall, text: bytes) -> None:
        line(call, text)
        if call.node == "slow1" and b"at work" in text:
            os.kill(os.getpid(), signal.SIGINT)  # as Ctrl-C, which is blocked now and looked for

    monkeypatch.setattr(NodeCall, "take_output_line", take_and_stop)
    campaign.measure_nodes(0, plans, [])
    assert first_states(campaign) == {"n1": "answered", "slow1": "interrupted", "n2": "interrupted"}
    assert campaign.folder.read_answers()["slow1", 0].reason == "told-by-node", "the node says so itself"
    assert campaign.was_interrupted
    monkeypatch.setattr(NodeCall, "take_output_line", line)
    before = len(fleet.vendor_names())
    resumed = make_campaign(fleet, "fake", "n1", "slow1", "n2", resumed=True)
    assert resumed.unanswered_nodes(resumed.head.nodes, 0) == ["slow1", "n2"]
    resumed.measure_nodes(0, {node: plans[node] for node in ("n1", "n2")}, [])
    assert fleet.vendor_names()[before:] == ["n2"] and first_states(resumed)["n2"] == "answered"


@pytest.mark.parametrize("text", ["n[1-3],x", "a.b-c_d"])
def test_names(text: str) -> None:
    from hostdx.app.features.fleet.launch.engine import expand_nodes

    assert expand_nodes(text)


@every_case(
    "text",
    ["-oProxyCommand=x", "-v", "..", "../x", "a/b", "n;id", "user@n1", "", "n[1-200000]", "@no-such-group"],
)
def test_what_is_no_node_is_refused(text: str) -> None:
    from hostdx.app.features.fleet.launch.engine import expand_nodes

    with pytest.raises(Failure):
        expand_nodes(text)


@pytest.mark.parametrize(
    ("nodes", "status"), [(("n1", "gone1"), 0), (("n1", "gone1", "gone2"), COULD_NOT), (("gone1",), COULD_NOT)]
)  # fmt: skip
def test_where_most_did_not_answer_it_could_not_be_done(
    fleet: FakeFleet, nodes: tuple[str, ...], status: int
) -> None:
    from hostdx.app.features.fleet.cli.launch_options import report_and_get_exit_status

    campaign = make_campaign(fleet, TRIAGE, *nodes)
    campaign.triage_nodes()
    assert report_and_get_exit_status(campaign, 0.05) == status


def test_nodes_begin_together(fleet: FakeFleet, monkeypatch: pytest.MonkeyPatch) -> None:
    from hostdx.app.features.fleet.launch import campaign as launcher

    monkeypatch.setattr(launcher, "LEAD_S", 3.0)
    campaign = make_campaign(fleet, "fake", "share1", "share2", together=True)
    plans = campaign.fetch_plans(campaign.head.nodes, [])
    began = time.time()
    campaign.measure_nodes(0, plans, [])
    assert first_states(campaign) == {"share1": "answered", "share2": "answered"}
    assert time.time() >= began + 3.0
    with pytest.raises(Failure):
        make_campaign(fleet, "fake", "n1", "n2", resumed=True, together=True, fanout=1).measure_nodes(
            1, plans, []
        )


def test_a_node_that_waits_for_the_others_can_be_stopped(
    fleet: FakeFleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hostdx.app.features.fleet.launch.call import NodeCall

    campaign = make_campaign(fleet, "fake", "n1", together=True)
    plans = campaign.fetch_plans(campaign.head.nodes, [])
    line = NodeCall.take_output_line

    def take_and_stop(call: NodeCall, text: bytes) -> None:
        line(call, text)
        if call.call_phase == "running":
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(NodeCall, "take_output_line", take_and_stop)
    began = time.monotonic()
    campaign.measure_nodes(0, plans, [])
    assert time.monotonic() - began < 25 and first_states(campaign)["n1"] != "answered"
