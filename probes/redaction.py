"""What a capture gives away, replaced: names and addresses of this host and of others, numbers that identify it.

The same value gets the same stand-in everywhere, of the same form, so that what reads it goes on working. Secrets on
command lines are masked in every capture. Device and mount point names stay: without them nothing could be told.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from probes.secrets import masked, masked_words

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


class Redaction:
    """`names` are replaced wherever they stand as a word, such as the host's own."""

    def __init__(self, *names: str) -> None:
        words = sorted({n for name in names for n in (name, name.split(".", 1)[0]) if len(n) > 2}, key=len)
        self._names = re.compile("|".join(re.escape(n) for n in reversed(words))) if words else None
        self._known: dict[str, str] = {}

    def __call__(self, path: str, text: str) -> str | None:
        told = kept(path, text)
        if told is None:
            return None
        if _IDENTITY.search(path) and not path.endswith("/dm/uuid"):
            return "redacted\n"
        if self._names is not None:
            told = self._names.sub("host", told)
        told = _SERIAL.sub(r"\1redacted", told)
        told = _UUID.sub(self._stand_in(lambda n: f"00000000-0000-0000-0000-{n:012x}"), told)
        told = _MAC.sub(self._stand_in(lambda n: f"02:00:00:00:{n >> 8 & 255:02x}:{n & 255:02x}"), told)
        told = _IP4.sub(self._stand_in(lambda n: f"192.0.2.{n % 254 + 1}"), told)
        if "/proc/" not in path or "/net/" in path:
            told = _IP6.sub(self._stand_in(lambda n: f"2001:db8::{n:x}"), told)
        return told

    def _stand_in(self, made: Callable[[int], str]) -> Callable[[re.Match[str]], str]:
        def one(found: re.Match[str]) -> str:
            value = found[0].lower()
            if value.startswith(_PLAIN_IP4):
                return found[0]
            if value not in self._known:
                self._known[value] = made(len(self._known) + 1)
            return self._known[value]

        return one


def kept(path: str, text: str) -> str | None:
    """In every capture: no environment but the container's mark, and no secret of a command line."""
    if _ENVIRON.search(path):
        found = re.search(r"(?:^|\0)(container=[^\0]+)", text)
        return f"{found[1]}\0" if found else None
    if _CMDLINE.search(path):  # its words end with NUL: the value after `--password` is one of its own
        return "\0".join(masked_words(text.split("\0")))
    return masked(text)
