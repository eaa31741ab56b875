"""The forms of a word that cannot be a secret: a path, a number, an option's name, a file, a device, a known word."""

import re
from collections.abc import Collection

from hostdx.probes.number_text import parse_unsigned
from hostdx.probes.reading.patterns import lazy_pattern
from hostdx.probes.reading.secrecy.known_programs import HARMLESS, SEPARATORS

_MAX_WORD = 200
_PATH = lazy_pattern(
    r"(?:file:)?~?(?:(?:[\w@.,+%-]|\$\w|\$\{\w+\})*/)+(?:[\w@.,+%*-]|\$\w|\$\{\w+\})*(?:(?::\d+)+|:)?|\.{1,2}|/|\$\w+|\$\{\w+\}"
)
# `user/secret@database`, and what looks like a path of its own folder but begins with an account
_PERHAPS_ACCOUNT = lazy_pattern(
    r"(?i)(?:[\w.-]+/(?=.*[@,])|(?:root|admin|administrator|user|sa|system|sys)/)"
)
_MOUNTED = lazy_pattern(
    r"(?:/[\w@.,+%-]*)+(?::(?:/[\w@.,+%-]*)+)?:(?:ro|rw|z|Z)|(?:/[\w@.,+%-]*)+:(?:/[\w@.,+%-]*)+"
)  # --volume of a container
_REMOTE = lazy_pattern(
    r"(?:[\w.-]{1,40}@)?[\w.-]{1,80}:(?!//)(?:/[\w@.,+%-]*)+|root@[\w.-]{1,80}|[\w.-]{1,40}:(?:/[\w.-]+)+/Role=[\w-]{1,40}|"
    r"(?:(?:[\w.-]{1,40}@)?[\w.-]{1,80}|(?:/[\w@.,+%-]*)*)::[\w@{}.+/-]{0,80}"
)  # rsync, scp, NFS, ssh
# the path of a webhook is its secret, so a path of the web is kept only where it is a file's or a repository's
_FILE_URL = lazy_pattern(
    r"(?!https?:)[a-z][a-z0-9+]{1,9}://(?!hooks\.)[\w.-]{0,80}(?::\d{1,5})?(?:/[\w.,+%-]*)*"
)
_WEB_FILE = lazy_pattern(
    r"https?://[\w.-]{1,80}(?::\d{1,5})?(?:/?|(?:/[\w.,+%-]*)+\.(?:git|rpm|deb|tar|t?gz|xz|zip|iso|repo|root|xml|html|txt|csv|img|sif|whl|zst|bz2))"
)
_WEB_URL = lazy_pattern(r"(https?://[\w.-]{1,80}(?::\d{1,5})?)/.+")
_IMAGE = lazy_pattern(
    r"(?:(?:docker|oras|library)://)?(?:[a-z0-9][a-z0-9._-]{0,60}/){1,3}[a-z0-9._-]{1,60}:"
    r"(?:v?\d[\d.]{0,15}(?:-[a-z0-9.]{1,12})?|latest|stable|main)|"
    r"(?!(?:root|admin|administrator|user|sa|system|sys):)[a-z][a-z0-9._-]{2,40}:(?:v?\d{1,3}(?:\.\d{1,3}){1,3}|\d{1,2}|latest|stable)"
)
# of a directory, RFC 4514: several parts, the last of which is a domain's or a unit's; `uid=secret` alone is none
_NAMING = lazy_pattern(r"(?:(?:dc|ou|cn|o|uid)=[\w. -]{1,60},){1,8}(?:dc|ou|o)=[\w. -]{1,60}")
_CURL_FORMAT = lazy_pattern(r"(?:%\{[a-z_]{1,30}\}(?:\\n| |,)*)+")
_LISTENING = lazy_pattern(r"\*?:\d{1,5}|(?:[\w.*-]{1,60}:)?\d{1,5}:[\w.-]{1,60}:\d{1,5}")  # or ssh's tunnel
# a part of a key, and no name
_RANDOM = lazy_pattern(r"(?=[\w+-]*[A-Z])(?=[\w+-]*[a-z])(?=[\w+-]*\d)[\w+-]{16,}")
_FILE = lazy_pattern(
    r"[\w@.+-]{1,80}\.(?:py|sh|jar|toml|ya?ml|json|conf|cfg|ini|txt|csv|tsv|ipynb|tfvars|pol|mkv|mp4|wav|lock|log|fio|dat|data|bin|root|h5|nc|pl|rb|js|so|img|iso|"
    r"war|jmx|jtl|prof|pt|ckpt|npy|parquet|safetensors|png|zip|db|ko|qcow2|tar|gz|xz|zst|bz2|rpm|deb|service|mount|slice|scope|socket|"
    r"timer|exe|out|md|html|xml|sql|in|tmp|c|C|cc|cpp|go|rs|f90|R|r|jl|sub|sif|spec|raw|vmdk|vdi|bam|sam|cram|vcf|fastq|fq|fasta|fa|bed|fits|dcd|gro|xtc|trr|edr|cu|f|f03|F90|h|hpp|hh|a|d|lst|list|ndjson|jsonl|avro|orc|pkl|model|onnx|ckp|chk|cube|pdb|msh|stl|cas|k|inc|rules|target|path|desktop|repo|crt|pdf|jpg|tif|tiff|tex|rst|lua|ps|awk|sed|bat|exe|dll|class|gem|whl|crate|namd|mdp|tpr|inp|lmp|m|o)|"
    r"(?![^.]*(?i:pass|login|secret))[\w+-]{1,80}\.(?:mac|cxx|hxx|cmnd|blend|hepmc|lhe|gdml|sbatch|slurm|jdl|gjf)"
)
_NUMBER = lazy_pattern(
    r"[+-]?\d[\d.,:x/-]*(?:e[+-]?\d{1,3}|[kmgtpe]i?b?|[ciB]|[nµu]?s|ms|min|h|d|%)?", re.IGNORECASE
)
# after one dash only short names and known ones: `-pSECRET` looks the same
_OPTION = lazy_pattern(
    r"--[A-Za-z][\w.-]{0,60}|--?|\+[A-Za-z]\w*|-[A-Za-z?]{1,3}|"
    r"-(?:name|iname|type|exec|print0?|drive|machine|device|netdev|classpath|server|maxdepth|mindepth|size|delete|help|"
    r"version|verbose|quiet|newer|mtime|user|group|perm|file|output|config|port|threads|jobs|node|nodes|ntasks)"
)
_MAX_DIGITS = 5  # a longer number may be a PIN, unless it is round as sizes and counts are
_ATTACHED = lazy_pattern(r"(-[A-Za-z]{1,3})(\d+[kmgtKMGT]?)")  # -j8, -Xmx4g
_DEVICE = lazy_pattern(
    r"(?:eth|en[ops]|bond|br|ib|vlan|veth|tap|tun|wlan|md|dm-?|sr|loop|nbd|nvme|mmcblk|zram|sd[a-z]|vd[a-z]|xvd[a-z]|"
    r"cpu|gpu|node|raid|db|wn|cn|mon|osd|oss|mds|mdt|ost)-?\d{1,4}(?:[npsfdc.:]{1,2}\d{1,4}){0,3}"
)

# Options and variables whose values say how something runs, in words of the program's own
_DESCRIBING = lazy_pattern(
    r"--?(?:name|mode|type|format|level|log-level|ioengine|engine|rw|verify|model|tokenizer|stage|section|method|algo|"
    r"algorithm|strategy|policy|scheduler|partition|device|backend|bind-to|map-by|mpi|environment|machine|cpu-bind|mem-bind|distribution|hint|info|compress|suite|case|test)"
    r"|(?:OMP|KMP|GOMP|MKL|OPENBLAS|NCCL|UCX|FI|I_MPI|OMPI_MCA|MV2|CUDA|HSA|ROCR|MALLOC|GLIBC|TBB|LC)_[A-Z0-9_a-z]+|"
    r"LD_PRELOAD|LD_LIBRARY_PATH|GOGC|GOMAXPROCS|GODEBUG|TZ|LANG|TMPDIR|PYTHONHASHSEED"
)
# whose values are numbers of any length: no PIN is given to these
_COUNTING = lazy_pattern(
    r"--?(?:[\w-]*(?:count|counts|events?|evts|steps|iterations|samples|epochs|seed|length|limit|offset|port)|"
    r"n|N|(?:job|run|task|array|step|process|parent|user|group)[-_]?(?:id|number)|jobs?|p?pid|uid|gid|first|last)"
)
_DIGITS = lazy_pattern(r"\d{1,10}")
_DESCRIPTION = lazy_pattern(r"[A-Za-z][A-Za-z0-9_.:/=%+,-]{0,40}")


_FORMS = (
    _OPTION, _ATTACHED, _PATH, _MOUNTED, _REMOTE, _FILE, _DEVICE, _FILE_URL, _WEB_FILE, _LISTENING, _IMAGE, _NAMING,
    _CURL_FORMAT,
)  # fmt: skip
_FORM = lazy_pattern("|".join(f"(?:{form.pattern})" for form in _FORMS))


def is_harmless_word(word: str, known_words: Collection[str] = ()) -> bool:
    """Return True if the form of the word shows that it is no secret. `known_words` are the program's own."""
    if len(word) > _MAX_WORD:
        return False
    if (
        len(word) < 2
        or word in known_words
        or word in SEPARATORS
        or word.lower() in HARMLESS
        or word in HARMLESS
    ):
        return True
    if holds_random_part(word):
        return False
    if _NUMBER.fullmatch(word):
        return all(len(digits) <= _MAX_DIGITS or _is_round(digits) for digits in re.findall(r"\d+", word))
    if _PERHAPS_ACCOUNT.match(word):
        return False
    return _FORM.fullmatch(word) is not None


def harmless_part_of_url(word: str) -> str | None:
    """Return scheme and host of a web address, the path of which may be a secret; None of any other word."""
    url = None if is_harmless_word(word) else _WEB_URL.fullmatch(word)
    return f"{url[1]}/" if url else None


def holds_random_part(word: str) -> bool:
    """True where a part of the word has small and large letters and digits, as keys have and names have not."""
    return any(_RANDOM.fullmatch(part) for part in re.split(r"[/.=:@,]", word))


def is_harmless_option_value(name: str, value: str) -> bool:
    """Return True if the option's name says that its value is a word of the program itself, and the value looks so."""
    if _COUNTING.fullmatch(name):
        return _DIGITS.fullmatch(value) is not None
    return (
        _DESCRIBING.fullmatch(name) is not None
        and _DESCRIPTION.fullmatch(value) is not None
        and not holds_random_part(value)
    )


def _is_round(digits: str) -> bool:
    number = parse_unsigned(digits)
    return number is not None and (number % 500 == 0 or number % 512 == 0)
