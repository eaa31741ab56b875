"""What is said about a pair of schedulers: rows of verdicts, and remedies that fit the host."""

from pathlib import Path

import msgspec

from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.scheduler_origin import SchedulerOrigin
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.iosched.findings import verdict_finding
from hostdx.scenarios.iosched.remedies import bfq_throughput_remedy, make_scheduler_remedy, udev_rule
from tests.every_case import every_case
from tests.scenarios.iosched.test_scenario import host_of, target_on


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
    assert 'KERNEL=="sdb"' in udev_rule("sdb", "bfq")


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


def test_bfqs_settings_can_be_taken_back() -> None:
    remedy = bfq_throughput_remedy("sdb")
    assert len(remedy.commands) == len(remedy.undo) == 2
