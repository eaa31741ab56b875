"""The same minutes on many nodes: what their incident books have in common is no fault of a node."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from statistics import fmean, median

import msgspec

from hostdx.probes.units import join_names
from hostdx.scenarios.analysis.incidents.findings import SAYS, symptom_text
from hostdx.scenarios.analysis.incidents.incidents import Cause, Incident
from hostdx.scenarios.contract import ranges as of
from hostdx.scenarios.contract.finding import Evidence, Finding
from hostdx.scenarios.experiment.statistics.distributions import binomial_tail

MIN_NODES, MIN_SHARE = 3, 0.3  # of the nodes, that have an incident at the same time
MAX_CHANCE = 1e-3  # that so many coincide anywhere, if each node had its incidents at times of its own
AT_MOST_NAMED = 5
SERVERS = ("file-server", "stuck", "network")  # causes that lie outside of the node
# for I/O with idle disks: for a server, or for whatever a job of all nodes does at that time
OPEN_CAUSE = "waiting"
MAX_UNAFFECTED_SHARE = 0.5  # of the other nodes: if more of them mount a server too, it is not named


class ServerMount(msgspec.Struct, frozen=True):
    """A file system of a server, as it is mounted: `nas01:/home`, `nfs4`."""

    source: str
    fstype: str

    @property
    def server(self) -> str:
        return self.source.partition(":/")[0] if ":/" in self.source else self.source


class NodeIncident(msgspec.Struct, frozen=True):
    incident: Incident


class NodeBook(msgspec.Struct, frozen=True, kw_only=True):
    """What `hostdx incident --format json` says of one node, as far as it is compared.

    `first_s`: of the epoch, the book's first sample; an incident's times count from it. `book` tells it from others.
    """

    book: str
    host: str
    first_s: of.Value
    seconds: of.Seconds
    incidents: tuple[NodeIncident, ...]
    mounts: tuple[ServerMount, ...] = ()

    def period_of(self, incident: Incident) -> tuple[float, float]:
        """Return begin and end in seconds of the epoch."""
        return self.first_s + incident.began_s, self.first_s + incident.ended_s


class SharedIncident(msgspec.Struct, frozen=True, kw_only=True):
    """`nodes` of `all_nodes` had an incident in these seconds of the epoch. `servers`: mounted on nearly all of these
    nodes, and on fewer of the others if there are any. `culprit`: named on most of them.
    """

    began_s: of.Value
    ended_s: of.Value
    cause: Cause
    nodes: tuple[str, ...]
    all_nodes: of.Count
    example: Incident
    servers: tuple[str, ...] = ()
    culprit: str = ""


class NodesJudgement(msgspec.Struct, frozen=True, kw_only=True):
    """`alone`: by node, how many incidents it shares with no one; nodes without one are left out."""

    nodes: of.Count
    shared: tuple[SharedIncident, ...]
    alone: dict[str, int]


def judge_nodes(books: Sequence[NodeBook]) -> NodesJudgement:
    """Return the shared incidents, those of most nodes first."""
    candidates = _coinciding_clusters(books)
    clusters = [cluster for cluster in candidates if _is_no_chance(cluster, books, len(candidates))]
    shared = [_incident_of_cluster(cluster, books) for cluster in clusters]
    shared_incidents = {(book.host, incident) for cluster in clusters for book, incident in cluster}
    alone = {
        book.host: count
        for book in books
        if (count := sum((book.host, entry.incident) not in shared_incidents for entry in book.incidents))
    }
    ranked = sorted(shared, key=lambda entry: (-len(entry.nodes), entry.began_s))
    return NodesJudgement(nodes=len(books), shared=tuple(ranked), alone=alone)


_Cluster = list[tuple[NodeBook, Incident]]


def _coinciding_clusters(books: Sequence[NodeBook]) -> list[_Cluster]:
    """Return groups of incidents, at most one a node: one joins a group if half of the shorter lies in common."""
    entries = [(book, entry.incident) for book in books for entry in book.incidents]
    entries.sort(key=lambda entry: entry[0].period_of(entry[1]))
    clusters: list[_Cluster] = []
    for book, incident in entries:
        began_s, ended_s = book.period_of(incident)
        for cluster in reversed(clusters):
            other_began_s, other_ended_s = _median_period(cluster)
            common_s = min(ended_s, other_ended_s) - max(began_s, other_began_s)
            shorter_s = min(ended_s - began_s, other_ended_s - other_began_s)
            is_new = all(book.host != other.host for other, _ in cluster)
            if is_new and common_s > 0 and common_s >= shorter_s / 2:
                cluster.append((book, incident))
                break
        else:
            clusters.append([(book, incident)])
    return clusters


def _median_period(cluster: _Cluster) -> tuple[float, float]:
    periods = [book.period_of(incident) for book, incident in cluster]
    return median(began for began, _ in periods), median(ended for _, ended in periods)


def _is_no_chance(cluster: _Cluster, books: Sequence[NodeBook], tries: int) -> bool:
    """True where so many nodes at once are no chance in any of so many tries."""
    if len(cluster) < max(MIN_NODES, math.ceil(MIN_SHARE * len(books))):
        return False
    began_s, ended_s = _median_period(cluster)
    by_chance = fmean(
        min(
            1.0,
            sum(
                entry.incident.ended_s - entry.incident.began_s + (ended_s - began_s)
                for entry in book.incidents
            )
            / max(book.seconds, 1.0),
        )
        for book in books
    )
    return tries * binomial_tail(len(cluster), len(books), by_chance) < MAX_CHANCE


def _incident_of_cluster(cluster: _Cluster, books: Sequence[NodeBook]) -> SharedIncident:
    began_s, ended_s = _median_period(cluster)
    causes = Counter(incident.cause for _, incident in cluster)
    cause = min(causes, key=lambda name: (-causes[name], name not in SERVERS, name))
    example = next(incident for _, incident in cluster if incident.cause == cause)
    culprits = Counter(incident.culprit.name for _, incident in cluster if incident.culprit is not None)
    name, count = culprits.most_common(1)[0] if culprits else ("", 0)
    affected = [book for book, _ in cluster]
    servers = _servers_of_affected(affected, books) if cause in (*SERVERS, OPEN_CAUSE) else ()
    if cause == OPEN_CAUSE:
        others = [book for book in books if book not in affected]
        mounted = _count_servers(others)
        servers = tuple(s for s in servers if others and mounted[s] <= MAX_UNAFFECTED_SHARE * len(others))
    return SharedIncident(
        began_s=began_s,
        ended_s=ended_s,
        cause=cause,
        nodes=tuple(sorted(book.host for book in affected)),
        all_nodes=len(books),
        example=example,
        servers=servers,
        culprit=name if 2 * count > len(cluster) else "",
    )


def _servers_of_affected(affected: Sequence[NodeBook], books: Sequence[NodeBook]) -> tuple[str, ...]:
    """Of nine of ten of the affected nodes; where other nodes have some of them too, those that fewer of them have."""
    hosts = {book.host for book in affected}
    others = [book for book in books if book.host not in hosts]
    inside, outside = _count_servers(affected), _count_servers(others)
    common = [server for server, count in inside.items() if count >= 0.9 * len(affected)]
    if others:
        least = min((outside[server] / len(others) for server in common), default=0.0)
        common = [server for server in common if outside[server] / len(others) <= least]
    return tuple(sorted(common))


def _count_servers(books: Iterable[NodeBook]) -> Counter[str]:
    return Counter(server for book in books for server in {mount.server for mount in book.mounts})


def shared_findings(judgement: NodesJudgement, source: str) -> list[Finding]:
    """Return one a shared incident; without any one that says so."""
    if not judgement.shared:
        return [SAYS.finding("nodes-apart", subject=source, nodes=judgement.nodes)]
    return [_shared_finding(shared, source) for shared in judgement.shared]


def _shared_finding(shared: SharedIncident, source: str) -> Finding:
    began, ended = (datetime.fromtimestamp(at_s, UTC) for at_s in (shared.began_s, shared.ended_s))
    evidence: list[Evidence] = [
        SAYS.evidence("nodes", names=join_names(list(shared.nodes), AT_MOST_NAMED), file=source),
        SAYS.evidence(
            "node-symptom", node=shared.nodes[0], what=symptom_text(shared.example.symptoms[0]), file=source
        ),
    ]
    if shared.culprit:
        evidence.append(SAYS.evidence("nodes-culprit", process=shared.culprit, file=source))
    kind = "nodes-timer"
    if shared.servers:
        kind = "nodes-server"
    elif shared.cause in SERVERS:
        kind = "nodes-outside"
    elif shared.cause == OPEN_CAUSE:
        kind = "nodes-open"
    return SAYS.finding(
        kind,
        id=f"incidents.{kind}",
        subject=source,
        when=f"{began:%Y-%m-%d %H:%M} to {ended:%H:%M} UTC",
        count=len(shared.nodes),
        nodes=shared.all_nodes,
        servers=join_names(list(shared.servers), 3),
        cause=SAYS.text(f"cause-{shared.cause}"),
        evidence=evidence,
    )
