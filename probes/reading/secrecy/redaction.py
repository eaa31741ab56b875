"""What a capture gives away, replaced: names and addresses of hosts, names of users, numbers that identify a host.

The same value gets the same stand-in everywhere, of the same form, so that what reads it goes on working. Secrets on
command lines are masked in every capture. Device and mount point names stay: without them nothing could be told.
"""

import ipaddress
import pwd
import re
from collections.abc import Callable, Sequence
from functools import partial

from hostdx.probes.reading.secrecy.harmless_words import LEFT_OUT, mask_unknown_words
from hostdx.probes.reading.secrecy.secret_files import mask_file

_ENVIRON = re.compile(r"/proc/[^/]+/environ$")
_LOGINS = re.compile(r"/var/log/(?:secure|auth\.log|cron)$|/journalctl_-b_-q_")
_NAME_SERVICES = "/etc/nsswitch.conf"  # its `passwd: files` is none
_QUERY_LOGS = re.compile(r"^/var/(?:lib|log)/(?:pgsql|postgresql)/.*\.log$", re.DOTALL)
# a statement, its values, and the lines in which it goes on (PostgreSQL, Error Reporting and Logging)
_QUERY = re.compile(
    r"(?im)((?:statement|detail|query|context|(?:execute|parse|bind) [^:\n]*): ).*$|^[ \t].*\n?"
)
_CMDLINE = re.compile(r"/proc/[^/]+/(?:task/[^/]+/)?cmdline$")
_IDENTITY = re.compile(
    r"(/etc/machine-id|/etc/hostname|boot_id|_serial|/serial|/wwid|/vpd_pg8[03]|chassis_asset_tag|uuid)$"
)
_UUID = re.compile(r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b")
_MAC = re.compile(r"\b(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}\b")
_IP4 = re.compile(r"(?<![\w.-])(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?![\w.-])")
_IP6 = re.compile(
    r"(?<![\w:.])(?=[0-9a-fA-F:]*::|(?:[0-9a-fA-F]{1,4}:){7}[0-9a-fA-F])[0-9a-fA-F:]{6,39}(?![\w:.])"
)
_SERIAL = re.compile(r"(?im)^(\s*(?:serial number|serial|asset tag|uuid|part number)\s*:\s*)\S.*$")
_PLAIN_IP4 = ("0.0.0.0", "127.", "255.")
_PLAIN_IP6 = ("::", "::1")
# addresses that the kernel writes as hexadecimal digits: as the processor reads them, or as they are sent
_HEX_FILES = re.compile(r"/proc/(?:[^/]+/)?net/(?:route|if_inet6|ipv6_route)$|/nfsfs/")
_HEX_IP6 = re.compile(r"(?<![0-9a-fA-F])[0-9a-fA-F]{32}(?![0-9a-fA-F])")
_HEX_IP4 = re.compile(r"(?<=[\t ])[0-9A-Fa-f]{8}(?=[\t ])")
_MASK = re.compile(r"1*0*")
_MAC_NAME = re.compile(r"(?<=enx)[0-9a-f]{12}\b")  # systemd.net-naming-scheme(7)
# what stands in front of an export: nfs(5), mount.cifs(8), mount.lustre(8), and in the kernel's log
_SERVERS = re.compile(
    r"(?m)(?:^|(?<=[\s\0=#]))(?!/)[^\s/\0=]+(?=:/)|(?<=//)[^\s/\0]+(?=/)"
    r"|(?<=server )\S+(?= (?:not responding|OK|still))"
)
_SERVER_FILES = re.compile(r"mounts$|mountinfo$|mountstats$|/fstab$|/nfsfs/|cmdline$|\.mount$|dmesg")
_STOOD_IN = re.compile(r"(?:server|user)\d+")
_NID = re.compile(r"(?:tcp|o2ib|gni|kfi)\d*")  # Lustre's networks
_HOST_WORD = re.compile(r"[A-Za-z0-9][\w.-]*")
_USER = re.compile(
    r"(?<=/home/)[^/\s\\\0:,]+|(?<=/run/user/)[0-9]+|(?<=\buser=)[^,\s\0]+|(?<=\busername=)[^,\s\0]+|[\w.-]+(?=@[\w.-]+:/)"
)
_FIRST_USER, _LAST_USER = 1000, 60000  # login.defs(5)


class Redaction:
    """`names` are replaced wherever they stand as a word, such as the host's own; so are `list_people`."""

    def __init__(self, *names: str, users: Sequence[str] = ()) -> None:
        self._names = _compile_name_pattern({n for name in names for n in (name, name.split(".", 1)[0])})
        self._users = _compile_name_pattern(set(users))
        self._servers: set[str] = set()  # as they are met: the log comes after the mounts
        self._stand_ins: dict[str, str] = {}

    def __call__(self, path: str, text: str) -> str | None:
        redacted = strip_secrets(path, text)
        if redacted is None:
            return None
        if _IDENTITY.search(path) and not path.endswith("/dm/uuid"):
            return "redacted\n"
        redacted = _SERIAL.sub(r"\1redacted", redacted)
        if _HEX_FILES.search(path):
            redacted = _HEX_IP6.sub(self._replace_hex_ip6, redacted)
            if not path.endswith("ipv6_route"):  # its metrics and flags look alike
                redacted = _HEX_IP4.sub(
                    partial(self._replace_hex_ip4, swapped=path.endswith("/route")), redacted
                )
        if _SERVER_FILES.search(path):
            redacted = _SERVERS.sub(self._replace_server, redacted)
        return self._redact_text(path, redacted)

    def name(self, path: str) -> str:
        """Of a file, or what a link leads to. The kernel's names of devices and settings stay."""
        if path.startswith(("/sys/", "/proc/", "../")):
            return _MAC_NAME.sub(self._replace_mac_name, path)
        return self._redact_text("", path)

    def _redact_text(self, path: str, text: str) -> str:
        if self._names is not None:
            text = self._names.sub("host", text)
        if self._servers:
            server_pattern = _compile_name_pattern(self._servers)
            text = server_pattern.sub(self._replace_server, text) if server_pattern else text
        text = _USER.sub(self._user_stand_in, text)
        if self._users is not None:
            text = self._users.sub(self._user_stand_in, text)
        text = _MAC_NAME.sub(self._replace_mac_name, text)
        text = _UUID.sub(self._make_replacer(lambda n: f"00000000-0000-0000-0000-{n:012x}"), text)
        text = _MAC.sub(self._make_replacer(lambda n: f"02:00:00:00:{n >> 8 & 255:02x}:{n & 255:02x}"), text)
        text = _IP4.sub(self._ip4_stand_in, text)
        if "/proc/" not in path or "/net/" in path:
            text = _IP6.sub(self._ip6_stand_in, text)
        return text

    def _ip4_stand_in(self, match: re.Match[str]) -> str:
        return self._make_replacer(lambda n: f"192.0.2.{n % 254 + 1}")(match)

    def _ip6_stand_in(self, match: re.Match[str]) -> str:
        return self._make_replacer(lambda n: f"2001:db8::{n:x}")(match)

    def _replace_hex_ip4(self, match: re.Match[str], swapped: bool) -> str:
        sent = bytes.fromhex(match[0])[:: -1 if swapped else 1]
        if _MASK.fullmatch(f"{int.from_bytes(sent, 'big'):032b}"):
            return match[0]
        packed = ipaddress.IPv4Address(_IP4.sub(self._ip4_stand_in, str(ipaddress.IPv4Address(sent)))).packed
        digits = packed[:: -1 if swapped else 1].hex()
        return digits.upper() if swapped else digits

    def _replace_hex_ip6(self, match: re.Match[str]) -> str:
        sent = str(ipaddress.IPv6Address(bytes.fromhex(match[0])))
        return ipaddress.IPv6Address(
            sent if sent in _PLAIN_IP6 else _IP6.sub(self._ip6_stand_in, sent)
        ).packed.hex()

    def _replace_server(self, match: re.Match[str]) -> str:
        return _HOST_WORD.sub(self._replace_server_word, match[0])

    def _replace_server_word(self, match: re.Match[str]) -> str:
        word = match[0]
        if _NID.fullmatch(word) or not re.search("[A-Za-z]", word) or _STOOD_IN.fullmatch(word):
            return word
        self._servers |= {word, word.split(".", 1)[0]}
        return self._make_replacer(lambda n: f"server{n}")(match)

    def _user_stand_in(self, match: re.Match[str]) -> str:
        return self._make_replacer(lambda n: str(n) if match[0].isdigit() else f"user{n}")(match)

    def _replace_mac_name(self, match: re.Match[str]) -> str:
        return self._make_replacer(lambda n: f"02000000{n:04x}")(match)

    def _make_replacer(self, render_number: Callable[[int], str]) -> Callable[[re.Match[str]], str]:
        def replace_match(match: re.Match[str]) -> str:
            value = match[0].lower()
            if value.startswith(_PLAIN_IP4):
                return match[0]
            if value not in self._stand_ins:
                self._stand_ins[value] = render_number(len(self._stand_ins) + 1)
            return self._stand_ins[value]

        return replace_match


def list_people() -> tuple[str, ...]:
    """Of people, as far as the host knows them by itself."""
    return tuple(user.pw_name for user in pwd.getpwall() if _FIRST_USER <= user.pw_uid <= _LAST_USER)


def _compile_name_pattern(names: set[str]) -> re.Pattern[str] | None:
    ordered_names = sorted((name for name in names if len(name) > 2), key=len, reverse=True)
    return (
        re.compile(rf"(?<![\w.])(?:{'|'.join(map(re.escape, ordered_names))})(?!\w)")
        if ordered_names
        else None
    )


def strip_secrets(path: str, text: str) -> str | None:
    """In every capture: no environment but the container's mark, no log of who logged in and what cron started, no
    query of a database, and no secret of a command line or of a file of settings.
    """
    if _LOGINS.search(path):
        return None
    if path.endswith(_NAME_SERVICES):
        return text
    if _ENVIRON.search(path):
        match = re.search(r"(?:^|\0)(container=[^\0]+)", text)
        return f"{match[1]}\0" if match else None
    if _CMDLINE.search(path):  # its words end with NUL: the value after `--password` is one of its own
        return "\0".join(mask_unknown_words(text.split("\0")))
    if _QUERY_LOGS.search(path):
        text = _QUERY.sub(lambda match: f"{match[1]}{LEFT_OUT}" if match[1] else "", text)
    return mask_file(path, text)
