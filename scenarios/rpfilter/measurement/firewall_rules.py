"""The rules that are compared: loaded in the private namespace, and proved to be there."""

from __future__ import annotations

import os
import re
import subprocess
from typing import Literal, TypeAlias

import msgspec

from hostdx.probes.children.command import find_tool
from hostdx.probes.engine.measured import BenchRefused, MeasurementInvalid
from hostdx.probes.system.firewall.ruleset_text import parse_nft_rules
from hostdx.probes.types import Absent

Loader: TypeAlias = Literal["nft", "iptables-nft", "iptables-legacy"]
RuleKind: TypeAlias = Literal["none", "trivial", "check"]
_SECONDS = 5.0
_COUNTER = re.compile(r"counter (\w+) \{[^}]*?packets ([0-9]{1,20})")


class Treatment(msgspec.Struct, frozen=True, kw_only=True):
    """One variant of the receive path.

    rule_kind none: a chain at the hook without a rule; trivial: a rule that looks at the mark and matches nothing;
              check: the reverse-path check with these flags
    ends      where the measured packets are counted and dropped: after the check, and for the setting rp_filter
              after the route lookup
    rp_filter the IPv4 setting in the namespace: 0, 1 or 2
    """

    rule_kind: RuleKind
    protocol: Literal["IPv6", "IPv4"]
    loader: Loader = "nft"
    hook: str = "prerouting"
    priority: int = 10
    flags: tuple[str, ...] = ("saddr", "mark", "iif")
    table: str = "mangle"  # of ip6tables
    ends: Literal["prerouting", "input"] = "prerouting"
    rp_filter: int = 0
    catches: bool = True  # False: not even a spoofed packet is dropped (none, trivial, rp_filter 0)

    @property
    def nft_ruleset(self) -> str:
        """The whole ruleset: it replaces what is there. TCP is left alone, so that one text serves both loads."""
        proto = "ipv6" if self.protocol == "IPv6" else "ipv4"
        rule = ""
        if self.loader == "nft" and self.rule_kind == "trivial":
            rule = f"meta nfproto {proto} meta mark 77 counter name caught drop"
        elif self.loader == "nft" and self.rule_kind == "check":
            fib = " . ".join(f for f in ("saddr", "mark", "iif") if f in self.flags)
            rule = f"meta nfproto {proto} fib {fib} oif missing counter name caught drop"
        last = max(self.priority + 1, 100)
        return (
            "flush ruleset\n"
            "table inet hostdx {\n"
            "\tcounter caught {\n\t}\n"
            "\tcounter arrived {\n\t}\n"
            "\tchain check {\n"
            f"\t\ttype filter hook {self.hook} priority {self.priority}; policy accept;\n"
            f"\t\t{rule}\n"
            "\t}\n"
            "\tchain last {\n"
            f"\t\ttype filter hook {self.ends} priority {last};\n"
            "\t\tudp dport 9 counter name arrived drop\n"
            "\t}\n"
            "}\n"
        )

    @property
    def iptables_commands(self) -> tuple[tuple[str, ...], ...]:
        """The commands after `nft_ruleset` where the rule is one of iptables: emptied first, so that the hook stays."""
        if self.loader == "nft":
            return ()
        family = "ip6tables" if self.protocol == "IPv6" else "iptables"
        start = (f"{family}-{self.loader.removeprefix('iptables-')}", "-w", "5", "-t", self.table)
        commands: list[tuple[str, ...]] = [(*start, "-F", "PREROUTING")]
        if self.rule_kind == "trivial":
            commands.append((*start, "-A", "PREROUTING", "-m", "mark", "--mark", "77", "-j", "DROP"))
        elif self.rule_kind == "check":
            loose = () if "iif" in self.flags else ("--loose",)
            mark = ("--validmark",) if "mark" in self.flags else ()
            rule = ("-m", "rpfilter", *loose, *mark, "--invert", "-j", "DROP")
            commands.append((*start, "-A", "PREROUTING", *rule))
        return tuple(commands)


class RuleCounters(msgspec.Struct, frozen=True):
    """Packets since the rules were loaded: those that reached the end, and those that the check dropped."""

    arrived: int
    caught: int


def replace_rules(before: Treatment | None, treatment: Treatment) -> None:
    """Replaces the rules of the calling thread's namespace. The caller has asserted that it is a private one."""
    if before is not None and before.loader == "iptables-legacy":
        # its tables are not nft's: `flush ruleset` leaves them as they are
        _run_for_error_text(before.iptables_commands[0])
    complaint = _run_for_error_text(("nft", "-f", "-"), treatment.nft_ruleset)
    if complaint:
        raise _error_of_complaint(treatment, complaint)
    for command in treatment.iptables_commands:
        complaint = _run_for_error_text(command)
        if complaint:
            raise _error_of_complaint(treatment, complaint)


def read_counters(treatment: Treatment) -> RuleCounters:
    """The counters as the kernel has them now. As text: an nft without JSON can measure as well."""
    packets_by_counter = {
        name: int(packets) for name, packets in _COUNTER.findall(_command_output(("nft", "list", "counters")))
    }
    if not {"caught", "arrived"} <= set(packets_by_counter):
        raise MeasurementInvalid("nft does not list the counters that it loaded")
    caught = packets_by_counter["caught"]
    if treatment.loader != "nft" and treatment.rule_kind != "none":
        caught = _packets_caught(treatment)
    return RuleCounters(arrived=packets_by_counter["arrived"], caught=caught)


def are_rules_loaded(treatment: Treatment) -> bool:
    """Return whether the kernel lists what was meant: a rule in the chain, none in the chain of `none`."""
    if treatment.loader != "nft":
        return ("rpfilter" in _iptables_save_output(treatment)) == (treatment.rule_kind == "check")
    text = _command_output(("nft", "list", "ruleset"))
    listed = parse_nft_rules(text)
    checks = [] if isinstance(listed, Absent) else [r for r in listed if r.chain == "check" and r.is_reached]
    trivial = re.search(r"\bmark \S+ counter name", text) is not None
    return len(checks) == (treatment.rule_kind == "check") and trivial == (treatment.rule_kind == "trivial")


def _iptables_save_output(treatment: Treatment) -> str:
    command = treatment.iptables_commands[0][0]
    return _command_output((f"{command}-save", "-c", "-t", treatment.table))


def _packets_caught(treatment: Treatment) -> int:
    for line in _iptables_save_output(treatment).splitlines():
        if line.startswith("[") and " -A PREROUTING " in line:
            return int(line[1:].split(":", 1)[0])
    return 0


def _error_of_complaint(treatment: Treatment, complaint: str) -> MeasurementInvalid:
    line = next((x.strip() for x in complaint.splitlines() if x.strip()), "no reason given")
    if treatment.rule_kind == "check" and (
        "No such file" in complaint or "not supported" in complaint.lower()
    ):
        return MeasurementInvalid(
            f"this kernel has no reverse-path lookup for its firewall (fib, rpfilter): {line}"
        )
    return MeasurementInvalid(f"the rule cannot be loaded in the private namespace: {line}")


def _run_for_error_text(argv: tuple[str, ...], text: str = "") -> str:
    """Return what the command complained of; empty where it succeeded."""
    done = _run_tool(argv, text)
    return "" if done.returncode == 0 else (done.stderr or f"{argv[0]} exited with status {done.returncode}")


def _command_output(argv: tuple[str, ...]) -> str:
    done = _run_tool(argv, "")
    if done.returncode != 0:
        raise MeasurementInvalid(f"{argv[0]} failed in the private namespace: {done.stderr.strip()[:200]}")
    return done.stdout


def _run_tool(argv: tuple[str, ...], stdin_text: str) -> subprocess.CompletedProcess[str]:
    path = find_tool(argv[0])
    if path is None:
        package = "nftables" if argv[0] == "nft" else "iptables"
        raise BenchRefused(f"{argv[0]} is not installed (package {package})")
    # iptables-legacy would wait for the host's own lock, and cannot open it in a user namespace: iptables(8)
    environment = {**os.environ, "LC_ALL": "C", "XTABLES_LOCKFILE": "/dev/null"}
    try:
        return subprocess.run(
            [path, *argv[1:]],
            input=stdin_text,
            capture_output=True,
            text=True,
            errors="backslashreplace",
            timeout=_SECONDS,
            env=environment,
            cwd="/",
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise BenchRefused(f"{argv[0]} did not answer within {_SECONDS:g} s") from None
