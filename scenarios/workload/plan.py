"""The plan's words: what is run, and what a recording keeps of a variant."""

from __future__ import annotations

import os
import shlex
from os.path import normpath, realpath

from hostdx.probes.engine.command.energy import energy_counter_access
from hostdx.probes.engine.command.perf_events import CountersFromExec
from hostdx.probes.engine.command.topdown import find_top_down_events
from hostdx.probes.files.path_ownership import known_path_writers_text
from hostdx.probes.reading.host import Host
from hostdx.probes.reading.secrecy.secrets import mask_tree, short_hash
from hostdx.probes.types import Absent
from hostdx.probes.units import format_size
from hostdx.scenarios.contract.action import Action
from hostdx.scenarios.contract.plan import Variant, command_variant
from hostdx.scenarios.workload.cold import ALL, WHOLE, paths_to_drop
from hostdx.scenarios.workload.group import InheritedLimits, group_action
from hostdx.scenarios.workload.request import CommandRequest
from hostdx.scenarios.workload.variants import CommandVariant

WITHOUT_ENERGY = {
    "missing": "this host shows no RAPL counters",
    "permission": "the RAPL counters are readable for root only",
    "unreadable": "the RAPL counters are there, but none can be read",
}
COMMANDS = ("cmd", "wrap")  # words of a variant whose value is a command line


def make_variant(job: CommandVariant, *, private: bool) -> Variant:
    """Secrets masked: it is on the screen before a recording masks anything."""
    shown_words = mask_tree(job.own)
    if private:
        shown_words = {k: short_hash(v) if k in COMMANDS or k in job.env else v for k, v in job.own.items()}
    return command_variant(job.id, shown_words)


def list_commands(request: CommandRequest, *, private: bool) -> tuple[str, ...]:
    """All that is started, as it would be typed."""
    helper_commands = [argv for argv in (request.prepare, request.cleanup, request.treat) if argv]
    lines = [shlex.join(argv) for argv in (*dict.fromkeys(j.argv for j in request.jobs), *helper_commands)]
    return tuple(short_hash(text) if private else text for text in lines)


def list_actions(request: CommandRequest, root: str | Absent, own: InheritedLimits) -> tuple[Action, ...]:
    """A group for each variant where there can be one, and each setting that one of them names."""
    groups: list[Action] = []
    if not isinstance(root, Absent):
        groups = [group_action(job.id, root, {**own.limits, **job.limits}) for job in request.jobs]
    setting_actions: list[Action] = [WHOLE] if ALL in request.cold else []
    for action in (action for job in request.jobs for action in job.settings):
        if action not in setting_actions:
            setting_actions.append(action)
    return (*groups, *setting_actions)


def left_out_sentences(root: str | Absent) -> tuple[str, ...]:
    """Return what cannot be known here, and what it needs."""
    reasons = [f"memory pressure, swap-ins and reclaim: {root.reason}"] if isinstance(root, Absent) else []
    counters = CountersFromExec()
    if not counters.counted_events:
        reasons.append(f"instructions, cycles, cache and branch misses, top-down: {_why_no_counters()}")
    elif find_top_down_events() is None:
        reasons.append("top-down shares of the pipeline: this CPU or kernel shows no counters for them")
    counters.read_and_close()
    if (energy := energy_counter_access()) != "readable":
        reasons.append(f"energy: {WITHOUT_ENERGY[energy]}")
    return tuple(reasons)


def _why_no_counters() -> str:
    level = Host().read_integer("/proc/sys/kernel/perf_event_paranoid")
    if os.geteuid() and isinstance(level, int) and level > 2:
        return f"perf events are for root only here (kernel.perf_event_paranoid is {level})"
    virtual = " hypervisor" in str(Host().read_file_text("/proc/cpuinfo"))
    return f"{'this virtual machine' if virtual else 'this host'} has no hardware counters"


def cold_sentences(request: CommandRequest, *, private: bool) -> tuple[str, ...]:
    """Return what is dropped from the cache, where a link leads, and who else rules a folder on the way."""
    cold_paths = dict.fromkeys(path for job in request.jobs for path in paths_to_drop(request.cold, job))
    if not cold_paths:
        return ()
    names = ", ".join(path for path in request.cold if path != ALL)
    led = (
        []
        if private
        else [f"{path} is {real}" for path in cold_paths if (real := realpath(path)) != normpath(path)]
    )
    rulers = dict.fromkeys(ruler for path in cold_paths if (ruler := known_path_writers_text(realpath(path))))
    return (
        f"drops {names} from the page cache before each run" + (f" ({', '.join(led)})" if led else ""),
        *(
            f"{ruler}, who can put other files there: hostdx opens regular files only, and follows no link there"
            for ruler in rulers
        ),
    )


def planned_sentences(
    request: CommandRequest, budget_s: float, limits: InheritedLimits, *, private: bool
) -> tuple[str, ...]:
    treated = f", with the treatment before every {request.every} runs" if request.treat else ""
    run_sentence = (
        f"runs the command {request.series} times, for at most {budget_s:.0f} s{treated}"
        if request.series
        else f"runs the command under {len(request.jobs)} variants in turn for {budget_s:.0f} s, each twice a group"
    )
    length = (
        "how long a run lasts is found in a warm-up run of each variant; where "
        f"{request.load.min_groups} groups ({request.fewest_runs} runs) do not fit into the rest of the budget, "
        "nothing is measured: fewer cannot decide"
    )
    return (
        run_sentence,
        *([length] if request.fewest_runs else []),
        f"a run that fails or takes more than {request.at_most_s:.0f} s is not counted; all that it started is stopped",
        *([limits.limits_sentence] if limits.limits else []),
        "what the command itself changes or writes is not undone",
        *([f"stops when {format_size(request.most_bytes)} are written"] if request.most_bytes else []),
        *cold_sentences(request, private=private),
    )
