"""Who may make network namespaces, by what /proc says."""

from pathlib import Path

from hostdx.scenarios.rpfilter.plan import why_no_namespaces
from tests.every_case import every_case
from tests.fakes.answering import Answering

ROOT = "CapEff:\t000001ffffffffff\n"
NOBODY = "CapEff:\t0000000000000000\n"
CONTAINER = "CapEff:\t00000000a80425fb\n"  # Docker's default set, without CAP_SYS_ADMIN


@every_case(
    ("status", "settings", "part"),
    [
        (ROOT, {}, ""),
        (ROOT, {"user/max_user_namespaces": "0"}, ""),
        (NOBODY, {"user/max_user_namespaces": "15000"}, ""),
        (NOBODY, {"user/max_user_namespaces": "0"}, "max_user_namespaces is 0"),
        (NOBODY, {"kernel/unprivileged_userns_clone": "0"}, "unprivileged_userns_clone"),
        (NOBODY, {"kernel/unprivileged_userns_clone": "1"}, ""),
        (NOBODY, {"kernel/apparmor_restrict_unprivileged_userns": "1"}, "AppArmor"),
        (CONTAINER, {"user/max_user_namespaces": "0"}, "CAP_SYS_ADMIN"),
    ],
)
def test_who_may(tmp_path: Path, status: str, settings: dict[str, str], part: str) -> None:
    files = {f"/proc/sys/{path}": value + "\n" for path, value in settings.items()}
    files |= {"/proc/self/status": f"Name:\tx\n{status}", "/proc/self/ns/net": ""}
    namespaces = why_no_namespaces(Answering(tmp_path, {}, files))
    assert part in namespaces
    assert bool(namespaces) == bool(part)
    assert "\n" not in namespaces


def test_a_kernel_without_network_namespaces(tmp_path: Path) -> None:
    assert "CONFIG_NET_NS" in why_no_namespaces(Answering(tmp_path, {}))
