"""BIOS settings from a file that a vendor's tool saved: Redfish JSON, racadm, ilorest, Supermicro's sum, Lenovo's
OneCLI.

The file comes from elsewhere: no XML parser is let loose on it, lines and tags are matched.
"""

import codecs
import json

from hostdx.probes import units
from hostdx.probes.files.safe_read import FileTooLarge, decode_host_text, read_trusted_file
from hostdx.probes.reading.patterns import lazy_pattern
from hostdx.probes.system.bios.attributes import (
    MAX_VALUE_CHARACTERS,
    BiosAttributes,
    Wanted,
    wanted_attributes_as_text,
)
from hostdx.probes.types import Absent

MAX_FILE_BYTES = 8 << 20
# racadm get -t xml: <Attribute Name="ApbDis">Disabled</Attribute>;  sum: <Setting name="..." selectedOption="..."
# .../>
_DELL_XML = lazy_pattern(r'<Attribute\s[^>]{0,200}?Name="([^"]{1,200})"[^>]{0,200}>([^<]{0,200})<')
_SUM_XML = lazy_pattern(
    r'<Setting\s[^>]{0,400}?name="([^"]{1,200})"[^>]{0,400}?selectedOption="([^"]{0,200})"'
)
# racadm get BIOS: `#ApbDis=Disabled`, `ApbDis=Disabled (Pending Value=Enabled)`; OneCLI: `IMM.x=y`,
# `Processors.SOCPstates=P0`
_NAME = lazy_pattern(r"[A-Za-z0-9][\w.()/ -]{0,199}")
_PENDING = lazy_pattern(r"(.*?)\s*\(Pending Value=(.*)\)$")


def read_attribute_file(path: str, wanted: Wanted) -> BiosAttributes | Absent:
    """Return what one file tells; Absent in one line where it cannot be read or holds no settings."""
    try:
        data = read_trusted_file(path, MAX_FILE_BYTES)
    except FileTooLarge:
        return Absent(
            f"{path} is larger than {units.format_size(MAX_FILE_BYTES)}, which no list of BIOS settings is",
            "invalid",
            path,
        )
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "no path"
        return Absent(f"{path}: {why}", "missing", path)
    if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):  # saved by a tool on Windows
        data = data.decode("utf-16", "replace").encode()
    data = data.removeprefix(codecs.BOM_UTF8)
    # A NUL stands in no text: random bytes would match a line's pattern somewhere.
    attributes, sure = ({}, False) if b"\0" in data else _values_and_is_vendor_form(decode_host_text(data))
    vendor = attributes.pop("", "")
    if not attributes or not (sure or any(map(wanted, attributes))):
        return Absent(
            f"{path} holds no BIOS settings in a form that is known here (Redfish JSON, racadm, sum, OneCLI)",
            "invalid",
            path,
        )
    values, pending = {}, {}
    for name, value in wanted_attributes_as_text(attributes, wanted).items():
        later = _PENDING.fullmatch(value)
        values[name] = later[1] if later else value
        if later:
            pending[name] = later[2]
    return BiosAttributes(source=path, values=values, vendor=str(vendor), pending=pending)


def _values_and_is_vendor_form(text: str) -> tuple[dict[str, object], bool]:
    """Names and values, and whether the form is a vendor's own, so that names which nobody here knows count too."""
    import html  # its table of names takes 2 ms

    values, attributes = _parse_json_and_has_attributes(text)
    if values:
        return values, attributes
    for pattern in (_DELL_XML, _SUM_XML):
        if pairs := pattern.findall(text):
            return {html.unescape(name).strip(): html.unescape(value).strip() for name, value in pairs}, True
    return _parse_assignments(text), False


def _parse_assignments(text: str) -> dict[str, object]:
    """`name = value`, split by hand: on a file of nothing but blanks a pattern tries for hours."""
    attributes: dict[str, object] = {}
    for line in text.splitlines():
        name, _, value = line.partition("=")
        name, value = name.strip().removeprefix("#").strip(), value.strip()
        if _NAME.fullmatch(name) and len(value) <= MAX_VALUE_CHARACTERS:
            attributes[name] = value
    return attributes


def _parse_json_and_has_attributes(text: str) -> tuple[dict[str, object], bool]:
    """`{"Attributes": {...}}` to a depth of three, a bare object, or ilorest's list of such. "" is the vendor."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return {}, False
    merged: dict[str, object] = {}
    level = [document]
    for _ in range(4):
        below: list[object] = []
        for part in level:
            if isinstance(part, list):
                below += part[:100]
            elif isinstance(part, dict):
                attributes = part.get("Attributes")
                merged |= attributes if isinstance(attributes, dict) else {}
                if isinstance(part.get("Manufacturer"), str):
                    merged[""] = part["Manufacturer"][:MAX_VALUE_CHARACTERS]
                below += [value for value in part.values() if isinstance(value, dict | list)]
        level = below
    if set(merged) - {""}:
        return merged, True
    return (document if isinstance(document, dict) else {}), False
