"""PeerPressure's ranking, by the paper's own properties."""

from hostdx.scenarios.analysis.peers.facts import ComparedFact
from hostdx.scenarios.analysis.peers.setting import _suspect_setting, suspect_settings
from tests.every_case import every_case
from tests.fakes.many_nodes import table_of


@every_case(
    ("key", "peer_value", "command"),
    [
        (("sysctl", "net.core.rmem_max"), "212992", "sysctl -w net.core.rmem_max=212992"),
        (("sysctl", "net.ipv4.tcp_rmem"), '"4096 131072 6291456"', "sysctl -w 'net.ipv4.tcp_rmem=4096 131072 6291456'"),
        (("sysctl", "net.core.rmem_max"), "", ""),
        (("tuned", "profile"), '"x"', ""),
    ],
)  # fmt: skip
def test_the_command_that_proves_it_has_the_peers_value(
    key: tuple[str, str], peer_value: str, command: str
) -> None:
    suspect_setting = _suspect_setting(ComparedFact(key, "1", 0, 9, 2, 9, ((peer_value, 9),)), 0.9)
    assert (suspect_setting.component, suspect_setting.command) == ("settings", command)


def test_what_every_node_has_of_its_own_is_no_setting() -> None:
    """Below the sole one too; two firmwares of the peers are."""
    table = table_of(
        [f"node{n}" for n in range(12)],
        lambda name: {
            ("run", "host"): name, ("kernel", "build"): f"#1 on {name}", ("sysctl", "x.y"): int(name == "node3"),
            ("disk:a", "firmware"): "C" if name == "node3" else "A" if name < "node6" else "B",
        },
    )  # fmt: skip
    settings = suspect_settings(table, 3, [n for n in range(12) if n != 3])
    assert [setting.name for setting in settings] == ["x.y", "firmware"]
