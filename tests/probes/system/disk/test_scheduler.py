"""The scheduler and who chose it, from captured trees."""

from pathlib import Path

from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.scheduler import SchedulerState, read_scheduler_state
from hostdx.probes.system.disk.scheduler_origin import find_scheduler_origin
from tests.every_case import every_case


def host_of(root: Path, files: dict[str, str]) -> Host:
    for path, text in files.items():
        target = root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    (root / "proc").mkdir(exist_ok=True)
    return Host(str(root))


def disk_files(active: str = "none [mq-deadline] kyber bfq ", queues: int = 1) -> dict[str, str]:
    return {
        "/sys/block/sda/queue/scheduler": active + "\n",
        "/sys/block/sda/queue/nr_requests": "64\n",
        "/sys/block/sda/queue/wbt_lat_usec": "75000\n",
        "/sys/block/sda/queue/rotational": "1\n",
        "/sys/block/sda/queue/zoned": "none\n",
        "/sys/block/sda/queue/iosched/read_expire": "500\n",
        "/sys/block/sda/inflight": "       3        12\n",
    } | {f"/sys/block/sda/mq/{n}/nr_tags": "64\n" for n in range(queues)}


def read_state(host: Host) -> SchedulerState:
    read = read_scheduler_state(host, "sda")
    assert isinstance(read, SchedulerState)
    return read


UDEV = (
    'ACTION=="add|change", KERNEL=="{name}", ATTR{{queue/rotational}}=="{rota}", '
    'ATTR{{queue/scheduler}}="{to}"\n'
)
TUNED = "[main]\ninclude=throughput-performance\n[disk]\nelevator={}\n"


@every_case(
    ("active", "queues", "files", "kind", "source"),
    [
        ("[mq-deadline] none", 1, {}, "default", "/sys/block/sda/mq"),
        ("mq-deadline [none]", 8, {}, "default", "/sys/block/sda/mq"),
        ("mq-deadline [bfq]", 1, {}, "unknown", ""),
        (
            "mq-deadline [bfq]",
            1,
            {"/etc/udev/rules.d/60-io.rules": UDEV.format(name="sd[a-z]|hd*", rota=1, to="bfq")},
            "udev",
            "/etc/udev/rules.d/60-io.rules",
        ),
        (  # the rule is for another device
            "mq-deadline [bfq]",
            1,
            {"/etc/udev/rules.d/60-io.rules": UDEV.format(name="nvme*", rota=1, to="bfq")},
            "unknown",
            "",
        ),
        (  # the rule is for disks that do not rotate
            "mq-deadline [bfq]",
            1,
            {"/etc/udev/rules.d/60-io.rules": UDEV.format(name="sd*", rota=0, to="bfq")},
            "unknown",
            "",
        ),
        (  # a comment is no rule, and an empty file in /etc hides the one below
            "mq-deadline [bfq]",
            1,
            {
                "/etc/udev/rules.d/60-io.rules": "# " + UDEV.format(name="sd*", rota=1, to="bfq"),
                "/usr/lib/udev/rules.d/60-io.rules": UDEV.format(name="sd*", rota=1, to="bfq"),
            },
            "unknown",
            "",
        ),
        (
            "mq-deadline [bfq]",
            1,
            {"/etc/tuned/active_profile": "ours\n", "/etc/tuned/ours/tuned.conf": TUNED.format("bfq")},
            "tuned",
            "/etc/tuned/ours/tuned.conf",
        ),
        (  # tuned 2.23 and later keep profiles below profiles/; ours includes the one that sets it
            "mq-deadline [bfq]",
            1,
            {
                "/etc/tuned/active_profile": "ours\n",
                "/etc/tuned/profiles/ours/tuned.conf": "[main]\ninclude=base\n",
                "/usr/lib/tuned/profiles/base/tuned.conf": TUNED.format("bfq"),
            },
            "tuned",
            "/usr/lib/tuned/profiles/base/tuned.conf",
        ),
        ("noop [deadline]", 1, {"/proc/cmdline": "ro elevator=deadline quiet"}, "boot", "/proc/cmdline"),
        (  # kernels from 5.0 on do not heed it: the default is the default
            "[mq-deadline] none",
            1,
            {"/proc/cmdline": "ro elevator=mq-deadline", "/proc/sys/kernel/osrelease": "6.1.0-18-amd64"},
            "default",
            "/sys/block/sda/mq",
        ),
        (  # nor does the multi-queue layer of 4.18
            "[mq-deadline] none bfq",
            1,
            {"/proc/cmdline": "elevator=deadline", "/proc/sys/kernel/osrelease": "4.18.0-348.el8"},
            "default",
            "/sys/block/sda/mq",
        ),
    ],
)
def test_who_chose_it(
    tmp_path: Path, active: str, queues: int, files: dict[str, str], kind: str, source: str
) -> None:
    host = host_of(tmp_path, disk_files(active, queues) | files)
    reason = find_scheduler_origin(host, read_state(host))
    assert (reason.kind, reason.source) == (kind, source)


def test_profiles_that_include_each_other_end(tmp_path: Path) -> None:
    loop = "[main]\ninclude=ours\n"
    files = {"/etc/tuned/active_profile": "ours\n", "/etc/tuned/ours/tuned.conf": loop}
    host = host_of(tmp_path, disk_files("none [bfq]") | files)
    assert find_scheduler_origin(host, read_state(host)).kind == "unknown"
