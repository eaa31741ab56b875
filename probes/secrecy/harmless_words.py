"""Which words of a command line are known to be harmless; every other word is left out of what is kept.

`probes.secrecy.secrets` masks what looks like a secret. A secret that looks like any other word passes there, so here
it is the other way round: a program, a path, a number, the name of an option or a word of this list is kept.
"""

# ruff: noqa: SIM905
import re
import shlex
from collections.abc import Collection, Iterable

from probes.secrecy.secrets import MASK, masked_words

LEFT_OUT = "…"
_MAX_WORD, _MAX_NAME = 200, 24
# what a quoted text begins with where it is a command: names of programs have no capitals
_PROGRAM = re.compile(r"(?:[\w.+-]*/)*[a-z][a-z0-9._+-]{0,30}")
_PATH = re.compile(r"~?(?:[\w@.,+%-]*/)+[\w@.,+:%-]*|\.{1,2}|/")
_REMOTE = re.compile(r"(?:[\w.-]{1,40}@)?[\w.-]{1,80}:(?:/[\w@.,+%-]*)+")  # rsync, scp, NFS
_RANDOM = re.compile(
    r"(?=[\w+-]*[A-Z])(?=[\w+-]*[a-z])(?=[\w+-]*\d)[\w+-]{16,}"
)  # a part of a key, and no name
_FILE = re.compile(
    r"[\w@.+-]{1,80}\.(?:py|sh|jar|toml|ya?ml|json|conf|cfg|ini|txt|csv|log|fio|dat|data|bin|root|h5|nc|pl|rb|js|so|img|iso|"
    r"qcow2|tar|gz|xz|zst|bz2|rpm|deb|service|mount|slice|scope|socket|timer|exe|out|md|html|xml|sql|in|tmp|c|cc|cpp|go|rs|f90)"
)
_NUMBER = re.compile(r"[+-]?\d[\d.,:x/-]*(?:[kmgtpe]i?b?|[ciB]|[nµu]?s|ms|min|h|d|%)?", re.IGNORECASE)
# after one dash only short names and known ones: `-pSECRET` looks the same
_OPTION = re.compile(
    r"--[A-Za-z][\w.-]{0,60}|--?|\+[A-Za-z]\w*|-[A-Za-z?]{1,3}|"
    r"-(?:name|iname|type|exec|print0?|drive|machine|device|netdev|classpath|server|maxdepth|mindepth|size|delete|help|"
    r"version|verbose|quiet|newer|mtime|user|group|perm|file|output|config|port|threads|jobs|node|nodes|ntasks)"
)
_ATTACHED = re.compile(r"(-[A-Za-z]{1,3})(\d+[kmgtKMGT]?)")  # -j8, -Xmx4g
_ASSIGNED = re.compile(r"(-{0,2}[A-Za-z][\w.-]{0,60})([=:])(.*)", re.DOTALL)
_DIMENSIONS = re.compile(r"[A-Za-z]{1,3}\d{1,4}(?:[.,:-]\w{1,6})*")  # eth0, sda1, nvme-like names, node12
_MASKED = re.compile(rf"(?:-{{0,2}}[A-Za-z][\w.-]{{0,60}}[=:]?|-[A-Za-z]+)?{re.escape(MASK)}")
_SEPARATORS = frozenset(
    ["|", "||", "&&", ";", "&", ">", ">>", "<", "2>&1", "--", "{", "}", "(", ")", "[", "]", "!"]
)
# Words of common tools: fio, dd, IOR, mdtest, stress-ng, sysbench, rsync, tar, systemctl, git, package managers.
_WORDS = frozenset(
    "read write randread randwrite rw randrw readwrite trim randtrim libaio io_uring psync sync posixaio mmap splice "
    "pvsync pvsync2 direct fdatasync fsync cpu memory mem threads mutex fileio prepare run cleanup oltp_read_write "
    "oltp_read_only seqwr seqrd rndrd rndwr rndrw none all auto always never on off yes no true false default start "
    "stop status restart reload enable disable show list ls get set add del delete create remove mount umount update "
    "upgrade install build test bench benchmark exec call main master worker server client agent daemon posix mpiio "
    "hdf5 random sequential easy hard json text csv md html yaml normal terse human human-readable ext4 xfs btrfs "
    "tmpfs nfs nfs4 zfs lustre vfat md raid1 raid5 raid6 raid10 mq-deadline bfq kyber host nvme0n1 nvme1n1 sda sdb "
    "sdc vda vdb lo link addr route dev type scan repair scrub send receive snapshot subvolume balance filesystem "
    "device clone fetch pull push commit log diff merge checkout python python3 java perl ruby node bash sh zsh env "
    "nice ionice taskset numactl timeout time xargs find grep sed awk sort uniq head tail cat cp mv rm mkdir dd tar "
    "gzip xz rsync ssh scp make cmake gcc ninja cargo docker podman singularity apptainer srun sbatch mpirun mpiexec "
    "fio ior mdtest iozone stress-ng sysbench elbencho hdparm iperf3 interleave membind cpunodebind local preferred "
    "zipf pareto uniform poisson size virtio hosts xf xzf czf cf".split()
)


def harmless_words(words: Iterable[str], known: Collection[str] = ()) -> list[str]:
    """Return the words with "…" in place of each that is not known to be harmless, and "***" where a secret is seen.

    `known` are words of the program's own, such as the names of its commands and choices.
    """
    kept = []
    program = True
    for word, masked in zip(listed := list(words), masked_words(listed), strict=True):
        if masked != word and " " not in word:
            kept.append(masked if _MASKED.fullmatch(masked) else LEFT_OUT)
        elif program and "=" not in word and _is_name(word):
            kept.append(word)
        else:
            kept.append(_kept(word, known))
        program = (word in _SEPARATORS and not word.startswith((">", "<", "2"))) or (program and "=" in word)
    return kept


def _kept(word: str, known: Collection[str]) -> str:
    """The word, its harmless part, or "…". A quoted command is judged word by word."""
    if _is_harmless(word, known):
        return word
    assigned = _ASSIGNED.fullmatch(word)
    if assigned is not None and (word.startswith("-") or " " not in word) and not _RANDOM.search(assigned[1]):
        name, sign, value = assigned.groups()
        if not value and len(name) > _MAX_NAME:
            return LEFT_OUT  # base64 ends so
        return f"{name}{sign}" + ",".join(_kept(part, known) for part in value.split(","))
    if " " not in word:
        return LEFT_OUT
    try:
        inner = shlex.split(word)
    except ValueError:
        return LEFT_OUT
    if len(inner) < 2:
        return LEFT_OUT
    first = inner[0] if _PROGRAM.fullmatch(inner[0]) else harmless_words(inner[:1], known)[0]
    if "=" not in inner[0] and not _PROGRAM.fullmatch(inner[0]):
        first = LEFT_OUT
    rest = harmless_words([":", *inner[1:]], known)[1:]
    return shlex.join((first, *rest)).replace(f"'{LEFT_OUT}'", LEFT_OUT)


def _is_harmless(word: str, known: Collection[str]) -> bool:
    if len(word) > _MAX_WORD:
        return False
    if not word or word in known or word in _SEPARATORS or word.lower() in _WORDS:
        return True
    if any(_RANDOM.fullmatch(part) for part in re.split(r"[/.=:@,]", word)):
        return False
    return any(
        form.fullmatch(word) for form in (_NUMBER, _OPTION, _ATTACHED, _PATH, _REMOTE, _FILE, _DIMENSIONS)
    )


def _is_name(word: str) -> bool:
    return re.fullmatch(r"[\w@.,+:%/~-]{1,200}", word) is not None
