"""Is the odd one of many nodes found, are the others left alone, and is its setting the first? Two minutes; seeded.

    python -m tests.measured.simulation.fleet [--share 1.0]

Nodes differ by 1 %, a measurement by 2 % (normal; Student's t with 3 degrees of freedom; one in ten with three times
the noise), one node is 10 % slower. Screened and measured again as a fleet run does it. `innocents`: named wrongly, a
run, with the odd node and without one. `retests`: measurements beside the first one of each node.

Two populations, 30 % of the nodes 15 % slower: how often they are told as two, and one population as two.

Settings: the facts of a captured host (the bundled kernel battery: 222), on 100 nodes with what differs on every node
(names, addresses, serials, temperatures, sizes), what differs on some, and what differs on few; one node has one of the
facts otherwise than all others. How often that fact is the first.
"""

from __future__ import annotations

import argparse
import random

from app.recordings import store
from app.recordings.reader import read_events
from probes.types import Json
from scenarios.analysis.compare.run_summary import FactKey, summarise_run
from scenarios.analysis.peers.retest import suspect_standings
from scenarios.analysis.peers.screen import screen_nodes
from scenarios.analysis.peers.setting import suspect_settings
from tests.fakes.many_nodes import Nodes, Noise, heavy, screened, table_of, usual, wild

NOISES: dict[str, Noise] = {"normal": usual, "Student's t, 3": heavy, "one in ten wild": wild}
RUNS = {10: 1000, 100: 400, 1000: 100}
ASKED = {10: 0.95, 100: 0.98, 1000: 0.99}
INNOCENTS = 0.05
PLACES = (
    "sysctl",
    "kernel",
    "disk:vda",
    "mount:/",
    "cpu",
    "memory",
    "mitigation",
    "security",
    "bios",
    "cgroup",
)


def found(count: int, noise: Noise, runs: int, measures: int) -> tuple[float, float, float, float]:
    """Shares of the runs that named the slow node; innocents a run with one and without; retests a run."""
    hits = wrong = alone = cost = 0
    for seed in range(runs):
        for odd in (True, False):
            nodes = Nodes(count, 2 * seed + odd, noise=noise, measures=measures)
            if odd:
                nodes.slow(["node0000"], 0.9)
            judged, rounds = screened(nodes)
            named = {one.node for one in suspect_standings(judged, rounds) if one.is_different}
            if odd:
                hits += "node0000" in named
                wrong += len(named - {"node0000"})
                cost += sum(map(len, rounds))
            else:
                alone += len(named)
    return hits / runs, wrong / runs, alone / runs, cost / runs


def two(count: int, noise: Noise, runs: int) -> tuple[float, float]:
    """How often 30 % of slower nodes are two populations, and how often like nodes are."""
    right = wrong = 0
    for seed in range(runs):
        for slow in (0.85, 1.0):
            nodes = Nodes(count, seed, noise=noise)
            nodes.slow(list(nodes.levels)[: round(0.3 * count)], slow)
            parted = screen_nodes(nodes.all()).columns[0].parted is not None
            right += parted and slow < 1
            wrong += parted and slow == 1
    return right / runs, wrong / runs


def captured() -> dict[FactKey, Json]:
    path = store.resolve_recording("demo:kernel")
    facts = summarise_run(read_events(path), path.name).facts
    return {
        key: value
        for key, value in facts.items()
        if key[0] not in ("run", "option", "variant:all", "variant:one")
    }


def fleet_facts(
    rng: random.Random, base: dict[FactKey, Json], names: list[str]
) -> dict[str, dict[FactKey, Json]]:
    """As those of real nodes: a fifth of the captured facts differ on some or on few of them."""
    made = {name: dict(base) for name in names}
    keys = [key for key in base if key[0] in PLACES or key[0] == "module"]
    rng.shuffle(keys)
    for key in keys[:30]:
        others = [f"{base[key]} ({n})" for n in range(rng.randint(1, 3))]
        share = rng.uniform(0.05, 0.5)
        for name in names:
            if rng.random() < share:
                made[name][key] = rng.choice(others)
    for key in keys[30:45]:
        for name in rng.sample(names, 3):
            made[name][key] = f"{base[key]} (few)"
    for number, name in enumerate(names):
        made[name] |= {
            ("machine", "serial"): f"CZ{rng.randrange(10**8):08}", ("host", "name"): name,
            ("nic:eth0", "address"): f"10.1.{number // 250}.{number % 250}", ("disk:vda", "serial"): hex(number * 7919),
            ("sensor:cpu", "temperature"): rng.uniform(35, 80), ("host", "uptime"): rng.uniform(1e4, 1e7),
            ("memory", "total"): int(2.6e11 + rng.gauss(0, 2e6)), ("memory", "free"): rng.randrange(10**11),
            ("sysctl", "kernel.threads-max"): 2_062_000 + rng.randrange(500),
            ("host", "boot_id"): hex(rng.getrandbits(64)), ("host", "processes"): rng.randrange(300, 900),
        }  # fmt: skip
    return made


def first(runs: int) -> int:
    base = captured()
    hits = 0
    for seed in range(runs):
        rng = random.Random(seed)
        names = [f"node{n:03}" for n in range(100)]
        facts = fleet_facts(rng, base, names)
        same = [
            key for key in base if key[0] in PLACES and len({str(facts[name][key]) for name in names}) == 1
        ]
        key = rng.choice(same)
        value = base[key]
        facts["node042"][key] = (
            value * 2 + 1 if isinstance(value, int) and value is not True else f"other than {value}"
        )
        ranked = suspect_settings(table_of(names, facts.__getitem__), 42, [n for n in range(100) if n != 42])
        hits += bool(ranked) and (ranked[0].subject, ranked[0].name) == key
    return hits


def main() -> int:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--share", type=float, default=1.0, help="of the runs")
    share = arguments.parse_args().share
    short = 0
    print(f"{'nodes  noise':<24}{'runs':>6}{'found':>9}  innocents with, without one{'retests':>9}")
    for count, most in RUNS.items():
        for name, noise in NOISES.items():
            for measures in (1, 8):
                runs = max(20, round(most * share / measures))
                hit, wrong, alone, cost = found(count, noise, runs, measures)
                title = f"{count:>5}  {name}" + f", {measures} measures" * (measures > 1)
                print(f"{title:<34}{runs:>6}{hit:>9.1%}{wrong:>14.3f}{alone:>9.3f}{cost:>12.0f}", flush=True)
                short += measures == 1 and (hit < ASKED[count] or max(wrong, alone) > INNOCENTS)
    print("two populations: told as two; one told as two")
    for count in (20, 100, 1000):
        for name, noise in NOISES.items():
            right, wrong_ = two(count, noise, max(20, round(20_000 * share / count)))
            print(f"{count:>5}  {name:<20}{right:>9.1%}{wrong_:>9.2%}", flush=True)
    runs = max(20, round(200 * share))
    hits = first(runs)
    print(f"a planted sole setting is the first in {hits} of {runs}")
    return min(1, short + (hits < 0.9 * runs))


if __name__ == "__main__":
    raise SystemExit(main())
