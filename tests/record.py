"""Makes the bundled recordings anew from real runs of today's code: `python -m tests.record [NAME …]` (root).

Each run has a mount namespace, a state directory and, where it needs one, a disk on a loop device of its own; nothing
of the machine is switched, trimmed or loaded with rules. Run it on a machine that does nothing else. What needs other
hardware is recorded in a guest, as the README beside the recordings says, and taken over without what names only that
machine: `python -m tests.record --take NAME FILE`.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from tests.scenarios.box.test_jobs import darshan_text

DEMOS = Path(__file__).parents[1] / "app" / "recordings" / "demos"
RULES = Path(__file__).parent / "fixtures" / "rulesets" / "with" / "firewalld-1.3.nft"
HOSTDX = [sys.executable, "-P", "-m", "hostdx.app.cli"]
INSIDE = "--inside"  # this process has namespaces of its own
TAKE = "--take"
GUESTS_STATE = "/tmp/state"  # its XDG_STATE_HOME
SECRET_FACTS = (
    "command_line",
    "cmdline",
    "boot_parameters",
)  # of this very machine, and of no use to a reader
JOB = Path(__file__).parent / "fixtures" / "job.sh"
SHARED = Path("/var/tmp/scratch")
IMAGE, MEMORY = Path("/mnt/image"), Path("/mnt/memory")
WRITES = Path("/sys/fs/cgroup/blkio/blkio.throttle.write_iops_device")  # control groups of version 1
WRITES_A_SECOND = 500
READS = WRITES.with_name("blkio.throttle.read_iops_device")
READS_A_SECOND = 200


def sh(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


def make_disk(place: Path, file_system: str, size: str, options: str = "defaults") -> str:
    """A file system on a loop device with direct I/O at IMAGE; gone with this mount namespace and `remove_disk`."""
    image = place / "disk.img"
    sh("truncate", "-s", size, str(image))
    loop = sh("losetup", "--direct-io=on", "--find", "--show", str(image))
    sh(f"mkfs.{file_system}", "-q", loop)
    IMAGE.mkdir(parents=True, exist_ok=True)
    sh("mount", "-o", options, loop, str(IMAGE))
    return loop


def remove_disk(loop: str) -> None:
    sh("umount", str(IMAGE))
    sh("losetup", "--detach", loop)
    IMAGE.rmdir()


def run(words: list[str], recording: Path, aside: Callable[[], None] | None = None) -> None:
    began = subprocess.Popen([*HOSTDX, "run", *words, "--yes", "--recording", str(recording)])
    if aside is not None:
        aside()
    if began.wait() != 0:
        raise SystemExit(f"hostdx run {' '.join(words)} ended with {began.returncode}")


def null(place: Path, recording: Path) -> None:
    run(["null", "--dir", str(SHARED)], recording)


def rpfilter(place: Path, recording: Path) -> None:
    sh("ip", "link", "set", "lo", "up")
    sh("nft", "-f", str(RULES))
    run(["rpfilter", "--link", "100"], recording)


def dstate(place: Path, recording: Path) -> None:
    loop = make_disk(place, "xfs", "1G")
    stuck: list[subprocess.Popen[bytes]] = []

    def freeze_disk() -> None:
        time.sleep(6)
        sh("fsfreeze", "--freeze", str(IMAGE))
        stuck.append(subprocess.Popen(["dd", "if=/dev/zero", f"of={IMAGE}/out", "bs=1M", "count=64"]))
        stuck.append(subprocess.Popen(["touch", f"{IMAGE}/other"]))
        time.sleep(22)
        sh("fsfreeze", "--unfreeze", str(IMAGE))

    try:
        run(["dstate", "--seconds", "40"], recording, freeze_disk)
    finally:
        subprocess.run(["fsfreeze", "--unfreeze", str(IMAGE)], capture_output=True)
        for child in stuck:
            child.wait()
        remove_disk(loop)


def fstrim(place: Path, recording: Path) -> None:
    loop = make_disk(place, "xfs", "24G", "nodiscard")
    try:
        (IMAGE / "old").write_bytes(os.urandom(1 << 20) * 800)
        (IMAGE / "old").unlink()
        os.sync()
        run(["fstrim", "--dir", str(IMAGE), "--again"], recording)
    finally:
        remove_disk(loop)


def in_memory(place: Path) -> Path:
    """A directory in memory: what the machine's own disk has to do is not felt there."""
    place.mkdir(parents=True, exist_ok=True)
    sh("mount", "-t", "tmpfs", "-o", "size=2G", "none", str(place))
    return place


def prove(place: Path, recording: Path) -> None:
    """A disk of so many reads a second, as a network volume is: one read of 512 KiB counts as one of 128 KiB."""
    loop = make_disk(in_memory(place / "memory"), "ext4", "8G")
    name = Path(loop).name
    number = Path("/sys/block", name, "dev").read_text().strip()
    READS.write_text(f"{number} {READS_A_SECOND}")
    loads = ("--load", "stream-read")
    Path(f"/sys/block/{name}/queue/read_ahead_kb").write_text("128")  # as most disks have it
    setting = f"block:{name}/read_ahead_kb=4096"
    try:
        run(["prove", "--setting", setting, *loads, "--dir", str(IMAGE), "--budget", "90"], recording)
    finally:
        READS.write_text(f"{number} 0")
        remove_disk(loop)
        sh("umount", str(place / "memory"))


def workload(place: Path, recording: Path) -> None:
    """A disk of so many writes a second."""
    in_memory(MEMORY)
    loop = make_disk(in_memory(place / "memory"), "ext4", "1G")
    number = Path("/sys/block", Path(loop).name, "dev").read_text().strip()
    WRITES.write_text(f"{number} {WRITES_A_SECOND}")
    shutil.copy(JOB, SHARED)
    variants = (f"--variant={name}: TMPDIR={path}" for name, path in (("disk", IMAGE), ("memory", MEMORY)))
    try:
        run(
            [
                "workload",
                "--cmd",
                "./job.sh",
                *variants,
                "--cwd",
                str(SHARED),
                "--budget",
                "235",
                "--seed",
                "5",
                "--call-paths",
            ],
            recording,
        )
    finally:
        WRITES.write_text(f"{number} 0")
        remove_disk(loop)
        for path in (place / "memory", MEMORY):
            sh("umount", str(path))
            path.rmdir()


def box(place: Path, recording: Path) -> None:
    """With a job whose Darshan log says small unaligned records in one shared file."""
    loop = make_disk(place, "xfs", "6G")
    log = SHARED / "job.darshan.txt"
    log.write_text(darshan_text())
    try:
        run(["box", "--dir", str(IMAGE), "--job", str(log)], recording)
    finally:
        remove_disk(loop)


def fullstack(place: Path, recording: Path) -> None:
    loop = make_disk(place, "xfs", "6G")
    try:
        run(["fullstack", "--dir", str(IMAGE), "--budget", "300", "--most-bytes", "48G"], recording)
    finally:
        remove_disk(loop)


MADE = {demo.__name__: demo for demo in (null, rpfilter, dstate, fstrim, prove, workload, box, fullstack)}


def clean_recording(data: bytes, private: str) -> bytes:
    """Without what names this machine only: boot parameters, the release's local suffix, our own state directory,
    loop devices on images of others and what is mounted from them.
    """
    release = os.uname().release
    events = [(line, msgspec.json.decode(line)) for line in data.splitlines()]
    facts = [event for _, event in events if event["type"] == "fact"]
    images = [fact for fact in facts if fact["name"] == "backing_file"]
    others = {fact["subject"] for fact in images if not str(fact["value"]).startswith(private)}
    others |= {
        fact["subject"]
        for fact in facts
        if fact["name"] == "source" and str(fact["value"]).replace("/dev/", "disk:") in others
    }
    lines = []
    for line, event in events:
        if event["type"] in ("fact", "absent") and event.get("subject") in others:
            continue
        if event["type"] == "fact" and event["name"].endswith(SECRET_FACTS):
            continue
        lines.append(line.replace(release.encode(), release.partition("-")[0].encode()))
    text = b"\n".join(lines).replace(private.encode(), b"/var/lib") + b"\n"
    if (cwd := str(Path.cwd())).encode() in text:
        raise SystemExit(f"a path of this machine stands in the recording: {cwd}")
    return text


def record(name: str) -> None:
    """In namespaces of its own: see `main`."""
    SHARED.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="record-") as private:
        place = Path(private)
        for variable in ("XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
            (place / variable).mkdir(mode=0o700)
            os.environ[variable] = str(place / variable)
        recording = place / "recording.jsonl"
        try:
            MADE[name](place, recording)
            (DEMOS / f"{name}.jsonl").write_bytes(clean_recording(recording.read_bytes(), private))
        finally:
            shutil.rmtree(SHARED)


def main() -> None:
    if sys.argv[1:2] == [INSIDE]:
        return record(sys.argv[2])
    if sys.argv[1:2] == [TAKE]:
        name, file = sys.argv[2:]
        (DEMOS / f"{name}.jsonl").write_bytes(clean_recording(Path(file).read_bytes(), GUESTS_STATE))
        return None
    names = sys.argv[1:] or list(MADE)
    if unknown := [name for name in names if name not in MADE]:
        raise SystemExit(f"no such recording: {', '.join(unknown)}; there are {', '.join(MADE)}")
    for name in names:
        spaces = ["--mount", *(["--net"] if name == "rpfilter" else [])]
        subprocess.run(["unshare", *spaces, sys.executable, "-m", "tests.record", INSIDE, name], check=True)
    return None


if __name__ == "__main__":
    main()
