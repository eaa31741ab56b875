"""Rules about the host as a whole, on small captured trees."""

import time
from pathlib import Path

import pytest

from hostdx.probes.cpu_list import parse_cpu_list
from hostdx.probes.system.running import quota_groups
from hostdx.probes.system.running.processes import ProcessTable, read_process_table
from hostdx.probes.types import Absent
from hostdx.scenarios.contract.rule import FactUnreadable, RuleInapplicable
from hostdx.scenarios.numa.findings import quota_remedy
from hostdx.scenarios.triage.cpus import priority
from hostdx.scenarios.triage.cpus.quota import SessionQuota, one_thread_cost_sentence
from hostdx.scenarios.triage.host import rules
from hostdx.scenarios.triage.host.top_users import Cause, NobodyNamed, TopUser, top_users
from hostdx.scenarios.triage.host.top_users import unnamed_cause as reason
from tests.every_case import every_case
from tests.fakes.hosts.tree import Tree

CPU = "sys/devices/system/cpu"


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


ELSEWHERE, HIDDEN = Absent("a container's", "container"), Absent("hidepid", "permission")


@every_case(
    ("hidden", "kind", "unreadable", "root", "why"),
    [
        (ELSEWHERE, "cpu", 0, True, "namespace"),
        (ELSEWHERE, "io", 7, False, "namespace"),
        (HIDDEN, "io", 7, False, "hidden"),
        (None, "io", 7, False, "unreadable"),
        (None, "cpu", 7, False, "quiet"),
        (None, "io", 7, True, "quiet"),  # not by being root: it is, and was told to become it
        (None, "io", 0, False, "quiet"),
    ],
)
def test_why_nobody_is_named(
    hidden: Absent | None, kind: str, unreadable: int, root: bool, why: Cause
) -> None:
    assert reason(hidden, kind, unreadable, root=root) == why
    assert NobodyNamed(why).next_remedy.commands


def test_a_pressure_that_names_nobody_says_why(monkeypatch: pytest.MonkeyPatch, tree: Tree) -> None:
    tree.put("/proc/pressure/cpu", "some avg10=59.00 avg60=59.00 avg300=59.00 total=1\n")
    host = tree.host()
    monkeypatch.setattr(host, "live", True)
    monkeypatch.setattr(rules, "top_users", lambda host, kind: ())
    monkeypatch.setattr(rules, "process_table_of_look", lambda host: ProcessTable(1.0, {}))
    monkeypatch.setattr(rules, "reason_nobody_is_named", lambda host, kind, table: NobodyNamed("namespace"))
    [pressure] = rules.check_pressure(host)
    assert pressure.title.endswith(NobodyNamed("namespace").reason_sentence) and pressure.remedy == (
        NobodyNamed("namespace").next_remedy,
    )


@pytest.mark.parametrize("name", ["khugepaged", "kworker/u8:2-flush-254:0", "something_new"])
def test_a_kernel_thread_gets_no_other_priority(
    monkeypatch: pytest.MonkeyPatch, tree: Tree, name: str
) -> None:
    tree.put("/proc/pressure/cpu", "some avg10=59.00 avg60=59.00 avg300=59.00 total=1\n")
    flags = 0x00200000 | 0x40
    tree.put("/proc/45/stat", f"45 ({name}) R 2 0 0 0 -1 {flags} {'0 ' * 9}39 19 1 0 9 0 0\n")
    tree.put("/proc/131/stat", f"131 (xz) R 1 0 0 0 -1 64 {'0 ' * 9}20 0 1 0 9 0 0\n")
    host = tree.host()
    assert read_process_table(host, io=False).processes[45].kernel_thread
    monkeypatch.setattr(host, "live", True)
    for user in (
        TopUser(45, name, "root", "0.9 CPUs", kernel_thread=True),
        TopUser(131, "xz", "alice", "0.9 CPUs"),
    ):
        monkeypatch.setattr(rules, "top_users", lambda host, kind, user=user: (user,))
        [pressure] = rules.check_pressure(host)
        commands = " ".join((*pressure.remedy[0].commands, *pressure.remedy[0].undo))
        assert "nice -" not in commands and f"-p {user.pid}" in commands  # a glance is too little for that
        listing = " ".join(
            priority.process_priority_remedy(host, user.pid, user.name).commands
        )  # by who watches for longer
        assert ("renice" in listing) != user.kernel_thread


@pytest.mark.parametrize(
    ("used_s", "life_s", "culprit"), [(30, 60, "xz"), (29, 60, ""), (3600, 7200, "xz"), (1, 1, "")]
)
def test_triage_names_by_the_cpu_time_since_the_start_and_does_not_wait(
    monkeypatch: pytest.MonkeyPatch, tree: Tree, used_s: int, life_s: int, culprit: str
) -> None:
    """Two CPUs: from half a CPU on over its whole life a process surely uses a quarter of what others use."""
    up_s = 10_000
    tree.put("/proc/pressure/cpu", "some avg10=59.00 avg60=59.00 avg300=59.00 total=1\n")
    tree.put("/proc/uptime", f"{up_s}.00 0.00\n").put(
        "/proc/stat", "cpu  1 0 0 0\ncpu0 1 0 0 0\ncpu1 1 0 0 0\n"
    )
    start = 100 * (up_s - life_s)
    tree.put("/proc/131/stat", f"131 (xz) R 1 0 0 0 -1 64 0 0 0 0 {100 * used_s} 0 9999 0 9 0 0 0 {start}\n")
    host = tree.host()
    monkeypatch.setattr(time, "sleep", lambda seconds: pytest.fail("a triage does not wait"))
    assert [user.name for user in top_users(host, "cpu")] == ([culprit] if culprit else [])
    monkeypatch.setattr(host, "live", True)
    assert top_users(host, "io") == ()
    [pressure] = rules.check_pressure(host)
    assert pressure.prove == "cpuwatch"
    assert (pressure.prove_options == ("--pid", "131", "--started", str(start))) is bool(culprit)


def test_nobody_watches_a_thread_of_the_kernel(monkeypatch: pytest.MonkeyPatch, tree: Tree) -> None:
    tree.put("/proc/pressure/cpu", "some avg10=59.00 avg60=59.00 avg300=59.00 total=1\n")
    host = tree.host()
    monkeypatch.setattr(host, "live", True)
    thread = TopUser(44, "kcompactd0", "root", "0.9 CPUs", kernel_thread=True)
    monkeypatch.setattr(rules, "top_users", lambda host, kind: (thread,))
    [pressure] = rules.check_pressure(host)
    assert pressure.prove_options == () and pressure.prove != "cpuwatch"


@pytest.mark.parametrize(
    ("offline", "control", "titles", "evidence"),
    [
        ("4-5,8-127", "", ["2 CPUs are switched off"], "4-5 of 8 CPUs"),  # 8 to 127 can never come
        ("8-127", "", [], ""),
        ("4-7", "off", [], ""),  # SMT off by choice: its siblings
        ("4-7", "forceoff", [], ""),
        ("7", "on", ["1 CPU is switched off"], "7 of 8 CPUs"),
    ],
)
def test_cpus_switched_off(tree: Tree, offline: str, control: str, titles: list[str], evidence: str) -> None:
    for n in range(8):
        tree.put(f"/{CPU}/cpu{n}/online", "1\n")
    tree.files(f"/{CPU}", present="0-7", offline=offline)
    for n in parse_cpu_list(offline) or ():
        if n < 8:
            tree.put(f"/{CPU}/cpu{n}/online", "0\n")
    if control:
        tree.put(f"/{CPU}/smt/control", f"{control}\n")
    offline_cpus = list(rules.check_offline_cpus(tree.host()))
    assert [f.title for f in offline_cpus] == titles
    assert not evidence or offline_cpus[0].evidence[0].text == evidence


@pytest.mark.parametrize(
    ("offline", "titles"),
    [
        ("1-7,9-15,17-23,25-31", []),  # SMT off: the first thread of each core is left
        ("2-7,10-15,18-23,26-31", []),  # two threads a core
        ("1-7,9-15,17-31", ["29 CPUs are switched off"]),  # and a core is gone with them
        ("5", ["1 CPU is switched off"]),
        ("1-2,5,9-15", ["10 CPUs are switched off"]),
    ],
)
def test_threads_of_power_that_are_not_used(tree: Tree, offline: str, titles: list[str]) -> None:
    off = parse_cpu_list(offline) or frozenset()
    tree.files(f"/{CPU}", present="0-31", offline=offline)
    tree.put(
        "/proc/cpuinfo", "".join(f"processor\t: {n}\ncpu\t\t: POWER8\n\n" for n in range(32) if n not in off)
    )
    for n in range(32):
        tree.put(f"/{CPU}/cpu{n}/online", f"{int(n not in off)}\n")
    assert [f.title for f in rules.check_offline_cpus(tree.host())] == titles


@pytest.mark.parametrize("file", ["cpu.max", "parent"])
def test_a_quota_of_our_group_or_of_one_above_it(tree: Tree, file: str) -> None:
    tree.put("/proc/self/cgroup", "0::/a/b\n")
    tree.put("/proc/self/mountinfo", "30 1 0:25 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
    group = "/sys/fs/cgroup/a" + ("/b" if file == "cpu.max" else "")
    tree.put("/sys/fs/cgroup/a/b/cgroup.procs", "")
    tree.files(group, **{"cpu.max": "200000 100000"})
    tree.put(f"{group}/cpu.stat", "usage_usec 5\nnr_periods 100\nnr_throttled 40\nthrottled_usec 9\n")
    quota = list(rules.check_quota(tree.host()))
    assert [(f.id, f.subject) for f in quota] == [("host.cpu-quota", group)]
    assert quota[0].severity == "warning"
    tree.put(f"{group}/cpu.stat", "usage_usec 5\nnr_periods 100\nnr_throttled 0\nthrottled_usec 0\n")
    assert list(rules.check_quota(tree.host())) == []  # how many CPUs there are is not known here
    for n in range(4):
        tree.put(f"/{CPU}/cpu{n}/online", "1\n")
    tree.files(f"/{CPU}", present="0-3", online="0-3", offline="")
    (calm,) = rules.check_quota(tree.host())
    assert (calm.severity, calm.subject) == ("notice", group)  # a container may be meant to have it
    assert calm.title == SessionQuota(cores=2.0, cpus=4).quota_sentence
    for throttled, severity in ((6, "warning"), (5, "notice")):  # from 5 % of the periods on it bites
        tree.put(f"{group}/cpu.stat", f"nr_periods 100\nnr_throttled {throttled}\n")
        assert [f.severity for f in rules.check_quota(tree.host())] == [severity]
    assert calm.remedy[0].undo == (f"echo '200000 100000' > {group}/cpu.max",)
    tree.files(group, **{"cpu.max": "400000 100000"})
    assert list(rules.check_quota(tree.host())) == []  # as many as there are
    (tree.root / group.lstrip("/") / "cpu.stat").unlink()
    with pytest.raises(FactUnreadable, match="a CPU quota is set"):
        list(rules.check_quota(tree.host()))


V2 = "30 1 0:25 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"


def _group(tree: Tree, folder: str, quota: str, stopped: int, periods: int) -> None:
    tree.files(folder, **{"cpu.max": quota})
    tree.put(f"{folder}/cpu.stat", f"usage_usec 5\nnr_periods {periods}\nnr_throttled {stopped}\n")


def test_a_quota_of_another_group_is_found_from_the_root_group(tree: Tree) -> None:
    tree.put("/proc/self/cgroup", "0::/\n").put("/proc/self/mountinfo", V2)
    tree.put("/sys/fs/cgroup/cpu.stat", "usage_usec 5\n")
    batch = "/sys/fs/cgroup/batch.slice"
    _group(tree, batch, "75000 100000", 900, 1000)
    _group(tree, f"{batch}/calm.scope", "150000 100000", 5, 100)  # not more than 5 %
    _group(tree, "/sys/fs/cgroup/young.slice", "50000 100000", 99, 99)  # too few periods
    _group(tree, "/sys/fs/cgroup/free.slice", "max 100000", 500, 1000)  # it had one
    [quota] = rules.check_quota(tree.host())
    assert (quota.id, quota.severity, quota.subject) == ("host.cpu-quota-groups", "warning", batch)
    assert (quota.prove, quota.prove_options) == ("cpuwatch", ("--cgroup", batch))
    assert quota.remedy[0].undo == (f"echo '75000 100000' > {batch}/cpu.max",)
    assert one_thread_cost_sentence(0.75) in quota.title and "33 % longer" in one_thread_cost_sentence(0.75)
    assert one_thread_cost_sentence(0.4).endswith("2.5 × as long") and one_thread_cost_sentence(1.0) == ""
    deep = f"{batch}/a/b"
    tree.files(f"{batch}/a", **{"cpu.max": "max 100000"})
    _group(tree, f"{deep}/c", "100000 100000", 60, 1000)  # the fourth level
    _group(tree, f"{deep}", "max 100000", 0, 0)
    _group(tree, f"{deep}/c/d", "100000 100000", 999, 1000)
    [many] = rules.check_quota(tree.host())
    assert many.subjects == (batch, f"{deep}/c") and len(many.evidence) == 2
    tree.put("/proc/self/cgroup", "0::/batch.slice\n")  # the own group is said once
    assert [(f.id, f.subject) for f in rules.check_quota(tree.host())] == [
        ("host.cpu-quota", batch),
        ("host.cpu-quota-groups", f"{deep}/c"),
    ]


def test_a_quota_of_another_group_of_version_1(tree: Tree) -> None:
    tree.put("/proc/self/cgroup", "1:cpu,cpuacct:/\n")
    folder = "/sys/fs/cgroup/cpu,cpuacct"
    tree.put("/proc/self/mountinfo", f"30 1 0:25 / {folder} rw - cgroup cgroup rw,cpu,cpuacct\n")
    tree.files(folder, **{"cpu.cfs_quota_us": "-1", "cpu.cfs_period_us": "100000"})
    tree.files(f"{folder}/job", **{"cpu.cfs_quota_us": "50000", "cpu.cfs_period_us": "100000"})
    tree.put(f"{folder}/job/cpu.stat", "nr_periods 100\nnr_throttled 40\nthrottled_time 9\n")
    [quota] = rules.check_quota(tree.host())
    assert (quota.id, quota.subject) == ("host.cpu-quota-groups", f"{folder}/job")


@pytest.mark.parametrize(
    ("group", "lasts"),
    [
        ("system.slice/a b.service", "systemctl set-property 'a b.service' CPUQuota="),
        ("batch.slice", "systemctl set-property batch.slice CPUQuota="),
        ("batch.slice/job_7", None),  # not its unit's own quota
        ("docker/0a1b", "systemctl set-property UNIT CPUQuota="),
        (
            "user.slice/user-7.slice/user@7.service/app.slice/x.scope",
            "systemctl --user set-property x.scope CPUQuota=",
        ),
    ],
)
def test_the_unit_of_a_group_is_named(tree: Tree, group: str, lasts: str | None) -> None:
    tree.put("/proc/self/cgroup", f"0::/{group}\n").put("/proc/self/mountinfo", V2)
    _group(tree, f"/sys/fs/cgroup/{group}", "50000 100000", 900, 1000)
    [quota] = rules.check_quota(tree.host())
    [line] = quota.remedy[0].persistent
    assert line.partition("  #")[0] == lasts if lasts else line.startswith("# ")
    assert quota_remedy(quota.subject).persistent == (line,)


def test_a_group_of_version_1_is_said_once_whatever_leads_to_it(tree: Tree) -> None:
    """/sys/fs/cgroup/cpu is a symlink on most hosts, and the hierarchy may be mounted once more."""
    folder, again = "/sys/fs/cgroup/cpu,cpuacct", "/srv/guest/sys/fs/cgroup/cpu,cpuacct"
    mount = f"0:25 / {folder} rw - cgroup cgroup rw,cpu,cpuacct"
    tree.put("/proc/self/mountinfo", f"30 1 {mount}\n31 1 {mount.replace(folder, again)}\n")
    for top in (folder, again):
        for name in ("a", "b"):
            tree.files(f"{top}/{name}", **{"cpu.cfs_quota_us": "50000", "cpu.cfs_period_us": "100000"})
            tree.put(f"{top}/{name}/cpu.stat", "nr_periods 100\nnr_throttled 40\nthrottled_time 9\n")
    tree.link("/sys/fs/cgroup/cpu", "cpu,cpuacct").put("/proc/self/cgroup", "4:cpu,cpuacct:/a\n")
    ids_and_subjects = [(f.id, f.subject) for f in rules.check_quota(tree.host())]
    assert ids_and_subjects == [("host.cpu-quota", f"{folder}/a"), ("host.cpu-quota-groups", f"{folder}/b")]


def test_more_groups_than_are_read_is_said(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    tree.put("/proc/self/cgroup", "0::/\n").put("/proc/self/mountinfo", V2)
    tree.put("/sys/fs/cgroup/cpu.stat", "usage_usec 5\n")
    monkeypatch.setattr(quota_groups, "MAX_GROUPS", 3)
    for n in range(3):
        _group(tree, f"/sys/fs/cgroup/{n}", "50000 100000", 0, 1000)
    assert list(rules.check_quota(tree.host())) == []
    _group(tree, "/sys/fs/cgroup/3", "50000 100000", 0, 1000)
    with pytest.raises(FactUnreadable, match="control groups"):
        list(rules.check_quota(tree.host()))


def test_no_quota_is_not_applicable(tree: Tree) -> None:
    tree.put("/proc/self/cgroup", "0::/a\n").put("/sys/fs/cgroup/a/cgroup.procs", "")
    tree.put("/proc/self/mountinfo", "30 1 0:25 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
    tree.files("/sys/fs/cgroup/a", **{"cpu.max": "max 100000"})
    with pytest.raises(RuleInapplicable, match="no CPU quota"):
        list(rules.check_quota(tree.host()))
