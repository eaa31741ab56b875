"""Both of the README's commands on a bare Debian: what a newcomer's machine has, and nothing that was installed here.

    python -m tests.fresh_machine [--release bookworm|trixie] [--user|--used] [--no-reaper]

The bare system is made once by debootstrap (a minute, 400 MiB in $TMPDIR, else /var/tmp) and lies below an overlay for
each run; the mounts and processes live in name spaces of their own and go with it. With --used: on a machine where root
ran hostdx before. With --user: as a user without rights there.
With --no-reaper: process 1 waits for the command alone, as in most containers, so orphans that ended stay zombies.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.needs import MOUNT_NAMESPACE, ROOT, missing_of, program

ROOT_OF_THE_TREE = Path(__file__).resolve().parents[1]
BARE = "python3-venv,git,ca-certificates,procps"  # what the README asks for, and `ps`
COMMANDS = re.compile(r"^```\n(python3 -m venv [^\n]+)\n```$", re.MULTILINE)
PASSED_ON = ("PIP_", "SSL_CERT", "REQUESTS_CA", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# $1: the folder of this run, $2: the bare system, $3: the user, $4: used or new, $5: what process 1 does with orphans,
# the rest: the command.
INSIDE = r"""
run=$1 base=$2 user=$3 state=$4 orphans=$5 r=$1/root; shift 5
mkdir "$run/up" "$run/work" "$r" "$run/disk"
mount -t overlay overlay -o "lowerdir=$base,upperdir=$run/up,workdir=$run/work" "$r"
mount -t proc proc "$r/proc"
mount --rbind /sys "$r/sys"
mount --rbind /dev "$r/dev"
mount --bind "$run/disk" "$r/var/tmp"
chmod 1777 "$r/var/tmp"
cp /etc/resolv.conf /etc/hosts "$r/etc/"
cp -r /etc/ssl/certs/. "$r/etc/ssl/certs/" 2>/dev/null || :
[ ! -e /etc/pip.conf ] || cp /etc/pip.conf "$r/etc/"
chroot "$r" useradd -m admin
tar x -f - -C "$r/home/admin" --no-same-owner --one-top-level=hostdx
chroot "$r" chown -R "$user" /home/admin
if [ "$state" = used ]; then
  mkdir -p -m 755 "$r/run/hostdx"
  mkdir -p -m 700 "$r/var/lib/hostdx/recordings" "$r/var/lib/hostdx/journal"
  install -m 600 /dev/null "$r/run/hostdx/measuring.lock"
fi
who=
[ "$user" = root ] || who="setpriv --reuid=$user --regid=$user --init-groups"
if [ "$orphans" = kept ]; then
  exec perl -e 'my $child = fork // die; exec @ARGV if !$child; waitpid $child, 0; exit $? >> 8' chroot "$r" $who "$@"
fi
chroot "$r" $who "$@" && exit 0 || exit $?  # this shell stays, as process 1, and takes the orphans
"""


def bare_system(release: str) -> Path:
    """Where it lies; made if it is not there yet. Raises OSError with debootstrap's last line."""
    place = Path(tempfile.gettempdir() if os.environ.get("TMPDIR") else "/var/tmp")
    root = place / f"hostdx-bare-{release}"
    if (root / "made").exists():
        return root
    words = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(SITE)"], capture_output=True, text=True, check=True
    ).stdout.split()
    mirror = next((site for site in words if re.search(r"debian/?$", site) and "security" not in site), "")
    print(f"making a bare {release} in {root} (debootstrap, a minute)", flush=True)
    subprocess.run(["rm", "-rf", "--one-file-system", str(root)], check=True)
    argv = [
        "debootstrap",
        "--variant=minbase",
        f"--include={BARE}",
        release,
        str(root),
        *filter(None, [mirror]),
    ]
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode:
        raise OSError((done.stdout + done.stderr).strip().splitlines()[-1])
    (root / "made").touch()
    return root


def run_fresh(root: Path, user: str, state: str, orphans: str, command: str) -> int:
    """Its exit status, on a machine of its own with a copy of this tree."""
    listing = ["git", "-c", "safe.directory=*", "ls-files", "-coz", "--exclude-standard"]
    files = subprocess.run(listing, cwd=ROOT_OF_THE_TREE, capture_output=True, check=True).stdout
    passed = {
        k: v for k, v in os.environ.items() if k.upper().startswith(PASSED_ON) and k != "PIP_FIND_LINKS"
    }
    settings = {"PATH": PATH, "HOME": "/home/admin", "LANG": "C.UTF-8", "TERM": "xterm-256color", **passed}
    shell = [
        "env",
        "-i",
        *(f"{k}={v}" for k, v in settings.items()),
        "bash",
        "-c",
        f"cd ~/hostdx && {command}",
    ]
    with tempfile.TemporaryDirectory(prefix="hostdx-run-", dir=root.parent) as run:
        Path(run).chmod(0o711)
        tree = Path(run, "tree.tar")
        pack = ["tar", "c", "--null", "--ignore-failed-read", "-f", str(tree), "-T", "-"]
        subprocess.run(pack, cwd=ROOT_OF_THE_TREE, input=files, check=True)
        inside = ["bash", "-euc", INSIDE, "inside", run, str(root), user, state, orphans, *shell]
        argv = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", *inside]
        with tree.open("rb") as archive:
            return subprocess.run(argv, stdin=archive).returncode


def main() -> int:
    about = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m tests.fresh_machine", description=about)
    parser.add_argument(
        "--release", choices=("bookworm", "trixie"), default="bookworm", help="Debian 12 or 13"
    )
    parser.add_argument("--used", action="store_true", help="where root ran hostdx before")
    parser.add_argument("--user", action="store_true", help="as a user, where root ran hostdx before")
    parser.add_argument("--no-reaper", action="store_true", help="process 1 does not wait for orphans")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # with what runs in the machine
    tools = program("debootstrap", "apt-get", "git", "unshare", "mount", "chroot", "tar")
    if lacking := missing_of(ROOT, tools, MOUNT_NAMESPACE):
        print(
            f"fresh_machine: {lacking}; it needs root on a Debian (`apt-get install debootstrap git`)",
            file=sys.stderr,
        )
        return 3
    commands = COMMANDS.findall((ROOT_OF_THE_TREE / "README.md").read_text(encoding="utf-8"))
    assert len(commands) == 2, "the README has two commands"
    try:
        root = bare_system(options.release)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"fresh_machine: no bare {options.release}: {error}", file=sys.stderr)
        return 3
    worst = 0
    user, state = "admin" if options.user else "root", "used" if options.user or options.used else "new"
    orphans = "kept" if options.no_reaper else "reaped"
    for command in commands:
        print(f"== {options.release}, {user}, {state}, orphans {orphans}: {command}", flush=True)
        began = time.monotonic()
        status = run_fresh(root, user, state, orphans, command)
        print(f"== exit status {status} after {time.monotonic() - began:.0f} s", flush=True)
        worst = max(worst, status)
    return worst


if __name__ == "__main__":
    sys.exit(main())
