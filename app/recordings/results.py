"""Results as lines of a recording, each read as the type that its scenario declares."""

from typing import Any

import msgspec

from probes.reading.lossless_json import Decoder
from scenarios.contract.ranges import is_showable
from scenarios.contract.results import result as result_types
from scenarios.contract.results.result import Result

FORMER = "extra"  # how results were written before they had types: by a name, with the same value

_decoder = Decoder(dict[str, Any])


def decode_result(line: bytes) -> Result | None:
    """None where the line is of no type that is known here. Raises as msgspec's decoder where it does not fit it."""
    tree = _decoder.decode(line)
    tag = tree["type"]
    kind = result_types.result_named(tree.get("name")) if tag == FORMER else result_types.result_tagged(tag)
    if kind is None:
        return None
    result: Result = msgspec.convert({**tree, "type": kind.__struct_config__.tag}, kind, str_keys=True)
    if not is_showable(tree.get("value")):  # another package's type may say nothing of ranges
        raise msgspec.ValidationError("value out of range")
    return result
