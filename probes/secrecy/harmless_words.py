"""Which words of a command line are known to be harmless; every other word is left out of what is kept.

`probes.secrecy.secrets` masks what looks like a secret. A secret that looks like any other word passes there, so here
it is the other way round: a program, a path, a number, the name of an option or a word of this list is kept.
"""

# ruff: noqa: SIM905
import re
import shlex
from collections.abc import Collection, Iterable

from probes.number_text import parse_unsigned
from probes.secrecy.secret_forms import MASK
from probes.secrecy.secrets import digest_text, mask_secrets, mask_words

LEFT_OUT = "…"
_MAX_WORD, _MAX_NAME = 200, 24
# what a quoted text begins with where it is a command: names of programs have no capitals
_FIRST = re.compile(r"(?:[\w.+-]*/)*[a-z][a-z0-9._+-]{0,30}|[A-Za-z0-9][\w.+-]{0,31}:")  # or a variant's name
_NOTHING = re.compile(r"(?!)")
_UNQUOTED = re.compile(rf"[\w@%+=:,./*{LEFT_OUT}-]+")
_PATH = re.compile(r"~?(?:[\w@.,+%-]*/)+[\w@.,+:%-]*|\.{1,2}|/")
_REMOTE = re.compile(r"(?:[\w.-]{1,40}@)?[\w.-]{1,80}:(?:/[\w@.,+%-]*)+")  # rsync, scp, NFS
_RANDOM = re.compile(
    r"(?=[\w+-]*[A-Z])(?=[\w+-]*[a-z])(?=[\w+-]*\d)[\w+-]{16,}"
)  # a part of a key, and no name
_FILE = re.compile(
    r"[\w@.+-]{1,80}\.(?:py|sh|jar|toml|ya?ml|json|conf|cfg|ini|txt|csv|log|fio|dat|data|bin|root|h5|nc|pl|rb|js|so|img|iso|"
    r"war|jmx|jtl|prof|pt|ckpt|npy|parquet|safetensors|png|zip|db|ko|qcow2|tar|gz|xz|zst|bz2|rpm|deb|service|mount|slice|scope|socket|timer|exe|out|md|html|xml|sql|in|tmp|c|cc|cpp|go|rs|f90)"
)
_NUMBER = re.compile(r"[+-]?\d[\d.,:x/-]*(?:[kmgtpe]i?b?|[ciB]|[nµu]?s|ms|min|h|d|%)?", re.IGNORECASE)
# after one dash only short names and known ones: `-pSECRET` looks the same
_OPTION = re.compile(
    r"--[A-Za-z][\w.-]{0,60}|--?|\+[A-Za-z]\w*|-[A-Za-z?]{1,3}|"
    r"-(?:name|iname|type|exec|print0?|drive|machine|device|netdev|classpath|server|maxdepth|mindepth|size|delete|help|"
    r"version|verbose|quiet|newer|mtime|user|group|perm|file|output|config|port|threads|jobs|node|nodes|ntasks)"
)
_MAX_DIGITS = 5  # a longer number may be a PIN, unless it is round as sizes and counts are
_MODULE = re.compile(r"[a-z_]\w{0,30}(?:\.\w{1,40})*")  # python -m
_CLASS = re.compile(r"(?:[a-z]\w{0,30}\.)+[A-Z][A-Za-z]{0,60}")  # java
_SWITCH = re.compile(r"-XX:[+-]?[A-Za-z]{1,60}")
_URL = re.compile(r"(https?://[\w.-]{1,80}(?::\d{1,5})?)/.+")  # the path of a webhook is its secret
# options and variables whose values say how something runs, in words of the program's own
_DESCRIBING = re.compile(
    r"--?(?:name|mode|type|format|level|log-level|ioengine|engine|rw|verify|model|tokenizer|stage|section|method|algo|"
    r"algorithm|strategy|policy|scheduler|partition|device|backend|bind-to|map-by|mpi|info|compress|suite|case|test)"
    r"|(?:OMP|KMP|GOMP|MKL|OPENBLAS|NCCL|UCX|FI|I_MPI|OMPI_MCA|MV2|CUDA|HSA|ROCR|MALLOC|GLIBC|TBB|LC)_[A-Z0-9_a-z]+|"
    r"LD_PRELOAD|LD_LIBRARY_PATH|GOGC|GOMAXPROCS|GODEBUG|TZ|LANG|TMPDIR|PYTHONHASHSEED"
)
_DESCRIPTION = re.compile(r"[A-Za-z][A-Za-z0-9_.:/=%+,-]{0,40}")
_ATTACHED = re.compile(r"(-[A-Za-z]{1,3})(\d+[kmgtKMGT]?)")  # -j8, -Xmx4g
_ASSIGNED = re.compile(r"(-{0,2}[A-Za-z][\w.-]{0,60})([=:])(.*)", re.DOTALL)
_DEVICE = re.compile(
    r"(?:eth|en[ops]|bond|br|ib|vlan|veth|tap|tun|wlan|md|dm-?|sr|loop|nbd|nvme|mmcblk|zram|sd[a-z]|vd[a-z]|xvd[a-z]|"
    r"cpu|gpu|node|raid|db)\d{1,4}(?:[npsfdc.:]{1,2}\d{1,4}){0,3}"
)
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


def harmless_words(words: Iterable[str], known_words: Collection[str] = ()) -> list[str]:
    """Return the words with "…" in place of each that is not known to be harmless, and "***" where a secret is seen.

    `known_words` are words of the program's own, such as the names of its commands and choices.
    """
    kept_words = []
    program, ran, before = True, "", ""
    for word, without in zip(listed := list(words), mask_words(listed), strict=True):
        if without != word and " " not in word:
            kept_words.append(without if _MASKED.fullmatch(without) else LEFT_OUT)
        elif program and "=" not in word and _is_name(word):
            kept_words.append(word)
            ran = word.rpartition("/")[2]
        elif _names_what_runs(ran, before, word) or _describes(before, word):
            kept_words.append(word)
        else:
            kept_words.append(_keep_harmless(word, known_words))
        before = word
        program = (word in _SEPARATORS and not word.startswith((">", "<", "2"))) or (program and "=" in word)
    return kept_words


def harmless_text(text: str, first: re.Pattern[str] = _FIRST) -> str:
    """Return the text of a command with "…" for each word that is not known to be harmless.

    Where something is left out two hexadecimal digits follow, which differ for most other texts: enough to see that
    two commands are not the same, too few to confirm a guess. `first`: what its first word is taken for a program by.
    """
    try:
        words = shlex.split(text)
    except ValueError:
        words = []
    kept = _kept_command(words, (), first) if words else ""
    if words and LEFT_OUT not in kept and MASK not in kept:
        return text if mask_secrets(text) == text else kept
    return f"{kept or LEFT_OUT} #{digest_text(text)[-2:]}" if text else text


def harmless_value(name: str, value: str) -> str:
    """Return the value of a variable, "…" in place of what is not known to be harmless, as `harmless_text` does."""
    if harmless_words([":", f"{name}={value}"])[1] == f"{name}={value}":
        return value
    return harmless_text(value, _FIRST if " " in value else _NOTHING)


def _keep_harmless(word: str, known_words: Collection[str]) -> str:
    """The word, its harmless part, or "…". A quoted command is judged word by word."""
    if url := _URL.fullmatch(word):
        return f"{url[1]}/{LEFT_OUT}"
    if _is_harmless(word, known_words):
        return word
    assigned = _ASSIGNED.fullmatch(word)
    if assigned is not None and (word.startswith("-") or " " not in word) and not _RANDOM.search(assigned[1]):
        name, sign, value = assigned.groups()
        if not value and len(name) > _MAX_NAME:
            return LEFT_OUT  # base64 ends so
        if sign == "=" and _describes(name, value):
            return word
        return f"{name}{sign}" + ",".join(_keep_harmless(part, known_words) for part in value.split(","))
    try:
        inner = shlex.split(word) if " " in word else []
    except ValueError:
        inner = []
    if len(inner) < 2:
        return LEFT_OUT
    is_sentence = not any(
        part.startswith("-") or "/" in part for part in inner
    )  # or a phrase that is a secret
    return _kept_command(inner, known_words, _NOTHING if is_sentence else _FIRST)


def _kept_command(words: list[str], known: Collection[str], first: re.Pattern[str] = _FIRST) -> str:
    """The words of a text that may be a command; its first one stays if it is known or matches `first`."""
    kept = harmless_words(words, known)
    if "=" not in words[0] and not first.fullmatch(words[0]) and not _is_harmless(words[0], known):
        kept[0] = LEFT_OUT
    return " ".join(word if _UNQUOTED.fullmatch(word) else shlex.quote(word) for word in kept)


def _names_what_runs(program: str, before: str, word: str) -> bool:
    """True for the module that Python runs, the class that Java runs, and a switch of Java's."""
    if program.startswith("python"):
        return before == "-m" and _MODULE.fullmatch(word) is not None
    return program == "java" and bool(_CLASS.fullmatch(word) or _SWITCH.fullmatch(word))


def _describes(name: str, value: str) -> bool:
    """True where the name says that the value is a word of the program's own, and the value looks like one."""
    return (
        _DESCRIBING.fullmatch(name) is not None
        and _DESCRIPTION.fullmatch(value) is not None
        and not any(_RANDOM.fullmatch(part) for part in re.split(r"[/.=:@,]", value))
    )


def _is_harmless(word: str, known_words: Collection[str]) -> bool:
    if len(word) > _MAX_WORD:
        return False
    if not word or word in known_words or word in _SEPARATORS or word.lower() in _WORDS:
        return True
    if any(_RANDOM.fullmatch(part) for part in re.split(r"[/.=:@,]", word)):
        return False
    if _NUMBER.fullmatch(word):
        return all(len(digits) <= _MAX_DIGITS or _is_round(digits) for digits in re.findall(r"\d+", word))
    return any(form.fullmatch(word) for form in (_OPTION, _ATTACHED, _PATH, _REMOTE, _FILE, _DEVICE))


def _is_round(digits: str) -> bool:
    number = parse_unsigned(digits)
    return number is not None and (number % 500 == 0 or number % 512 == 0)


def _is_name(word: str) -> bool:
    return re.fullmatch(r"[\w@.,+:%/~-]{1,200}", word) is not None
