"""The five placements of the pinning comparison on one host's topology. Pure.

Own cache means a core of its own, so that level 1 and 2 are nobody else's; shared cache puts pairs on the threads
of one core (or on cores that share a level 2: modules, clusters of small cores).
"""

import random

from hostdx.probes.cpu_list import format_cpu_list
from hostdx.scenarios.numa.measurement.placement import WorkerPlacement, WorkerSeat
from hostdx.scenarios.triage.cpus.usable import UsableCpus

UNPINNED, RANDOM, EACH_PINNED = "unpinned", "random", "each-pinned"
SAME_OWN, APART_OWN, SAME_SHARED = "one-node", "nodes-apart", "shared-cores"
NET_NEAR, NET_FAR = "loopback-near", "loopback-far"
TITLES = {
    UNPINNED: "not pinned",
    SAME_OWN: "pinned to one node, one worker a core",
    APART_OWN: "pinned across the nodes, one worker a core",
    SAME_SHARED: "pinned to one node, two workers on each core",
    RANDOM: "pinned to CPUs drawn at random",
    EACH_PINNED: "pinned, each to a CPU of its own",
}
MAX_WORKERS = 16  # of the idle comparison; the full one takes all threads


def find_sharing_cpus(usable: UsableCpus) -> tuple[frozenset[int], ...]:
    """Sets of usable CPUs that share a core or a second-level cache; empty where each has its own."""
    seconds = (c for c in usable.caches if c.level == 2 and c.kind != "Instruction" and len(c.cpus) <= 8)
    sets = {*usable.usable_cores(), *(c.cpus & usable.cpus for c in seconds)}
    largest = [s for s in sets if len(s) > 1 and not any(s < other for other in sets)]
    return tuple(sorted(largest, key=min))


def why_placement_untestable(usable: UsableCpus) -> str:
    """Return why placement cannot be tested here; empty where it can."""
    if len(usable.cpus) < 2:
        return "only one CPU may be used: placement cannot be tested here"
    if len(usable.cpus_by_node) < 2 and not find_sharing_cpus(usable):
        return "one node, no SMT: placement cannot be tested here"
    return ""


def choose_placements(
    usable: UsableCpus, rng: random.Random, workers: int = 0
) -> tuple[WorkerPlacement, ...]:
    """Those that this topology has, `unpinned` first; all with the same number of workers.

    `workers` 0: as many as the smallest node has cores, at most MOST_WORKERS, even where pairs share a core.
    """
    allowed = usable.cpus
    nodes: list[tuple[int | None, frozenset[int]]] = [*usable.cpus_by_node] or [(None, allowed)]
    groups = find_sharing_cpus(usable)
    own = {number: _one_cpu_per_shared_cache(groups, cpus) for number, cpus in nodes}
    pairs = {number: [sorted(g & cpus)[:2] for g in groups if len(g & cpus) > 1] for number, cpus in nodes}
    shared = max(pairs.items(), key=lambda item: len(item[1]), default=(None, []))
    # Two at least: with one worker nothing is shared and nothing is apart.
    count = workers or max(2, min(MAX_WORKERS, min(len(some) for some in own.values())))
    if shared[1] and not workers:
        count = max(2, min(count, 2 * len(shared[1])) // 2 * 2)
    choices = [_make_placement(UNPINNED, [sorted(allowed)] * count)]
    home = max(own, key=lambda number: len(own[number]))
    if len(own[home]) >= count:
        choices.append(_make_placement(SAME_OWN, [[n] for n in own[home][:count]]))
    if len(nodes) > 1 and sum(map(len, own.values())) >= count > 1:
        choices.append(_make_placement(APART_OWN, [[n] for n in _take_in_turn(list(own.values()), count)]))
    flat = [n for pair in shared[1] for n in pair]
    if len(flat) >= count > 1:
        choices.append(_make_placement(SAME_SHARED, [[n] for n in flat[:count]]))
    if len(allowed) > count:
        choices.append(_make_placement(RANDOM, [[n] for n in rng.sample(sorted(allowed), count)]))
    return tuple(choices)


def variant_line(placement: WorkerPlacement, usable: UsableCpus) -> str:
    """The same placement of a command of the user's own, as scenario `workload` takes it."""
    if placement.id == UNPINNED:
        return f"{placement.id}:"
    cpus = frozenset(n for seat in placement.seats for n in seat.cpus)
    nodes = [number for number, of_node in usable.cpus_by_node if cpus <= of_node]
    return f"{placement.id}: cpus={format_cpu_list(cpus)}" + (f" node={nodes[0]}" if nodes else "")


def loopback_placements(
    usable: UsableCpus, card_node: int | None
) -> tuple[WorkerPlacement, WorkerPlacement] | str:
    """A connection within one node (the network card's, where that is known) and one to the farthest node; or why not.

    Both ends have a core each, and ours stays where it is.
    """
    table = usable.nodes
    cores = {number: sorted(map(min, usable.usable_cores(cpus))) for number, cpus in usable.cpus_by_node}
    if table is None or len(cores) < 2:
        return "one node has CPUs"
    home = card_node if card_node in cores else max(cores, key=lambda n: (len(cores[n]), -n))
    if len(cores[home]) < 2:
        return f"node {home} has one core"
    far = max((n for n in cores if n != home), key=lambda n: (table.node_distance(home, n), -n))
    owner_text = ", the network card's" if home == card_node else ""
    here, peer_cpu = cores[home][:2]
    return (
        WorkerPlacement(
            NET_NEAR, f"both ends on node {home}{owner_text}", (WorkerSeat((here,), peer=(peer_cpu,)),)
        ),
        WorkerPlacement(
            NET_FAR,
            f"from node {home}{owner_text} to node {far}",
            (WorkerSeat((here,), peer=(cores[far][0],)),),
        ),
    )


def full_free_and_pinned(allowed: frozenset[int]) -> tuple[WorkerPlacement, WorkerPlacement]:
    """All slots filled: a worker a CPU, left alone or each on its own."""
    cpus = sorted(allowed)
    return _make_placement(UNPINNED, [cpus] * len(cpus)), _make_placement(EACH_PINNED, [[n] for n in cpus])


def _make_placement(name: str, seats: list[list[int]]) -> WorkerPlacement:
    return WorkerPlacement(name, TITLES[name], tuple(WorkerSeat(tuple(cpus)) for cpus in seats))


def _one_cpu_per_shared_cache(groups: tuple[frozenset[int], ...], cpus: frozenset[int]) -> list[int]:
    """One CPU of each core, and of each set that shares a second-level cache first."""
    first = {min(group & cpus) for group in groups if group & cpus}
    alone = cpus - frozenset().union(*groups) if groups else cpus
    return sorted(first | alone)


def _take_in_turn(lists: list[list[int]], count: int) -> list[int]:
    drawn_cpus: list[int] = []
    for depth in range(max(map(len, lists))):
        drawn_cpus += [some[depth] for some in lists if depth < len(some)]
    return drawn_cpus[:count]
