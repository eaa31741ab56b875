"""BIOS settings from a file that a vendor's tool saved: Redfish JSON, racadm, ilorest, Supermicro's sum, Lenovo's
OneCLI.

The file comes from elsewhere: no XML parser is let loose on it, lines and tags are matched.
"""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

from probes.safe_read import decode, read_regular
from probes.system.bios.attributes import MOST_VALUE, BiosAttributes, Wanted, kept
from probes.types import Absent

MOST_BYTES = 8 << 20
# racadm get -t xml: <Attribute Name="ApbDis">Disabled</Attribute>;  sum: <Setting name="..." selectedOption="..."
# .../>
_DELL_XML = re.compile(r'<Attribute\s[^>]{0,200}?Name="([^"]{1,200})"[^>]{0,200}>([^<]{0,200})<')
_SUM_XML = re.compile(r'<Setting\s[^>]{0,400}?name="([^"]{1,200})"[^>]{0,400}?selectedOption="([^"]{0,200})"')
# racadm get BIOS: `#ApbDis=Disabled`, `ApbDis=Disabled (Pending Value=Enabled)`; OneCLI: `IMM.x=y`,
# `Processors.SOCPstates=P0`
_LINE = re.compile(r"^\s*#?\s*([A-Za-z0-9][\w.()/ -]{0,199}?)\s*=\s*(.{0,200}?)\s*$", re.MULTILINE)
_PENDING = re.compile(r"(.*?)\s*\(Pending Value=(.*)\)$")


def attribute_file(path: str, wanted: Wanted) -> BiosAttributes | Absent:
    """What one file tells; Absent in one line where it cannot be read or holds no settings."""
    try:
        text = decode(read_regular(str(Path(path).absolute()), MOST_BYTES))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "no path"
        return Absent(f"{path}: {why}", "missing", path)
    found = _json(text) or _text(text)
    if not found:
        return Absent(f"{path} holds no BIOS settings in a form that is known here", "invalid", path)
    vendor = found.pop("", "")
    values, pending = {}, {}
    for name, value in kept(found, wanted).items():
        later = _PENDING.fullmatch(value)
        values[name] = later[1] if later else value
        if later:
            pending[name] = later[2]
    return BiosAttributes(source=path, values=values, vendor=str(vendor), pending=pending)


def _json(text: str) -> dict[str, object]:
    """`{"Attributes": {...}}` at any depth down to three, a bare object, or ilorest's list of such. "" is the
    vendor.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    merged: dict[str, object] = {}
    level = [found]
    for _ in range(4):
        below: list[object] = []
        for part in level:
            if isinstance(part, list):
                below += part[:100]
            elif isinstance(part, dict):
                attributes = part.get("Attributes")
                merged |= attributes if isinstance(attributes, dict) else {}
                if isinstance(part.get("Manufacturer"), str):
                    merged[""] = part["Manufacturer"][:MOST_VALUE]
                below += [value for value in part.values() if isinstance(value, dict | list)]
        level = below
    return merged or (found if isinstance(found, dict) else {})


def _text(text: str) -> dict[str, object]:
    pairs = _DELL_XML.findall(text) or _SUM_XML.findall(text) or _LINE.findall(text)
    found: dict[str, object] = {}
    for name, value in pairs:
        found[html.unescape(name).strip()] = html.unescape(value).strip()
    return found
