"""Who used the CPUs in the whole watch: those that begin later, and those that share CPUs while others idle."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import pytest

from hostdx.probes.system.running.cpu_users import CpuUser, CpuUsers, find_shared_cpus
from hostdx.probes.system.running.culprit import BusyProcess
from hostdx.scenarios.contract.events import SampleTaken
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.cpuwatch.scenario import _HostSeries
from hostdx.scenarios.cpuwatch.users import (
    _largest_program_texts,
    group_by_program,
    host_finding,
    shared_cpus_findings,
    users_finding,
)
from tests.every_case import every_case
from tests.fakes.hosts.tree import Tree
from tests.fakes.run import FakeRun

USABLE = frozenset(range(4))


class BusyHost:
    """Four CPUs; `put_look` sets what each process has used until then, in seconds, and which CPUs idled."""

    def __init__(self, place: Path) -> None:
        self.tree = Tree(place)
        self.tree.put("/proc/self/mountinfo", "30 1 0:25 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")

    def put_look(self, at_s: int, used_s: Mapping[int, float], allowed: Mapping[int, str]) -> None:
        self.tree.put("/proc/uptime", f"{at_s}.00 0.00\n")
        busy = [0 if cpu else 100 * at_s for cpu in range(4)]
        times = (f"cpu{cpu} {busy[cpu]} 0 0 {100 * at_s - busy[cpu]} 0 0 0 0\n" for cpu in range(4))
        self.tree.put("/proc/stat", "".join(times))
        for pid, seconds in used_s.items():
            start = 9 if pid < 200 else 100 * at_s - 50
            stat = f"{pid} (xz) R 2 0 0 0 -1 0 0 0 0 0 {round(100 * seconds)} 0 0 0 9 0 0 0 {start}\n"
            self.tree.put(f"/proc/{pid}/stat", stat)
            self.tree.put(
                f"/proc/{pid}/status", f"Name:\txz\nCpus_allowed_list:\t{allowed.get(pid, '0-3')}\n"
            )
            self.tree.put(f"/proc/{pid}/cgroup", "0::/slot1\n")

    def watch(self, *looks: Mapping[int, float], allowed: Mapping[int, str]) -> CpuUsers:
        users = CpuUsers(self.tree.host())
        for number, used_s in enumerate(looks):
            self.put_look(100 + 5 * number, used_s, allowed)
            users.look()
        return users


@pytest.fixture
def busy_host(tmp_path: Path) -> BusyHost:
    return BusyHost(tmp_path)


def _list_shared(host: BusyHost, users: CpuUsers) -> list[Finding]:
    return list(shared_cpus_findings(host.tree.host(), users.find_shared_cpus(USABLE)))


def test_two_that_share_a_cpu_are_named_and_get_others(busy_host: BusyHost) -> None:
    allowed = {131: "0", 132: "0"}
    users = busy_host.watch({131: 1.0, 132: 1.0}, {131: 3.4, 132: 3.5}, {131: 5.9, 132: 5.8}, allowed=allowed)
    assert [user.process.rate for user in users.rank_users()] == pytest.approx([0.49, 0.48])
    [finding] = _list_shared(busy_host, users)
    assert finding.severity == "warning" and finding.subject == "0"
    [remedy] = finding.remedy
    assert remedy.commands == ("taskset -a -cp 0-3 131", "taskset -a -cp 0-3 132")
    assert remedy.undo == ("taskset -a -cp 0 131", "taskset -a -cp 0 132")
    assert {row.source for row in finding.evidence} == {"/proc/131/status", "/proc/132/status", "/proc/stat"}


def test_a_control_group_that_allows_no_others_is_what_changes(busy_host: BusyHost) -> None:
    """taskset cannot leave the cpuset: sched_setaffinity(2) takes what both allow."""
    busy_host.tree.files("/sys/fs/cgroup/slot1", **{"cpuset.cpus": "0\n"})
    allowed = {131: "0", 132: "0"}
    users = busy_host.watch({131: 1.0, 132: 1.0}, {131: 3.5, 132: 3.5}, allowed=allowed)
    [finding] = _list_shared(busy_host, users)
    assert finding.remedy[0].undo == ("echo 0 > /sys/fs/cgroup/slot1/cpuset.cpus",)


def test_one_that_began_later_is_named_with_it(busy_host: BusyHost) -> None:
    users = busy_host.watch({131: 1.0}, {131: 6.0}, {131: 11.0, 200: 0.4}, allowed={131: "0"})
    by_pid = {user.process.pid: user for user in users.rank_users()}
    assert by_pid[131].began_s is None and by_pid[200].began_s == 5.0
    assert by_pid[200].cpu_s == pytest.approx(0.4)
    finding = users_finding(users.rank_users(), USABLE, users.seconds)
    assert len(finding.evidence) == 2 and all(row.source for row in finding.evidence)
    assert len({row.text for row in finding.evidence}) == 2


def _user(pid: int, rate: float, allowed: str) -> CpuUser:
    process = BusyProcess(pid, "xz", rate, 9)
    return CpuUser(process=process, cpu_s=rate, owner="", allowed=allowed, began_s=None)


@every_case(
    ("users", "idle"),
    [
        ([_user(1, 0.5, "0"), _user(2, 0.5, "1")], 1.0),  # each has its own
        ([_user(1, 1.0, "0")], 1.0),  # nobody shares it
        ([_user(1, 0.4, "0"), _user(2, 0.4, "0")], 1.0),  # it idles itself
        ([_user(1, 0.5, "0"), _user(2, 0.5, "0")], 0.0),  # there are no others
        ([_user(1, 2.0, "0-3"), _user(2, 2.0, "0-3")], 1.0),  # not pinned
        ([_user(1, 0.5, ""), _user(2, 0.5, "x")], 1.0),  # not known
    ],
)
def test_who_loses_nothing_is_not_accused(users: list[CpuUser], idle: float) -> None:
    assert not find_shared_cpus(users, USABLE, dict.fromkeys(USABLE, idle))


@pytest.mark.parametrize(
    ("used_s", "waited_share", "severity", "ends_of_commands"),
    [
        ({131: 5.0, 132: 1.0}, 0.4, "warning", ["131,132", "renice -n 10 -p $(ls /proc/131/task)"]),
        (
            {131: 2.0, 132: 2.0, 133: 2.0},
            0.4,
            "warning",
            ["131,132,133"],
        ),  # all of root's, and none half of it
        ({131: 5.0, 132: 1.0}, 0.02, "notice", []),
        ({131: 5.0, 132: 1.0}, None, "notice", []),  # one of four CPUs is busy
    ],
)
def test_no_job_named_the_answer_is_the_host_s(
    busy_host: BusyHost,
    used_s: Mapping[int, float],
    waited_share: float | None,
    severity: str,
    ends_of_commands: Sequence[str],
) -> None:
    users = busy_host.watch(dict.fromkeys(used_s, 0.0), used_s, allowed={})
    finding = host_finding(busy_host.tree.host(), users, USABLE, waited_share)
    commands = [command for remedy in finding.remedy for command in remedy.commands]
    assert (finding.severity, finding.answers) == (severity, True)
    assert len(commands) == len(ends_of_commands)
    assert all(command.endswith(end) for command, end in zip(commands, ends_of_commands, strict=True))
    assert users.used_cpus(USABLE) == pytest.approx(1.0)  # CPU 0 alone is busy, whatever the processes say
    assert users.used_cpus(frozenset({1, 2})) == 0.0  # a container may not use CPU 0


def test_full_cpus_are_no_warning_where_nobody_waits_and_what_to_do_is_said(busy_host: BusyHost) -> None:
    """Two loops on two CPUs."""
    users = busy_host.watch({131: 0.0}, {131: 5.0}, allowed={})
    finding = host_finding(busy_host.tree.host(), users, frozenset({0}), 0.01)
    assert finding.severity == "notice" and finding.remedy[0].commands


def test_the_command_line_is_evidence_without_its_secrets(busy_host: BusyHost) -> None:
    """`sh` alone said nothing, and nothing said what had started it."""
    busy_host.tree.put("/proc/131/cmdline", "mysql\0-u\0root\0-phunter2\0db\0")
    busy_host.tree.put("/proc/132/cmdline", "")  # a kernel thread, or one that is ending
    users = busy_host.watch({131: 0.0, 132: 0.0}, {131: 5.0, 132: 1.0}, allowed={})
    finding = host_finding(busy_host.tree.host(), users, USABLE, 0.4)
    [row] = [row for row in finding.evidence if row.source.endswith("/cmdline")]
    assert row.source == "/proc/131/cmdline" and "mysql" in row.text and "hunter2" not in row.text


async def test_what_is_drawn_is_the_host_and_its_programs_look_by_look(busy_host: BusyHost) -> None:
    """One process was drawn where the answer is about all of them."""
    users, run = busy_host.watch({131: 0.0, 132: 0.0}, {131: 5.0, 132: 1.0}, allowed={}), FakeRun()
    series = _HostSeries(run, users, USABLE)
    for number, used_s in enumerate(({131: 9.0, 132: 2.0}, {131: 9.0, 132: 2.0})):
        busy_host.put_look(110 + 5 * number, used_s, {})
        await series.look_and_emit()
    samples = [(e.series, e.block, e.value) for e in run.events if isinstance(e, SampleTaken)]
    assert samples == [
        ("CPUs used", 0, pytest.approx(1.0)),
        ("by xz", 0, pytest.approx(1.0)),  # both processes of that name
        ("CPUs used", 1, pytest.approx(1.0)),
        ("by xz", 1, 0.0),  # what was drawn once is drawn on
    ]


def test_what_has_ended_is_given_no_command(busy_host: BusyHost) -> None:
    users = busy_host.watch({131: 0.0}, {131: 5.0}, allowed={})
    for name in ("stat", "status", "cgroup"):
        (busy_host.tree.root / "proc/131" / name).unlink()
    busy_host.put_look(110, {}, {})
    users.look()
    finding = host_finding(busy_host.tree.host(), users, USABLE, 0.5)
    assert not [command for remedy in finding.remedy for command in remedy.commands]


def test_a_title_names_a_program_of_a_user_once() -> None:
    """Those that began later and those that are pinned stood there as programs of their own."""
    users = [_user(1, 0.5, ""), _user(2, 0.4, "0"), msgspec.structs.replace(_user(3, 0.3, ""), began_s=5.0)]
    assert len(group_by_program(users, USABLE)) == 3
    assert len(_largest_program_texts(users)) == 1
    assert len(_largest_program_texts([*users, msgspec.structs.replace(users[0], owner="alice")])) == 2
