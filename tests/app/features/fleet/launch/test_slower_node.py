"""One node of twelve is slower: screened, measured again beside peers, named, and what it alone has is first."""

import random
import sys
from pathlib import Path

import pytest

from hostdx.app.features.fleet.folder import SCHEMA, FleetFolder, FleetRunHead
from hostdx.app.features.fleet.reading import read_fleet
from hostdx.scenarios.analysis.peers.retest import MAX_ROUNDS
from tests.app.features.fleet.test_reading import write_run
from tests.fakes.fake_fleet import FakeFleet
from tests.needs import module, needs

pytestmark = [needs(module("ClusterShell")), pytest.mark.usefixtures("own_state")]
NODES = [f"n{number:02}" for number in range(1, 13)]
SLOW = "n07"
SOLE = ("sysctl", "net.ipv4.tcp_sack")


def prepare_recordings(place: Path, slower: float) -> None:
    """Nodes differ by 1 %, their rounds by 1 %; whatever else is drawn: one node's counter is on no other one."""
    draw = random.Random(1)
    for node in NODES:
        base = draw.gauss(1, 0.01) * (slower if node == SLOW else 1.0)
        facts = {"kernel/build": f"#1 on {node}"} | ({"/".join(SOLE): 0} if node == SLOW else {})
        for round in range(MAX_ROUNDS + 1):
            write_run(place / "prepared" / f"{node}-{round}.jsonl", node, base * draw.gauss(1, 0.01), facts)


def run(fleet: FakeFleet, *, together: bool = False) -> Path:
    from hostdx.app.features.fleet.launch.campaign import FleetCampaign, LaunchManner
    from hostdx.app.features.fleet.launch.errand import make_node_bundle
    from hostdx.app.features.fleet.launch.rounds import retest_suspects

    head = FleetRunHead(
        schema=SCHEMA,
        scenario="kernel",
        nodes=NODES,
        seed=1,
        started="2026-01-01T00:00:00Z",
        together=together,
    )
    fleet_campaign = FleetCampaign(
        FleetFolder.make_new(fleet.place / "answers", head), head, make_node_bundle(str(fleet.bundle)),
        LaunchManner(rsh=str(fleet.ssh), python=sys.executable),
    )  # fmt: skip
    plans = fleet_campaign.agreed_plans(fleet_campaign.fetch_plans(NODES, []))
    fleet_campaign.measure_nodes(0, plans, [])
    retest_suspects(fleet_campaign, (), plans)
    return fleet_campaign.folder.path


@pytest.mark.soak("`test_rounds.py` measures suspects again; `peers/test_judgement.py` names the slower node")
def test_a_slower_node_is_measured_again_and_named(tmp_path: Path) -> None:
    fleet = FakeFleet(tmp_path)
    prepare_recordings(tmp_path, 0.75)  # rates: fewer a second is slower
    path = run(fleet)
    retested_sets = [
        {node for node, at in FleetFolder(path).read_answers() if at == round}
        for round in range(1, MAX_ROUNDS + 1)
    ]
    assert SLOW in retested_sets[0] and len(retested_sets[0]) > len({SLOW}) + 7
    answers = read_fleet([str(path)]).judge_answers(0.05)
    assert [node.node for node in answers.odd] == [SLOW]
    odd = answers.odd[0]
    assert all(standing.ratio and standing.ratio < 1 and standing.ci95 for standing in odd.standings)
    assert not odd.few and (odd.settings[0].subject, odd.settings[0].name) == SOLE
    assert odd.settings[0].matching == 0


@pytest.mark.soak(
    "a slower node is measured again and named; `peers/test_judgement.py` names nobody of like nodes"
)
def test_of_like_nodes_none_is_named(tmp_path: Path) -> None:
    fleet = FakeFleet(tmp_path)
    prepare_recordings(tmp_path, 1.0)
    answers = read_fleet([str(run(fleet))]).judge_answers(0.05)
    assert not answers.odd and not answers.missing


@pytest.mark.soak("a slower node is measured again and named")
def test_nodes_that_began_together_do_so_again_all_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hostdx.app.features.fleet.launch import campaign

    monkeypatch.setattr(campaign, "LEAD_S", 0.1)
    fleet = FakeFleet(tmp_path)
    prepare_recordings(tmp_path, 0.75)
    path = run(fleet, together=True)
    answers = FleetFolder(path).read_answers()
    assert {node for node, at in answers if at == 1} == set(NODES)
    judgement = read_fleet([str(path)]).judge_answers(0.05)
    assert [node.node for node in judgement.odd] == [SLOW]
    assert judgement.sums and all(
        len(load.rates) == len(NODES) and len(load.again) == judgement.rounds for load in judgement.sums
    )
