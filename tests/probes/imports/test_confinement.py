"""What a library that reads foreign files is left with."""

import json
import subprocess
import sys

from hostdx.probes.imports.confinement import MAX_WRITTEN_BYTES, MEMORY_BYTES, NOBODY, SECONDS
from tests.needs import ROOT, needs

ASKED = """
import json, os, resource
from hostdx.probes.imports.confinement import confine_process
confine_process()
names = ("AS", "CPU", "FSIZE", "CORE")
print(json.dumps([resource.getrlimit(getattr(resource, "RLIMIT_" + n))[1] for n in names]
                 + [os.getresuid(), os.getresgid(), os.getgroups()]))
"""


def ask_confined() -> list[object]:
    answer = subprocess.run([sys.executable, "-P", "-c", ASKED], capture_output=True, text=True, check=True)
    return list(json.loads(answer.stdout))


def test_memory_time_and_disk_have_bounds() -> None:
    memory, seconds, written, core, *_ = ask_confined()
    assert memory == MEMORY_BYTES and seconds == SECONDS and written == MAX_WRITTEN_BYTES and core == 0


@needs(ROOT)
def test_root_is_nobody_there() -> None:
    assert ask_confined()[4:] == [[NOBODY] * 3, [NOBODY] * 3, []]
