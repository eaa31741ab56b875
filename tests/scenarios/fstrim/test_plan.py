"""The plan on captured and live hosts: what it names beforehand, and every bad input in one line."""

from pathlib import Path

import msgspec
import pytest

from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.mounts import Mount
from hostdx.probes.system.disk.trim.discard import DiscardChain, DiscardLayer
from hostdx.scenarios.contract.model import OptionMap, UsageError
from hostdx.scenarios.fstrim.measurement.trim import TrimPattern
from hostdx.scenarios.fstrim.plan import make_plan_and_setup, parse_request, refusal_reason, trim_action
from hostdx.scenarios.fstrim.scenario import Fstrim
from hostdx.scenarios.fstrim.trim_setup import (
    MAX_WRITTEN_BYTES,
    SHARE_OF_CAPACITY,
    TrimSetup,
    cannot_trim_reason_and_advice,
)
from tests.every_case import every_case
from tests.fakes.hosts.tree import Tree

MIB = 1 << 20


def make_options(**values: object) -> OptionMap:
    return OptionMap(values, Fstrim.options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({}, "name one directory on the disk with --dir"),
        ({"dir": "/d", "workload": "sh -c 'x"}, "check its quotes"),
        ({"dir": "/d", "workload": "  "}, "--workload is empty"),
        ({"dir": "/d", "round": True, "again": True, "state": "/s"}, "--again makes no sense"),
        ({"dir": "/d", "round": True}, "needs a place"),
    ],
)
def test_a_wrong_request_is_one_line(values: dict[str, object], reason: str) -> None:
    with pytest.raises(UsageError, match=reason) as error_info:
        parse_request(make_options(**values))
    assert "\n" not in str(error_info.value)


def test_a_budget_that_is_too_short() -> None:
    with pytest.raises(UsageError, match="give --budget 9 or more"):
        TrimPattern().spread_over_budget(5.0, 3)
    fewest = TrimPattern().spread_over_budget(9.0, 3)
    assert fewest.blocks == 6 and fewest.block_s + fewest.reference_s == pytest.approx(0.5)
    short = TrimPattern().spread_over_budget(36.0, 3)
    assert short.blocks == 12
    assert 3 * short.blocks * (short.block_s + short.reference_s) == pytest.approx(36.0)


def setup_of(max_bytes: int = 4096, fstype: str = "ext4", queued: dict[str, str] | None = None) -> TrimSetup:
    """A layout whose stack is made up, without reading any host."""
    mount = Mount(mountpoint="/data", root="/", devno="8:0", source="/dev/sda", fstype=fstype, options=())
    trim_setup = TrimSetup(Host("/nonexistent-captured-tree"), "/data", blocks=8, phases=3)
    trim_setup.refusal = trim_setup.no_trim = ""
    trim_setup.chain = DiscardChain(
        mount=mount,
        device="sda",
        online="",
        layers=(
            DiscardLayer(device="dm-0", kind="crypt", max_bytes=max_bytes, granularity_bytes=512),
            DiscardLayer(device="sda", kind="disk", max_bytes=4096, granularity_bytes=512),
        ),
        leaves=("sda",),
        queued=queued or {},
    )
    return trim_setup


def test_a_layer_that_swallows_discards_ends_a_session_but_not_a_round() -> None:
    session, one_round = (
        parse_request(make_options(dir="/data")),
        parse_request(make_options(dir="/data", round=True, state="/s")),
    )
    assert "the layer dm-0 (crypt) takes no discards" in refusal_reason(session, setup_of(0))
    assert refusal_reason(one_round, setup_of(0)) == ""
    assert refusal_reason(session, setup_of()) == ""


def test_a_file_system_that_cannot_trim() -> None:
    assert "ext2" in refusal_reason(parse_request(make_options(dir="/data")), setup_of(fstype="ext2"))


@every_case(
    ("command", "part"),
    [
        ("nonexistent-program --x", "nonexistent-program: "),
        ("/nonexistent/program", "/nonexistent/program: "),
        ("/etc/passwd", "/etc/passwd: "),
        ("./job.sh", "give its full path"),
        ("sh -c ls", ""),
        ("/bin/sh -c ls", ""),
    ],
)
def test_a_command_that_cannot_be_started_is_refused_before_anything_is_written(
    command: str, part: str
) -> None:
    reason = refusal_reason(parse_request(make_options(dir="/data", workload=command)), setup_of())
    assert (part in reason) if part else not reason


def test_the_trim_needs_consent_and_names_its_risk() -> None:
    action = trim_action(setup_of(queued={"sda": "forced_unqueued"}))
    assert action.consent and action.irreversible and action.undo == ()
    queued = trim_action(setup_of(queued={"sda": "queued"}))
    assert "sda" in action.risk and queued.risk and "sda" not in queued.risk


@every_case(
    ("status", "part"),
    [
        ("CapEff:\t000001ffffffffff\n", ""),
        ("CapEff:\t0000000000000000\n", "CAP_SYS_ADMIN"),
        ("CapEff:\t00000000a80425fb\n", "CAP_SYS_ADMIN"),  # Docker's root
        ("Name:\tx\n", "CAP_SYS_ADMIN"),
    ],
)
def test_who_may_trim(tmp_path: Path, status: str, part: str) -> None:
    reason, todo = cannot_trim_reason_and_advice(Tree(tmp_path).put("/proc/self/status", status).host())
    assert bool(reason) == bool(todo)
    assert (part in reason) if part else ("CAP" not in reason)


def test_the_plan_names_everything_beforehand(tmp_path: Path) -> None:
    plan, layout, _, _ = make_plan_and_setup(
        Host(), make_options(dir=str(tmp_path)), TrimPattern(), Fstrim().make_plan
    )
    if plan.refusal:  # the tests' directory may lie on what cannot be trimmed or has too little space
        assert "\n" not in plan.refusal and plan.actions == ()
        return
    [written] = plan.writes
    assert written.bytes == layout.most_bytes <= MAX_WRITTEN_BYTES
    assert all(
        written.bytes <= SHARE_OF_CAPACITY * d.size_bytes  # type: ignore[operator]
        for d in layout.devices
    )
    own_bytes = layout.fixed_bytes + (3 * TrimPattern().blocks + 1) * layout.block_bytes
    assert own_bytes <= written.bytes / 2 and layout.block_bytes >= MIB
    kinds = [action.kind for action in plan.actions]
    assert kinds in (["resource"], ["resource", "command", "command"])
    assert (
        plan.digest
        == make_plan_and_setup(Host(), make_options(dir=str(tmp_path)), TrimPattern(), Fstrim().make_plan)[
            0
        ].digest
    )


def test_no_action_ever_writes_to_a_device() -> None:
    for action in (trim_action(setup_of()),):
        assert action.apply[:2] == ("fstrim", "-v") and "/dev/" not in " ".join(action.apply)
    assert msgspec.json.decode(msgspec.json.encode(trim_action(setup_of())))["kind"] == "command"
