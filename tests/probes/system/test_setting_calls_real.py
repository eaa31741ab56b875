"""Settings that are no files: each is read, set and set back on cards, mounts and a process of the test's own."""

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hostdx.probes.reading.process_stat import read_start_ticks
from hostdx.probes.system import setting_calls
from tests.needs import NET_NAMESPACE, ROOT, needs, not_here, program

pytestmark = [pytest.mark.real, needs(ROOT, NET_NAMESPACE, program("unshare", "ip"))]

CARDS = """
ip link add hdxa type veth peer name hdxb && ip link set hdxa up && ip link set hdxb up || exit 9
ip tuntap add hdxt mode tap && ip link set hdxt up
exec "$@"
"""
SWITCH = """
import json, sys
from hostdx.probes.system import setting_calls
answers = {}
for target, value in json.load(sys.stdin).items():
    try:
        own = setting_calls.read_by_call(target)
        setting_calls.write_by_call(target, value)
        new = setting_calls.read_by_call(target)
        setting_calls.write_by_call(target, own)
        answers[target] = [own, new, setting_calls.read_by_call(target)]
    except OSError as error:
        answers[target] = error.errno
print(json.dumps(answers))
"""
SETTINGS = {
    "offload:hdxa/gso": "off",
    "offload:hdxa/gro": "on",
    "qdisc:hdxa": "pfifo",
    "coalesce:hdxt/rx-frames": "16",
}
REFUSED = {
    "ring:hdxa/rx": "256",
    "adaptive:hdxa/rx": "on",
    "qdisc:hdxt": "no_such_discipline",
    "qdisc:hdxc": "pfifo",
}
WHY = (errno.EOPNOTSUPP, errno.EOPNOTSUPP, errno.EINVAL, errno.ENODEV)


def test_settings_of_cards_are_switched_and_put_back() -> None:
    done = subprocess.run(
        ["unshare", "--net", "sh", "-c", CARDS, "sh", sys.executable, "-c", SWITCH],
        input=json.dumps(SETTINGS | REFUSED),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    if done.returncode == 9:
        not_here(f"no veth pair: {done.stderr}")
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    for target, value in SETTINGS.items():
        if isinstance(answers[target], int):
            assert target.startswith("coalesce:"), (
                target,
                os.strerror(answers[target]),
            )  # no TUN device here
            continue
        old, new, back = answers[target]
        assert new == value != old == back, target
    assert tuple(answers[target] for target in REFUSED) == WHY


@pytest.fixture
def own_mount(tmp_path: Path) -> Path:
    mountpoint = tmp_path / "a mount"
    mountpoint.mkdir()
    return mountpoint


def test_access_times_of_a_mount_are_switched_and_put_back(own_mount: Path) -> None:
    inside = 'mount -t tmpfs none "$1" && shift && exec "$@"'
    target = f"atime:{own_mount}"
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", inside, "sh", str(own_mount), sys.executable, "-c", SWITCH],
        input=json.dumps({target: "noatime"}),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    old, new, back = json.loads(done.stdout)[target]
    assert new == "noatime" != old == back
    with pytest.raises(FileNotFoundError):
        setting_calls.read_by_call(target)


THREADS = """
import threading, time
threading.Thread(target=time.sleep, args=(60,)).start()
print(flush=True)
time.sleep(60)
"""


def test_the_nice_value_of_all_threads_is_switched_and_an_ended_process_is_known() -> None:
    process = subprocess.Popen([sys.executable, "-c", THREADS], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None and process.stdout.readline()
        threads = [int(thread.name) for thread in Path(f"/proc/{process.pid}/task").iterdir()]
        assert len(threads) == 2
        target = setting_calls.target_with_process_start(f"nice:{process.pid}")
        old = setting_calls.read_by_call(target)
        setting_calls.write_by_call(target, "9")
        assert {os.getpriority(os.PRIO_PROCESS, thread) for thread in threads} == {9}
        setting_calls.write_by_call(target, old)
        assert setting_calls.read_by_call(target) == old
        os.setpriority(os.PRIO_PROCESS, threads[1], 5)
        assert setting_calls.read_by_call(target) == ",".join(sorted((old, "5"), key=int))
    finally:
        process.kill()
        process.communicate()
    with pytest.raises(FileNotFoundError):
        setting_calls.read_by_call(target)
    with pytest.raises(FileNotFoundError):  # the number of another process
        setting_calls.read_by_call(f"nice:{os.getpid()}/1")


STARTER = """
import subprocess, sys
for line in sys.stdin:
    print(subprocess.Popen(["sleep", "60"], stdout=subprocess.DEVNULL).pid, flush=True)
"""


def test_what_a_process_starts_meanwhile_gets_the_old_value_back() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", STARTER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    children: list[int] = []

    def start_child() -> int:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write("\n")
        process.stdin.flush()
        children.append(int(process.stdout.readline()))
        return children[-1]

    try:
        early, target = start_child(), setting_calls.target_with_process_start(f"nice:{process.pid}")
        old = setting_calls.read_by_call(target)
        setting_calls.write_by_call(target, "9")
        late, began = start_child(), read_start_ticks(process.pid)
        name = f"nice-children:{process.pid}/{began}/{began}/9"
        assert setting_calls.read_by_call(name) == f"sleep ({late})"
        assert setting_calls.read_by_call(f"nice-children:{process.pid}/{began}/{1 << 60}/9") == ""
        assert setting_calls.read_by_call(f"nice-children:{process.pid}/1/{began}/9") == ""  # another process
        setting_calls.write_by_call(name, old)
        assert {os.getpriority(os.PRIO_PROCESS, child) for child in (early, late)} == {int(old)}
        last = start_child()
        process.kill()
        process.wait()
        assert setting_calls.read_by_call(name) == f"sleep ({last})"  # of its session, though it has ended
    finally:
        process.kill()
        process.wait()
        for child in children:
            os.kill(child, signal.SIGKILL)
