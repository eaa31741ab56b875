"""Links of our own where there is no peer: two network namespaces and a veth pair for each MTU."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from probes.bench.net.namespaces import Namespaces, connect, draw_addresses


def own_links(
    mtus: Sequence[int],
    serve: Callable[[str], tuple[str, int, str]],
    join: Callable[[str, int, str], None],
) -> bool:
    """`serve` starts a peer on the address, in the one namespace; `join` goes to it, from the other.

    Connections stay in the namespace that they were made in. Returns whether it took a user namespace. Raises
    BenchRefused.
    """
    first: Namespaces | None = None
    for mtu in mtus:
        spaces = Namespaces.make() if first is None else first.another()
        first = first or spaces
        addresses = draw_addresses()
        connect(spaces, addresses, ipv6=False)
        for end in ("sender", "receiver"):
            with spaces.netlink(end) as netlink:
                for link in netlink.get_links(kind="veth"):
                    netlink.link("set", index=link["index"], mtu=mtu)
        spaces.enter("receiver")
        served = serve(addresses.ipv4[1])
        spaces.enter("sender")
        join(*served)
    return first is not None and first.in_user_namespace
