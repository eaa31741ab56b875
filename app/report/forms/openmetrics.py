"""Gauges in the text form that node_exporter's textfile collector reads.

That is the form of Prometheus: it has no `# UNIT`, and the collector refuses times (node_exporter,
collector/textfile.go).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

Sample: TypeAlias = tuple[dict[str, str], float]
_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f]")


def gauge_lines(name: str, help_text: str, samples: Sequence[Sample]) -> Iterator[str]:
    """Yield a gauge with its samples; nothing where there are none."""
    if samples:
        yield f"# HELP {name} {help_text}"
        yield f"# TYPE {name} gauge"
    for labels, value in samples:
        pairs = ",".join(f'{label}="{_escape_label(text)}"' for label, text in labels.items())
        yield f"{name}{{{pairs}}} {value!r}" if pairs else f"{name} {value!r}"


def _escape_label(text: str) -> str:
    """Names come from hosts and foreign recordings."""
    safe = _FORBIDDEN.sub(" ", text)[:200].encode("utf-8", "replace").decode()
    return safe.replace("\\", r"\\").replace('"', r"\"")


def gauges_text(lines: Iterable[str]) -> str:
    """Return the lines of gauges as a whole file."""
    return "\n".join((*lines, "# EOF", ""))
