"""A file of no known kind is not quoted: its name may be a neighbour's link to what only root reads."""

import pytest

from hostdx.probes.imports import kinds
from hostdx.probes.imports.model import ImportRefusedError
from hostdx.probes.imports.source import ImportSource
from tests.every_case import every_case

SECRET = "CANARY"
TEXTS = (
    "root:$6$CANARY$CANARY/abc:19000:0:99999:7:::\ndaemon:*CANARY:19000::\n",
    "-----BEGIN OPENSSH PRIVATE KEY-----\nCANARY==\n",
    "machine CANARY login CANARY password CANARY\n",
    "CANARY",
    "CANARY,CANARY\nCANARY,1\n",
    "CANARY;CANARY;CANARY\n",
    "CANARY\t1\t2\nCANARY\t1\t2\n",
    "CANARY 1.0 2.0\n",
    '{CANARY: "CANARY"}',
    '{"CANARY": "CANARY"}',
    '["CANARY"]',
    '"CANARY"',
    "[CANARY]\nCANARY = 3\n",
    "<CANARY a='CANARY'>",
    "fio: CANARY\n",
    "CANARY: (g=0): CANARY\n",
    "CANARY\nConnecting to host CANARY\nMachine (CANARY\n",
)


@every_case("kind", [None, *kinds.KINDS])
def test_no_word_of_it_is_in_the_refusal(kind: kinds.ImportKind | None) -> None:
    for text in TEXTS:
        for data in (text, "\ufeff" + text, text + "\0"):
            with pytest.raises(ImportRefusedError) as error:
                kinds.parse(ImportSource("x", data.encode()), kind)
            assert SECRET not in error.value.why + error.value.hint
