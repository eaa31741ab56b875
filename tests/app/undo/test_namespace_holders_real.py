"""Undoing namespaces that a process holds: that process is found by its name, ended, and nothing else is touched."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hostdx.app.undo.kinds.resources import find_namespace_holders, kill_namespace_holders
from hostdx.probes.engine.measured import BenchRefused
from hostdx.scenarios.rpfilter.measurement.network import LabNetwork
from tests.needs import not_here
from tests.real.network_state import namespaces_in_use
from tests.real.polled import happens

pytestmark = [pytest.mark.real]


@pytest.mark.usefixtures("own_modules_are_started")
async def test_the_holder_is_ended_and_a_bystander_is_not() -> None:
    name = f"hostdx-holder-{os.getpid()}"
    bystander = subprocess.Popen([sys.executable, "-c", "input()", name], stdin=subprocess.PIPE)
    try:
        try:
            network = await LabNetwork.start(name)
        except BenchRefused as error:
            not_here(f"no network namespace can be made here: {error}")
        namespace = str(Path(f"/proc/{network.process_id}/ns/net").readlink())
        assert list(find_namespace_holders(name)) == [network.process_id]
        assert find_namespace_holders(name + "x") == {}
        outcome = await asyncio.to_thread(kill_namespace_holders, name)
        assert outcome.state == "reverted"
        assert find_namespace_holders(name) == {}
        await network.close()
        assert happens(lambda: namespace not in namespaces_in_use())
        assert bystander.poll() is None
        second = await asyncio.to_thread(kill_namespace_holders, name)
        assert second.state == "reverted"
    finally:
        bystander.communicate(b"\n", timeout=10)


def test_a_name_that_is_not_ours_is_refused() -> None:
    assert kill_namespace_holders("sshd").state == "failed"
