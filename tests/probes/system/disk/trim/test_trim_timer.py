"""Who trims by itself: systemd's timer in all its states, cron, and what fstab leaves out."""

import pytest

from hostdx.probes.system.disk.trim.trim_jobs import TrimJob, explain_fstab_skip, explain_job_skip, trim_calls
from tests.every_case import every_case
from tests.fakes.hosts.tree import Tree


@pytest.mark.parametrize("text", ["", "# nothing\n\n"])
def test_an_empty_fstab_leaves_nothing_out(tree: Tree, text: str) -> None:
    """fstrim --listed-in takes the next file then (fstrim(8))."""
    assert explain_fstab_skip(tree.put("/etc/fstab", text).host(), ("/data",)) == ""


@every_case(
    ("text", "calls"),
    [
        ("fstrim -av", [("all", ())]),
        ("/sbin/fstrim --all || true", [("all", ())]),
        ("/usr/sbin/fstrim --listed-in /etc/fstab:/proc/self/mountinfo --verbose", [("listed", ())]),
        ("fstrim -I /proc/self/mountinfo", [("all", ())]),
        ("fstrim -A", [("listed", ())]),
        ("0 3 * * * root fstrim -v /data >> /var/log/trim 2>&1", [("paths", ("/data",))]),
        ("fstrim / && fstrim -m 1M /home", [("paths", ("/",)), ("paths", ("/home",))]),
        ("sh -c 'fstrim -v /data'", [("paths", ("/data",))]),
        ("for m in / /data; do fstrim -v $m; done", [("unknown", ())]),
        ("exec fstrim-all", [("all", ())]),
        ("[ -x /sbin/fstrim ] || exit 0\n/sbin/fstrim -v '/my data'", [("paths", ("/my data",))]),
        ("# fstrim -a", []),
        ("fstrim -n -a", [("unknown", ())]),
        ("fstrim 'unclosed", [("unknown", ())]),
    ],
)  # fmt: skip
def test_what_a_call_reaches(text: str, calls: list[tuple[str, tuple[str, ...]]]) -> None:
    assert [(job.reach, job.paths) for job in trim_calls(text, "x")] == calls


def test_a_call_reaches_the_file_system_that_its_path_lies_on(tree: Tree) -> None:
    tree.put(
        "/proc/self/mountinfo", "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 8:2 / /data rw - xfs /dev/sda2 rw\n"
    )
    job = TrimJob(where="/etc/crontab", reach="paths", paths=("/data/deep",))
    assert explain_job_skip(tree.host(), job, ("/data",)) == ""
    assert explain_job_skip(tree.host(), job, ("/",)) == "/etc/crontab trims only /data/deep"
