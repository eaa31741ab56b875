"""The plan of a scheduler comparison and its findings."""

from pathlib import Path

import msgspec
import pytest

from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.scheduler_origin import SchedulerOrigin
from hostdx.probes.system.disk.topology import DirectoryPlacement, find_placement
from hostdx.probes.types import Absent
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.model import OptionMap, UsageError
from hostdx.scenarios.experiment.budget import TimeBudget
from hostdx.scenarios.iosched import scheduler_setup as iosched_layout
from hostdx.scenarios.iosched.findings import verdict_finding
from hostdx.scenarios.iosched.plan import _left_out_lines, _needed_seconds_lines, _sentences_of_switch
from hostdx.scenarios.iosched.remedies import make_scheduler_remedy, udev_rule_of_device
from hostdx.scenarios.iosched.scenario import Iosched
from hostdx.scenarios.iosched.scheduler_setup import (
    SchedulerSetup,
    choose_scheduler_setup,
    needed_seconds,
    pace_factor_of,
)
from hostdx.scenarios.iosched.target import ScheduledDisks, find_scheduled_disks
from tests.every_case import every_case
from tests.fakes import FakeRun
from tests.scenarios.iosched.test_scenario import host_of, target_on

SIZE = 1 << 30


@pytest.fixture
def plan_setup(tmp_path, monkeypatch):  # type: ignore[no-untyped-def]
    """`layout` on a fake target: what the host would refuse is not the question here."""
    host = host_of(tmp_path)

    class Fit:
        refusal = ""
        size_bytes = SIZE
        notes = ()
        placement = target_on(host).place

    monkeypatch.setattr(iosched_layout, "check_suitability", lambda *args, **more: Fit())
    monkeypatch.setattr(
        iosched_layout, "find_scheduled_disks", lambda host, directory, place: target_on(host)
    )
    monkeypatch.setattr(iosched_layout, "find_switch_refusal", lambda *args, **more: "")

    def plan(**values: object) -> SchedulerSetup:
        return choose_scheduler_setup(
            host, OptionMap({"dir": "/d", **values}, Iosched.options), has_root=True
        )  # type: ignore[dict-item]

    return plan


def test_a_budget_that_is_too_short_names_what_is_not_measured(plan_setup) -> None:  # type: ignore[no-untyped-def]
    setup = plan_setup(scheduler=["bfq", "none"], budget=480)
    assert {job.variant for job in setup.too_long_jobs} == {"none"}
    left_out = _left_out_lines(setup, setup.target)
    assert "eight random readers (none)" in left_out[0] and "not within 480 s" in left_out[0]
    needed_s = float(left_out[0].split("--budget ")[1].split()[0])
    assert not plan_setup(scheduler=["bfq", "none"], budget=needed_s).too_long_jobs
    seconds = _needed_seconds_lines(setup)
    assert len(seconds) == 2 and "needs for bfq at least 471 s" in seconds[0]


def test_a_host_that_switches_slowly_keeps_more_for_the_loads_behind(plan_setup) -> None:  # type: ignore[no-untyped-def]
    first, *_, last = plan_setup(budget=900).jobs
    needed_s = needed_seconds(first.workload)
    blocks = [
        ev.Block(t=0.0, workload="w", variant="a", group=n, index=n, seconds=1.0, values={}) for n in range(8)
    ]
    pace = pace_factor_of(first.workload, blocks, 3.0 * needed_s)
    assert pace == pytest.approx(1.5), "eight groups in three times what four need"
    assert pace_factor_of(first.workload, blocks[:3], 999.0) == 0.0, "too few groups tell nothing"
    clock = FakeRun().clock
    shares = [
        Iosched._job_seconds(TimeBudget(900.0, clock), [last, last], None, pace) for pace in (1.0, pace)
    ]  # type: ignore[arg-type]
    assert shares[0] - shares[1] == pytest.approx(0.5 * needed_seconds(last.workload))


def test_only_a_hard_disk_gets_many_writers_by_itself(plan_setup, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    assert "write-streams" not in {job.mix.id for job in plan_setup(scheduler=["bfq"]).jobs}
    assert (
        "eight sequential writers" in _left_out_lines(plan_setup(scheduler=["bfq"]), plan_setup().target)[-1]
    )
    monkeypatch.setattr(iosched_layout, "has_hard_disk", lambda target: True)
    setup = plan_setup(scheduler=["bfq"])
    (job,) = (j for j in setup.jobs if j.mix.id == "write-streams")
    assert [m.name for m in job.workload.metrics if m.judged] == ["write MB/s"]
    assert job.workload.block_s == 15 and job.workload.onset_s == 5
    assert not setup.too_long_jobs  # and the default budget grows with it


def test_what_is_not_compared_is_no_difference() -> None:
    assert len(_sentences_of_switch(("mq-deadline", "none"))) == 1
    assert any("throttling" in line for line in _sentences_of_switch(("mq-deadline", "bfq")))


def test_priorities_are_measured_when_asked_for(plan_setup) -> None:  # type: ignore[no-untyped-def]
    setup = plan_setup(scheduler=["bfq"], ioprio=True, budget=600)
    last = setup.jobs[-1].workload
    assert last.id == "ioprio" and last.metrics[0].name == "high/low" and last.metrics[0].judged
    assert not any(m.judged for m in last.metrics[1:])


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"scheduler": ["cfq"]}, "does not offer cfq"),
        ({"scheduler": ["bfq"], "budget": 60}, "too short"),
        ({"scheduler": ["bfq"], "load": ["nothing"]}, "no load nothing"),
    ],
)
def test_a_wrong_request_is_said(plan_setup, values: dict[str, object], words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UsageError, match=words):
        plan_setup(**values)


def multipath_host(root: Path, second: str = "[mq-deadline] none bfq") -> Host:
    """A multipath device over two paths, as request-based dm shows it: with a scheduler file of its own."""
    devices = root / "sys/devices/virtual/block"
    for name, number, scheduler in (
        ("dm-0", "253:0", "[none] mq-deadline bfq"),
        ("sda", "8:0", "[mq-deadline] kyber none bfq"),
        ("sdb", "8:16", second),
    ):
        queue = devices / name / "queue"
        queue.mkdir(parents=True)
        (queue / "scheduler").write_text(scheduler + "\n")
        (queue.parent / "dev").write_text(number + "\n")
        (queue.parent / "size").write_text("2000000\n")
        for place in ("sys/block", "sys/class/block"):
            (root / place).mkdir(parents=True, exist_ok=True)
            (root / place / name).symlink_to(f"/sys/devices/virtual/block/{name}")
        (root / "sys/dev/block").mkdir(parents=True, exist_ok=True)
        (root / "sys/dev/block" / number).symlink_to(f"../../devices/virtual/block/{name}")
    (devices / "dm-0/dm").mkdir()
    (devices / "dm-0/dm/uuid").write_text("mpath-3600508\n")
    slaves = devices / "dm-0/slaves"
    slaves.mkdir()
    for name in ("sda", "sdb"):
        (slaves / name).symlink_to(f"../../{name}")
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/mountinfo").write_text("30 1 253:0 / /data rw - xfs /dev/mapper/mp rw\n")
    return Host(str(root))


def _target(host: Host) -> ScheduledDisks | Absent:
    place = find_placement(host, "/data")
    assert isinstance(place, DirectoryPlacement)
    return find_scheduled_disks(host, "/data", place)


def test_paths_that_differ_are_not_compared(tmp_path: Path) -> None:
    target = _target(multipath_host(tmp_path, "mq-deadline [none] bfq"))
    assert isinstance(target, Absent) and target.reason


def verdict(word: str, metric: str = "IOPS", *, control: bool = False) -> ev.RunVerdict:
    return ev.RunVerdict(
        t=1.0,
        workload=metric,
        metric=metric,
        baseline="mq-deadline",
        variant="bfq",
        verdict=word,  # type: ignore[arg-type]
        ratio=0.8,
        ci95=(0.7, 0.9),
        groups=5,
        control=control,
    )


ROWS = [
    (["faster", "no material difference"], "no material difference", "warning", "is faster than", True),
    (["slower", "no material difference"], "no material difference", "ok", "keep mq-deadline", False),
    (["slower", "inconclusive"], "no material difference", "ok", "is slower than mq-deadline", False),
    (["faster", "inconclusive"], "no material difference", "warning", "inconclusive for m1", True),
    (["faster", "slower"], "no material difference", "notice", "is faster for", True),
    (["no material difference"], "no material difference", "ok", "no material difference", False),
    (
        ["no material difference", "inconclusive"],
        "inconclusive",
        "notice",
        "no material difference for m0; inconclusive for m1",
        False,
    ),
    (["faster"], "slower", "notice", "do not trust", False),  # the control moved
]


@every_case(("words", "control", "severity", "title", "remedy"), ROWS)
def test_a_pair_is_summed_up(
    tmp_path: Path, words: list[str], control: str, severity: str, title: str, remedy: bool
) -> None:
    host = host_of(tmp_path)
    verdicts = [verdict(w, f"m{n}") for n, w in enumerate(words)] + [verdict(control, "cpu", control=True)]
    finding = verdict_finding(host, target_on(host), "bfq", verdicts)
    assert finding.severity == severity and title in finding.title
    assert bool(finding.remedy) == remedy
    assert len(finding.evidence) == len(verdicts)


def test_what_would_decide_it_is_a_command(tmp_path: Path) -> None:
    host = host_of(tmp_path)
    open_one = msgspec.structs.replace(
        verdict("inconclusive"), workload="readers-bfq", seconds_to_decide=2935.0
    )
    options = "--scheduler bfq --load readers --budget 2940"
    assert verdict_finding(host, target_on(host), "bfq", [open_one]).evidence[0].text.endswith(options)


def test_every_disk_has_a_rule_of_its_own_that_its_undo_takes_away(tmp_path: Path) -> None:
    """Two remedies that write one file: the second takes the first one's rule away."""
    host = Host(str(tmp_path))
    first, second = (make_scheduler_remedy(host, name, "bfq", "none", None, None) for name in ("sdb", "sdc"))
    files = [
        {w for line in r.persistent for w in line.split() if w.startswith("/etc/")} for r in (first, second)
    ]
    assert files[0] and files[1] and not files[0] & files[1]
    for remedy, written in zip((first, second), files, strict=True):
        assert all(any(f"rm -f {file}" == line for line in remedy.undo) for file in written)
    assert 'KERNEL=="sdb"' in udev_rule_of_device("sdb", "bfq")


def test_a_remedy_is_whole_and_names_who_would_undo_it(tmp_path: Path) -> None:
    host = Host(str(tmp_path))
    rule = SchedulerOrigin("udev", "a rule", "/etc/udev/rules.d/60-x.rules", "none")
    remedy = make_scheduler_remedy(host, "sdb", "bfq", "none", True, rule)
    assert remedy.commands == ("echo bfq > /sys/block/sdb/queue/scheduler",)
    text = "\n".join(remedy.persistent)
    assert "/etc/modules-load.d/hostdx-sdb.conf" in text and "udevadm trigger" in text
    assert 'ATTR{queue/rotational}=="1"' in text and 'ATTR{queue/scheduler}="bfq"' in text
    assert "/etc/udev/rules.d/60-x.rules" in remedy.warning
    assert "echo none > /sys/block/sdb/queue/scheduler" in remedy.undo
