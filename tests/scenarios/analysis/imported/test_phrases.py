"""Every contradiction and trouble that a parser can raise has its sentence."""

import re
from pathlib import Path

import hostdx.probes.imports
from hostdx.scenarios.triage.rules.texts import finding_texts

SOURCES = Path(hostdx.probes.imports.__file__).parent
KNOWN = {
    name for kind, name in finding_texts("analysis/imported").all_entries if kind == "finding" and "." in name
}


def _source_text() -> str:
    """The importers: code, and formats that are data."""
    files = (*SOURCES.rglob("*.py"), *(SOURCES / "formats").glob("*.toml"))
    return "".join(path.read_text() for path in sorted(files))


def test_every_id_has_its_sentence() -> None:
    text = _source_text()
    raised = set(
        re.findall(r'"((?:io500|fio|hepscore|suite|prmon|ior|mdtest|sysstat|iperf3|sysbench|stream|rados|'
                            r'elbencho|hpl|hpcg|nccl|stress-ng|perf|darshan|numactl|unixbench)\.[a-z0-9-]+)"', text)
    )  # fmt: skip
    assert len(raised) > 60
    assert raised <= KNOWN


def test_no_sentence_without_its_id() -> None:
    text = _source_text()
    other_ids = {name for name in KNOWN if not name.startswith("import.")}
    assert not [name for name in other_ids if f'"{name}"' not in text]
