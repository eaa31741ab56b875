"""What a capture gives away, replaced: names and addresses of hosts, names of users, numbers that identify a host.

The same value gets the same stand-in everywhere, of the same form, so that what reads it goes on working. Secrets on
command lines are masked in every capture. Device and mount point names stay: without them nothing could be told.
"""

import ipaddress
import pwd
import re
from collections.abc import Callable, Sequence
from functools import partial

from probes.secrecy.harmless_words import harmless_words
from probes.secrecy.secrets import masked

_ENVIRON = re.compile(r"/proc/[^/]+/environ$")
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
    """`names` are replaced wherever they stand as a word, such as the host's own; so are `users`."""

    def __init__(self, *names: str, users: Sequence[str] = ()) -> None:
        self._names = _words({n for name in names for n in (name, name.split(".", 1)[0])})
        self._users = _words(set(users))
        self._servers: set[str] = set()  # as they are met: the log comes after the mounts
        self._known: dict[str, str] = {}

    def __call__(self, path: str, text: str) -> str | None:
        told = kept(path, text)
        if told is None:
            return None
        if _IDENTITY.search(path) and not path.endswith("/dm/uuid"):
            return "redacted\n"
        told = _SERIAL.sub(r"\1redacted", told)
        if _HEX_FILES.search(path):
            told = _HEX_IP6.sub(self._hex_ip6, told)
            if not path.endswith("ipv6_route"):  # its metrics and flags look alike
                told = _HEX_IP4.sub(partial(self._hex_ip4, swapped=path.endswith("/route")), told)
        if _SERVER_FILES.search(path):
            told = _SERVERS.sub(self._server, told)
        return self._anywhere(path, told)

    def name(self, path: str) -> str:
        """Of a file, or what a link leads to. The kernel's names of devices and settings stay."""
        if path.startswith(("/sys/", "/proc/", "../")):
            return _MAC_NAME.sub(self._mac_name, path)
        return self._anywhere("", path)

    def _anywhere(self, path: str, told: str) -> str:
        if self._names is not None:
            told = self._names.sub("host", told)
        if self._servers:
            known = _words(self._servers)
            told = known.sub(self._server, told) if known else told
        told = _USER.sub(self._user, told)
        if self._users is not None:
            told = self._users.sub(self._user, told)
        told = _MAC_NAME.sub(self._mac_name, told)
        told = _UUID.sub(self._stand_in(lambda n: f"00000000-0000-0000-0000-{n:012x}"), told)
        told = _MAC.sub(self._stand_in(lambda n: f"02:00:00:00:{n >> 8 & 255:02x}:{n & 255:02x}"), told)
        told = _IP4.sub(self._ip4, told)
        if "/proc/" not in path or "/net/" in path:
            told = _IP6.sub(self._ip6, told)
        return told

    def _ip4(self, found: re.Match[str]) -> str:
        return self._stand_in(lambda n: f"192.0.2.{n % 254 + 1}")(found)

    def _ip6(self, found: re.Match[str]) -> str:
        return self._stand_in(lambda n: f"2001:db8::{n:x}")(found)

    def _hex_ip4(self, found: re.Match[str], swapped: bool) -> str:
        sent = bytes.fromhex(found[0])[:: -1 if swapped else 1]
        if _MASK.fullmatch(f"{int.from_bytes(sent, 'big'):032b}"):
            return found[0]
        made = ipaddress.IPv4Address(_IP4.sub(self._ip4, str(ipaddress.IPv4Address(sent)))).packed
        told = made[:: -1 if swapped else 1].hex()
        return told.upper() if swapped else told

    def _hex_ip6(self, found: re.Match[str]) -> str:
        sent = str(ipaddress.IPv6Address(bytes.fromhex(found[0])))
        return ipaddress.IPv6Address(sent if sent in _PLAIN_IP6 else _IP6.sub(self._ip6, sent)).packed.hex()

    def _server(self, found: re.Match[str]) -> str:
        return _HOST_WORD.sub(self._server_word, found[0])

    def _server_word(self, found: re.Match[str]) -> str:
        word = found[0]
        if _NID.fullmatch(word) or not re.search("[A-Za-z]", word) or _STOOD_IN.fullmatch(word):
            return word
        self._servers |= {word, word.split(".", 1)[0]}
        return self._stand_in(lambda n: f"server{n}")(found)

    def _user(self, found: re.Match[str]) -> str:
        return self._stand_in(lambda n: str(n) if found[0].isdigit() else f"user{n}")(found)

    def _mac_name(self, found: re.Match[str]) -> str:
        return self._stand_in(lambda n: f"02000000{n:04x}")(found)

    def _stand_in(self, made: Callable[[int], str]) -> Callable[[re.Match[str]], str]:
        def one(found: re.Match[str]) -> str:
            value = found[0].lower()
            if value.startswith(_PLAIN_IP4):
                return found[0]
            if value not in self._known:
                self._known[value] = made(len(self._known) + 1)
            return self._known[value]

        return one


def users() -> tuple[str, ...]:
    """Of people, as far as the host knows them by itself."""
    return tuple(one.pw_name for one in pwd.getpwall() if _FIRST_USER <= one.pw_uid <= _LAST_USER)


def _words(names: set[str]) -> re.Pattern[str] | None:
    known = sorted((name for name in names if len(name) > 2), key=len, reverse=True)
    return re.compile(rf"(?<![\w.])(?:{'|'.join(map(re.escape, known))})(?!\w)") if known else None


def kept(path: str, text: str) -> str | None:
    """In every capture: no environment but the container's mark, and no secret of a command line."""
    if _ENVIRON.search(path):
        found = re.search(r"(?:^|\0)(container=[^\0]+)", text)
        return f"{found[1]}\0" if found else None
    if _CMDLINE.search(path):  # its words end with NUL: the value after `--password` is one of its own
        return "\0".join(harmless_words(text.split("\0")))
    return masked(text)
