"""A finding as the report has it, and what a verdict advises, in lines."""

import shlex
from collections.abc import Callable, Iterable, Sequence

from hostdx.app.recordings.session import RunSession
from hostdx.app.report.forms.cells import parts_lines
from hostdx.app.report.results.finding_parts import finding_parts, finding_title
from hostdx.app.report.validity import MARKS, TONES, TrustSign
from hostdx.app.terminal.glyphs import clean_text
from hostdx.app.terminal.invocation import command_to_paste
from hostdx.app.terminal.lines import (
    Line,
    cell_width,
    crop_line,
    digit_link,
    flow_parts,
    line_with_key_names,
    link_line,
    process_link,
    split_line,
    wrap_text,
)
from hostdx.app.tui.option_values import keeps_all_options, may_be_scenario_id
from hostdx.probes.reading.process_stat import read_start_ticks
from hostdx.scenarios.contract.events import ScenarioOffer
from hostdx.scenarios.contract.finding import Finding, Remedy
from hostdx.scenarios.contract.results.document import Toned, paragraph_of


def finding_lines(finding: Finding, session: RunSession, width: int) -> list[Line]:
    return parts_lines(
        [paragraph_of(Toned(finding_title(finding), finding.severity)), *finding_parts(finding, session)],
        width,
    )


def sign_lines(signs: Iterable[TrustSign], width: int) -> list[Line]:
    """Return whether it can be trusted, the red ones first; a sign whose text is long takes lines of its own."""
    ordered = sorted(signs, key=lambda s: s.state != "critical")
    parts = [(f"{MARKS[s.state]} {s.text}", TONES[s.state], process_link(s.pid)) for s in ordered]
    linked = [span for text, role, target in parts for span in link_line([(text, role)], target)]
    return flow_parts(linked, width, gap="   ")


def sign_lines_that_fit(signs: Sequence[TrustSign], width: int, most: int) -> list[Line]:
    """Return as many signs as are whole in `most` lines, the red ones first; one alone is cut."""
    ordered = sorted(signs, key=lambda s: s.state != "critical")
    for count in range(len(ordered), 0, -1):
        lines = sign_lines(ordered[:count], width)
        if len(lines) <= most:
            return lines
    return [crop_line([*line, ("  …", "dim")], width) for line in sign_lines(ordered[:1], width)[:most]]


def next_step_lines(steps: Sequence[Remedy], width: int, room: int, *, digits: bool = True) -> list[Line]:
    """Each with the digit that plans or copies it; the commands as far as `room` lines hold all titles."""
    heads = [_step_head_lines(str(n) if digits else "→", step, width) for n, step in enumerate(steps, 1)]
    commands = [
        [
            row
            for command in step.commands
            for row in wrap_text(command_to_paste(command), width, "accent", indent=4, hang=2)
        ]
        for step in steps
    ]
    left, full_heads = room - sum(map(len, heads)), heads
    for most in (4, 3, 2, 1) if left < 2 else ():
        heads = [limit_lines(rows, most, width) for rows in full_heads]
        left = room - sum(map(len, heads))
        if left >= sum(map(len, commands)):
            break
    left = max(1, left)  # never without a command to paste
    out: list[Line] = []
    for number, (head, step, below) in enumerate(zip(heads, steps, commands, strict=True), 1):
        if len(below) > left:
            copied_words = f"{len(step.commands)} commands" if len(step.commands) > 1 else "it"
            more = line_with_key_names(f"  [c] copies {copied_words}")
            whole: Line = [(f"    {command_to_paste(step.commands[0])}" if below else "", "accent")]
            below = (
                [split_line(crop_line(whole, width - cell_width(more)), more, width)]
                if below and left > 0
                else []
            )
        left -= len(below)
        out += [link_line(line, digit_link(number) if digits else "") for line in (*head, *below)]
    return out[:room]


PLACEHOLDER = "PID"


def pid_to_measure(scenario: str, run: RunSession, host: RunSession) -> str:
    """The process that such a run is about: the one that was named for this run, else the one that a finding of triage
    would have measured by it. Empty where nobody knows, and where it has ended meanwhile."""
    pid = _named_pid(scenario, run, host)
    return pid if pid and read_start_ticks(int(pid)) is not None else ""


def _named_pid(scenario: str, run: RunSession, host: RunSession) -> str:
    here = run.began is not None and host.began is not None and run.began.host == host.began.host
    pid_option = run.began.options.get("pid") if run.began is not None and here else None
    own = pid_option[0] if isinstance(pid_option, list) and pid_option else pid_option
    if isinstance(own, int | str) and str(own).isdecimal():
        return str(own)
    for finding in host.worst_first:
        words = " ".join(finding.prove_options).replace("=", " ").split()
        if finding.prove == scenario and "--pid" in words[:-1]:
            return words[words.index("--pid") + 1]
    return ""


def scenario_argv(step: Remedy, offers: Iterable[ScenarioOffer], pid_of: Callable[[str], str]) -> list[str]:
    """The scenario and the options of its first command, `hostdx run SCENARIO ...`.

    Empty for any other command, and where a plan would not take over every option: that would be another run. `pid_of`
    gives the process that a scenario is about; "" leaves the option out, to be asked for.
    """
    try:
        words = shlex.split(step.commands[0]) if step.commands else []
    except ValueError:
        return []
    if words[:2] != ["hostdx", "run"] or not may_be_scenario_id("".join(words[2:3])):
        return []
    declared = next((offer.options for offer in offers if offer.id == words[2]), ())
    if words[-2:] == ["--pid", PLACEHOLDER]:
        pid = pid_of(words[2])
        words[-2:] = ["--pid", pid] if pid else []
    return words[2:] if keeps_all_options(words[3:], declared) else []


def limit_lines(head: list[Line], most: int, width: int) -> list[Line]:
    """On `most` lines; that it is not all is seen."""
    return (
        head if len(head) <= most else [*head[: most - 1], crop_line([*head[most - 1], (" …", "dim")], width)]
    )


def _step_head_lines(mark: str, step: Remedy, width: int) -> list[Line]:
    rows = wrap_text(step.title, width - 2, "strong")
    role = "key" if mark.isdecimal() else "accent"
    out: list[Line] = [[(f"{mark} " if not n else "  ", role), *row] for n, row in enumerate(rows)]
    return out + (wrap_text(f"▲ {step.warning}", width, "warning", indent=2, hang=2) if step.warning else [])


def commands_text(remedies: Iterable[Remedy]) -> str:
    """Return what `c` copies: every command, with its remedy's title as a comment."""
    out: list[str] = []
    for remedy in remedies:
        out.append(f"# {clean_text(remedy.title)}")
        out += [clean_text(command_to_paste(c)) for c in (*remedy.commands, *remedy.persistent)]
    return "\n".join(out)
