"""What got worse since a baseline, as one finding: losses only, worst first, with what else changed."""

from __future__ import annotations

from scenarios.analysis.compare.comparison import compare_recordings
from scenarios.analysis.compare.worse import worse_effects, worse_finding
from tests.fakes.streams.takes import take

OLD = {("kernel", "release"): "5.10.0", ("directory", "file_system"): "ext4"}
NEW = {("kernel", "release"): "6.1.0", ("directory", "file_system"): "xfs"}


def test_losses_are_a_warning_the_worst_first_with_what_changed() -> None:
    a = take({"syscall": 1000.0, "fork": 1000.0, "pipe": 1000.0}, name="a", facts=OLD)
    b = take({"syscall": 500.0, "fork": 200.0, "pipe": 5000.0}, name="b", boot="n1/2", facts=NEW)
    found = compare_recordings([a], [b])
    assert [e.key.workload for e in worse_effects(found)] == ["fork", "syscall"]
    told = worse_finding(found, "july", "b.jsonl")
    assert told.severity == "warning"
    assert all(said in told.title for said in ("2 of 3", "july", "fork (5 × slower)"))
    texts = [e.text for e in told.evidence]
    assert texts[0] == "the baseline has 1 run, the last of 2026-11-20"
    assert texts[-2] == "faster: 1, most of all pipe (5 × faster)"
    assert texts[-1] == "changed since: kernel, file system; this cannot be attributed to one of them"
    assert told.remedy[0].commands == ("hostdx compare --against july b.jsonl",)


def test_no_loss_is_said_with_what_stayed_open() -> None:
    a, b = (
        take({"syscall": 1000.0, "fork": rate}, name=n, boot=n) for n, rate in (("a", 100.0), ("b", 900.0))
    )
    told = worse_finding(compare_recordings([a], [b]), "july", "b.jsonl")
    assert told.severity == "ok"
    assert "july" in told.title


def test_another_hosts_baseline_is_named() -> None:
    found = compare_recordings([take({"syscall": 1.0}, host="reference")], [take({"syscall": 1.0}, name="b")])
    assert "reference" in worse_finding(found, "site", "b.jsonl").evidence[0].text
