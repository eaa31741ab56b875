"""The private namespaces for real: proved variants, a cost that shows, and nothing left behind however it ends."""

import asyncio
import os
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hostdx.probes.engine.measured import BenchRefused, MeasurementInvalid
from hostdx.probes.reading.process_stat import is_running, read_live_stat
from hostdx.scenarios.rpfilter.measurement.firewall_rules import Treatment
from hostdx.scenarios.rpfilter.measurement.network import LabNetwork
from hostdx.scenarios.rpfilter.measurement.route_set import RouteSet
from tests.needs import NOT_INIT, ROOT, need, needs, not_here, program
from tests.real.network_state import namespaces_in_use, network_state
from tests.real.polled import happens

pytestmark = pytest.mark.real  # a network of its own
NONE = Treatment(rule_kind="none", protocol="IPv6", catches=False)
CHECK = Treatment(rule_kind="check", protocol="IPv6")
ROUTES = RouteSet(ipv6=(("::/0", "eth0"), ("2001:db8::/32", "eth1")), ipv4=(("0.0.0.0/0", "eth0"),))


@pytest.fixture
async def network() -> AsyncIterator[LabNetwork]:
    need(program("nft"))
    try:
        private = await LabNetwork.start(f"hostdx-test-{os.getpid()}")
    except BenchRefused as error:
        not_here(f"no network namespace can be made here: {error}")
    try:
        if (await private.set_up(ROUTES, ipv6=True)).ipv6_routes != 2:
            pytest.fail("the routes were not copied")
        yield private
    finally:
        await private.close()


@pytest.mark.real("cpu")
@pytest.mark.noisy("a tenth of a packet, measured for a third of a second", false_failures="0 of 4")
@needs(program("nft"))
async def test_the_check_costs_and_the_live_system_is_as_before() -> None:
    before = network_state()
    name = f"hostdx-live-{os.getpid()}"
    try:
        network = await LabNetwork.start(name)
    except BenchRefused as error:
        not_here(f"no network namespace can be made here: {error}")
    try:
        await network.set_up(ROUTES, ipv6=True)
        costs: dict[str, list[float]] = {"none": [], "check": []}
        for treatment in (NONE, CHECK, CHECK, NONE) * 2:
            await network.apply_treatment(treatment)
            measured = await network.measure("udp", "IPv6", 0.3)
            costs[treatment.rule_kind].append(measured.values["ns/packet"])
        await network.apply_treatment(
            Treatment(rule_kind="none", protocol="IPv4", rp_filter=1, ends="input")
        )  # writes a setting
    finally:
        await network.close()
    assert min(costs["check"]) > min(costs["none"]) * 1.1
    assert network_state() == before


@pytest.mark.parametrize(
    "treatment",
    [
        NONE,
        Treatment(rule_kind="trivial", protocol="IPv6", catches=False),
        CHECK,
        Treatment(rule_kind="check", protocol="IPv6", flags=("saddr",)),
        Treatment(rule_kind="check", protocol="IPv6", hook="input", ends="input"),
        Treatment(rule_kind="check", protocol="IPv6", priority=-290),
        Treatment(rule_kind="check", protocol="IPv4", ends="input"),
        Treatment(rule_kind="none", protocol="IPv4", ends="input", rp_filter=2),
    ],
    ids=lambda t: f"{t.rule_kind}-{t.protocol}-{t.hook}-{t.priority}-{len(t.flags)}-{t.rp_filter}",
)
async def test_every_variant_is_proved(network: LabNetwork, treatment: Treatment) -> None:
    ready = await network.apply_treatment(treatment)
    assert ready.spoofed == (20 if treatment.catches else 0)
    measured = await network.measure("udp", treatment.protocol, 0.05)
    assert measured.operations > 0
    assert measured.values["ns/packet"] > 0


@pytest.mark.parametrize("loader", ["iptables-nft", "iptables-legacy"])
async def test_the_forms_of_iptables_and_no_trace_of_them_afterwards(
    network: LabNetwork, loader: str
) -> None:
    command = f"ip6tables-{loader.removeprefix('iptables-')}"
    need(program(command))
    treatment = Treatment(rule_kind="check", protocol="IPv6", loader=loader, table="raw")  # type: ignore[arg-type]
    try:
        assert (await network.apply_treatment(treatment)).spoofed == 20
    except MeasurementInvalid as error:
        not_here(f"this kernel has no {loader} rpfilter: {error}")
    assert (await network.apply_treatment(NONE)).spoofed == 0


async def test_a_variant_that_is_not_what_it_says_is_not_applicable(network: LabNetwork) -> None:
    with pytest.raises(MeasurementInvalid, match="spoofed packets arrived"):
        await network.apply_treatment(Treatment(rule_kind="none", protocol="IPv6", catches=True))
    with pytest.raises(MeasurementInvalid, match="not active"):
        await network.measure("udp", "IPv6", 0.05)
    await network.apply_treatment(NONE)  # and it goes on


@needs(program("nft"))
async def test_without_ipv6_the_ipv4_variants_work_and_the_others_say_why() -> None:
    try:
        network = await LabNetwork.start(f"hostdx-four-{os.getpid()}")
    except BenchRefused as error:
        not_here(f"no network namespace can be made here: {error}")
    try:
        assert (await network.set_up(ROUTES, ipv6=False)).ipv6_routes == 0
        assert (await network.apply_treatment(Treatment(rule_kind="check", protocol="IPv4"))).spoofed == 20
        with pytest.raises(MeasurementInvalid, match="no IPv6"):
            await network.apply_treatment(CHECK)
    finally:
        await network.close()


async def test_tcp_with_and_without_offloads(network: LabNetwork) -> None:
    for offload in (False, True):
        await network.apply_treatment(CHECK, offload=offload)
        measured = await network.measure("tcp", "IPv6", 0.2)
        assert measured.values["MB/s"] > 1


async def test_a_cancelled_block_stops_at_once_and_the_next_one_works(network: LabNetwork) -> None:
    await network.apply_treatment(NONE)
    block = asyncio.ensure_future(network.measure("udp", "IPv6", 60.0))
    while not cpu_ticks(network.process_id):
        await asyncio.sleep(0.01)
    block.cancel()
    assert (await asyncio.wait({block}, timeout=20))[0] == {block} and block.cancelled()
    assert (await network.measure("udp", "IPv6", 0.05)).operations > 0


def cpu_ticks(pid: int) -> int:
    stat = read_live_stat(pid)
    assert stat is not None
    return stat.system_ticks


async def test_two_at_once_do_not_collide(network: LabNetwork) -> None:
    other = await LabNetwork.start(f"hostdx-other-{os.getpid()}")
    try:
        await other.set_up(ROUTES, ipv6=True)
        await asyncio.gather(network.apply_treatment(CHECK), other.apply_treatment(NONE))
        first, second = await asyncio.gather(
            network.measure("udp", "IPv6", 0.2), other.measure("udp", "IPv6", 0.2)
        )
        assert first.operations > 0
        assert second.operations > 0
    finally:
        await other.close()


@needs(NOT_INIT)
def test_killed_with_the_parent() -> None:
    """SIGKILL of whoever started it: the holder dies with it, and the namespaces with the holder."""
    script = textwrap.dedent(
        """
        import asyncio, sys
        from hostdx.scenarios.rpfilter.measurement.route_set import RouteSet
        from hostdx.scenarios.rpfilter.measurement.network import LabNetwork
        async def main():
            network = await LabNetwork.start("hostdx-orphan")
            await network.set_up(RouteSet(), ipv6=True)
            print(network.process_id, flush=True)
            await asyncio.sleep(60)
        asyncio.run(main())
        """
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    try:
        assert parent.stdout is not None
        line = parent.stdout.readline()
        if not line:
            not_here("no network namespace can be made here")
        holder = int(line)
        namespace = str(Path(f"/proc/{holder}/ns/net").readlink())
        assert namespace != str(Path("/proc/self/ns/net").readlink())
    finally:
        parent.kill()
        parent.wait()
        parent.stdout.close()
    assert happens(lambda: not is_running(holder))
    assert happens(lambda: namespace not in namespaces_in_use())


@needs(ROOT, program("nft"))
def test_without_root_in_a_user_namespace() -> None:
    """As user nobody, by the same code: only the way into the namespaces differs."""
    script = textwrap.dedent(
        """
        import os, sys
        import encodings.ascii  # what is loaded late may lie where nobody must not read
        from hostdx.scenarios.rpfilter.measurement.lab import Lab
        from hostdx.scenarios.rpfilter.measurement.lab_messages import ActivateRequest, MeasureRequest
        from hostdx.scenarios.rpfilter.measurement.lab_messages import MeasureSlices, SetUpRequest
        from hostdx.scenarios.rpfilter.measurement.route_set import RouteSet
        from hostdx.scenarios.rpfilter.measurement.firewall_rules import Treatment
        os.setgroups([]); os.setgid(65534); os.setuid(65534)
        import ctypes
        ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: setuid cleared it, and /proc/self would be root's
        from hostdx.probes.engine.measured import BenchRefused
        try:
            lab = Lab()
        except BenchRefused as why:
            print("refused", why); sys.exit(0)
        lab.serve(SetUpRequest(ipv6=True, routes=RouteSet()))
        ready = lab.serve(ActivateRequest(treatment=Treatment(rule_kind="check", protocol="IPv6")))
        lab.serve(SetUpRequest(ipv6=True, routes=RouteSet(), pair=1))
        lab.serve(ActivateRequest(treatment=Treatment(rule_kind="none", protocol="IPv6", catches=False), pair=1))
        train = lab.serve(MeasureSlices(protocol="IPv6", order=[0, 1], slice_s=0.02))
        moved = lab.serve(MeasureRequest(load="udp", protocol="IPv6", seconds=0.05))
        print(lab.in_user_namespace, ready.spoofed, moved.sent.packets > 0, train.sent == train.arrived)
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=False
    )
    if done.stdout.startswith("refused"):
        not_here(f"no unprivileged user namespaces here: {done.stdout}")
    assert (done.stdout.strip(), done.returncode) == ("True 20 True True", 0), done.stderr
