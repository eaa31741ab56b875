"""Each remedy on a host that is made: its commands change what it names, and its undo gives back what was read."""

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from hostdx.probes.reading.host import Host
from hostdx.scenarios.contract.finding import Remedy
from hostdx.scenarios.triage.rules.read import bracketed_word_or_text
from hostdx.scenarios.triage.rules.rule_file import RuleText
from hostdx.scenarios.triage.rules.settings import commands_to_change_settings
from hostdx.scenarios.triage.rules.texts import RemedyText
from hostdx.scenarios.triage.rules.words import fill_command
from tests.every_case import assert_each, every_case
from tests.fakes.hosts.server import Server
from tests.scenarios.planted import PLANTED, our_rules
from tests.scenarios.test_planted_faults import findings_by_id
from tests.scenarios.triage.rules.test_rows import fill_row
from tests.scenarios.triage.rules.test_texts import FILES


@cache
def rules_with_settings() -> dict[str, RuleText]:
    return {rule.id: rule for rule in our_rules().rules if any(r.set for r in rule.remedy)}


# The last word of the kernel's own pair (mm/page-writeback.c): setting the one sets the other to 0.
PAIRS = {"dirty_bytes": "dirty_ratio", "dirty_background_bytes": "dirty_background_ratio"}
PAIRS |= {ratio: size for size, ratio in PAIRS.items()}


class Shell:
    """The commands of remedies that write settings, done to a tree; it knows no others."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.wrote: dict[str, str] = {}  # by path, what was there first

    def run(self, command: str) -> None:
        words = shlex.split(command.partition("  # ")[0])
        if words[:3] == ["sudo", "sh", "-c"]:
            return self.run(words[3])
        words = words[words[0] == "sudo" :]
        if words[:2] == ["sysctl", "-w"]:
            for word in words[2:]:
                name, _, value = word.partition("=")
                self.sysctl(f"/proc/sys/{name.replace('.', '/')}", value)
        elif words[0] == "echo" and words[2] == ">" and words[3].startswith(("/sys/", "/proc/irq/")):
            self.write(words[3], words[1])
        elif words[0] == "echo" and words[2:4] == ["|", "tee"]:
            for word in words[4:]:
                for place in self.root.glob(word.lstrip("/")):
                    self.write(f"/{place.relative_to(self.root)}", words[1])
        return None

    def sysctl(self, path: str, value: str) -> None:
        folder, _, name = path.rpartition("/")
        if name in PAIRS:
            assert value != "0", "the kernel refuses 0"
            self.write(f"{folder}/{PAIRS[name]}", "0")
        self.write(path, value)

    def write(self, path: str, value: str) -> None:
        place = self.root / path.lstrip("/")
        old = place.read_text()
        kinds = re.sub(r"[\[\]]", "", old).split()
        picks = "[" in old
        assert not picks or value in kinds, (path, value)
        place.write_text(" ".join(f"[{k}]" if k == value else k for k in kinds) if picks else f"{value}\n")
        self.wrote.setdefault(path, old)


def words_of_setting(text: str) -> list[str]:
    return bracketed_word_or_text(text).split()


def done_and_undone(root: Path, remedy: Remedy) -> dict[str, str]:
    """Return what was written: by path, what was there first. The shell writes nothing else."""
    shell = Shell(root)

    def changed_paths() -> list[str]:
        return [
            path
            for path, old in shell.wrote.items()
            if words_of_setting((root / path.lstrip("/")).read_text()) != words_of_setting(old)
        ]

    for command in remedy.commands:
        shell.run(command)
    assert changed_paths(), "its commands change nothing"
    for command in remedy.verify:
        for path in re.findall(r"(?<= )/(?:sys|proc)/[^ |*']+(?= |$)", command):
            assert (root / path.lstrip("/")).exists(), command
    for command in remedy.undo:
        shell.run(command)
    assert changed_paths() == []
    return shell.wrote


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Server:
    server = Server(tmp_path_factory.mktemp("server"))
    for name, value in (
        ("kernel/pid_max", "32768"), ("kernel/threads-max", "1000000"),
        ("net/ipv4/tcp_timestamps", "1"), ("net/ipv4/tcp_moderate_rcvbuf", "1"),
        ("net/core/netdev_max_backlog", "1000"), ("net/core/netdev_budget", "300"),
        ("net/core/netdev_budget_usecs", "8000"), ("net/ipv4/neigh/default/gc_thresh3", "1024"),
        ("net/ipv4/neigh/default/gc_thresh2", "512"), ("vm/overcommit_ratio", "50"),
        ("fs/file-max", "100000"), ("vm/nr_hugepages", "30000"), ("vm/vfs_cache_pressure", "100"),
    ):  # fmt: skip
        server.put(f"proc/sys/{name}", value)
    return server


@contextmanager
def plant_files(healthy: Server, files: dict[str, str]) -> Iterator[Server]:
    with healthy.restore_after():
        for path, text in files.items():
            healthy.put(path, text)
        yield healthy


def faults_with_settings() -> list[tuple[str, dict[str, str]]]:
    return [(rule, files) for rule, _, files in PLANTED if rule in rules_with_settings()]


def test_what_a_remedy_sets_comes_back(healthy: Server) -> None:
    def check(fault: tuple[str, dict[str, str]]) -> None:
        with plant_files(healthy, fault[1]) as server:
            check_remedies(server, *fault)

    assert_each(faults_with_settings(), check, name=lambda fault: fault[0])


def check_remedies(server: Server, rule: str, files: dict[str, str]) -> None:
    for place in server.root.glob("proc/irq/*/effective_affinity_list"):
        number = place.read_text() or "0"
        server.put(str(place.relative_to(server.root)).replace("effective", "smp"), number)
    remedies = [remedy for remedy in findings_by_id(server.root, rule)[rule].remedy if remedy.undo]
    # boot parameters, a module's parameter that is read when the module is loaded, a reshape: no file is set
    unset = ("proc/cmdline", "sys/module/mpt3sas/parameters/msix_disable", "sys/block/md0/md/sync_max")
    assert remedies or any(path in files for path in unset)
    text = rules_with_settings()[rule]
    keys = {
        key
        for remedy in text.remedy
        for key, value in remedy.set.items()
        if not key.startswith(("/", "{")) and "else ''" not in text.let.get(value.strip("{}"), "")
    }
    for remedy in remedies:
        wrote = done_and_undone(server.root, remedy)
        written_keys = {key for key in keys if f"/proc/sys/{key.replace('.', '/')}" in wrote}
        assert written_keys or not keys or any(path.startswith("/sys/") for path in wrote)
        assert all(any(key in line for line in remedy.persistent) for key in written_keys), (
            "not all of it is kept"
        )
        for path, old in wrote.items():
            (server.root / path.lstrip("/")).write_text(old)


RAISES = re.compile(
    r"(?i)\b(raise|more|enlarge|larger|double|lift|room|widen|extend|increase|usual (number|length))\b"
)


def numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"(?<![\w.-])\d+(?:\.\d+)?(?![\w.-])", text)]


@pytest.mark.parametrize("times", [1, 3, 1000])
def test_a_setting_that_is_to_be_raised_is_never_lowered(healthy: Server, times: int) -> None:
    """Whatever it was: a host may have more already than the value that suits most."""

    def check(fault: tuple[str, dict[str, str]]) -> None:
        with plant_files(healthy, fault[1]) as server:
            check_raised_settings(server, fault[0], times)

    raised = [
        fault
        for fault in faults_with_settings()
        if any(RAISES.search(remedy.title) for remedy in rules_with_settings()[fault[0]].remedy)
    ]
    assert_each(raised, check, name=lambda fault: fault[0])


def check_raised_settings(server: Server, rule: str, times: int) -> None:
    for key in {
        key
        for remedy in rules_with_settings()[rule].remedy
        if RAISES.search(remedy.title)
        for key in remedy.set
    }:
        place = server.root / (f"proc/sys/{key.replace('.', '/')}" if key[0] not in "/{" else key[1:])
        if times > 1 and place.exists():
            text = re.sub(r"\d+", lambda digits: str(int(digits[0]) * times), place.read_text())
            server.put(str(place.relative_to(server.root)), text)
    by_rule = findings_by_id(server.root, rule)
    for remedy in (
        remedy for remedy in (by_rule[rule].remedy if rule in by_rule else ()) if RAISES.search(remedy.title)
    ):
        shell = Shell(server.root)
        for command in remedy.commands:
            shell.run(command)
        for path, was in shell.wrote.items():
            now = (server.root / path[1:]).read_text()
            assert all(a <= b for a, b in zip(numbers(was), numbers(now), strict=True)), (path, was, now)
            (server.root / path[1:]).write_text(was)


def test_each_command_that_raises_is_above_what_undoes_it(tmp_path: Path) -> None:
    rules = our_rules().rules
    assert_each(rules, lambda rule: check_raising_commands(rule, tmp_path), name=lambda rule: rule.id)


def check_raising_commands(rule: RuleText, tmp_path: Path) -> None:
    """In every row of its own: `ethtool -G eth0 rx 8192` is undone by less, and no number is fixed."""
    raising = [remedy for remedy in rule.remedy if RAISES.search(remedy.title)]
    for remedy in raising:
        fixed = [line for line in remedy.commands if re.search(r" (-[A-Z]\w*|-[bw]|rpc\.nfsd) ?\w* \d", line)]
        assert not fixed, f"{fixed} may be less than what the host has"
    for row in (row.row for row in rule.tests if row.answer == "found"):
        full = fill_row(rule, row, tmp_path)
        for remedy in raising:
            for undo in (line for line in remedy.undo if "{" in line):
                alike = [line for line in remedy.commands if line.split()[:2] == undo.split()[:2]]
                for a, b in ((fill_command(undo, full), fill_command(line, full)) for line in alike):
                    assert all(x <= y for x, y in zip(numbers(a), numbers(b), strict=False)), (a, b)


def test_every_remedy_with_settings_is_tried() -> None:
    assert {rule for rule, _ in faults_with_settings()} == set(rules_with_settings())


@every_case(("ratio", "size", "other"), [("20", "0", "10"), ("0", "1048576", "10"), ("0", "99999744", "0")])
def test_write_back_in_bytes_or_in_shares_comes_back(
    tmp_path: Path, ratio: str, size: str, other: str
) -> None:
    vm = tmp_path / "proc/sys/vm"
    vm.mkdir(parents=True)
    texts = {"dirty_ratio": ratio, "dirty_bytes": size, "dirty_background_ratio": other}
    texts["dirty_background_bytes"] = "0" if other != "0" else "8192"
    for name, text in texts.items():
        (vm / name).write_text(f"{text}\n")
    lines = commands_to_change_settings(
        Host(str(tmp_path)), {"vm.dirty_bytes": "4096000", "vm.dirty_background_bytes": "8192000"}, "x"
    )
    done_and_undone(tmp_path, Remedy(title="", commands=lines.commands, undo=lines.undo))


def test_policies_that_differ_get_their_own_values_back(tmp_path: Path) -> None:
    for number, governor in enumerate(("powersave", "powersave", "ondemand", "userspace")):
        place = tmp_path / f"sys/devices/system/cpu/cpufreq/policy{number}/scaling_governor"
        place.parent.mkdir(parents=True)
        place.write_text(f"{governor}\n")
    pattern = "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor"
    lines = commands_to_change_settings(Host(str(tmp_path)), {pattern: "performance"}, "x")
    done_and_undone(tmp_path, Remedy(title="", commands=lines.commands, undo=lines.undo))


def test_a_setting_that_cannot_be_read_is_not_taken_back_to_a_guess(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    lines = commands_to_change_settings(
        Host(str(tmp_path)), {"vm.swappiness": "10", "/sys/block/sda/queue/nr_requests": "256"}, "x"
    )
    assert lines.commands == lines.undo == lines.persistent == ()


def test_a_setting_that_has_its_value_is_left_out(tmp_path: Path) -> None:
    place = tmp_path / "proc/sys/vm"
    place.mkdir(parents=True)
    (place / "swappiness").write_text("10\n")
    (place / "zone_reclaim_mode").write_text("1\n")
    lines = commands_to_change_settings(
        Host(str(tmp_path)), {"vm.swappiness": "10", "vm.zone_reclaim_mode": "0"}, "x"
    )
    assert lines.commands == ("sysctl -w vm.zone_reclaim_mode=0",)
    assert lines.undo[0] == "sysctl -w vm.zone_reclaim_mode=1"


ACTIONS = ("/sysrq-trigger", "/abort", "/cgroup.procs", "/drop_caches")  # what is no setting


def settings_in(line: str) -> set[str]:
    settings: set[str] = set()
    for part in re.split(r"\|\||&&", line.partition("   # ")[0]):
        if (
            "echo " in part
            and "> " in part
            and (path := part.rpartition("> ")[2].strip()).startswith(("/sys", "/proc", "{"))
        ):
            settings.add(path)
        elif (sysctls := re.match(r"\s*sysctl (?:-w )?(.*=.*)", part)) is not None:
            settings |= {word.partition("=")[0] for word in shlex.split(sysctls[1])}
    return {setting for setting in settings if not setting.endswith(ACTIONS)}


WRITTEN = [
    (f"{folder}.{name}", text)
    for folder, file in FILES.items()
    for (kind, name), text in file.all_entries.items()
    if kind == "remedy" and isinstance(text, RemedyText) and any(map(settings_in, text.commands))
]


def test_each_remedy_in_words_undoes_all_that_it_touches() -> None:
    assert_each(WRITTEN, lambda entry: check_undo_of_words(entry[1]), name=lambda entry: entry[0])


def check_undo_of_words(text: RemedyText) -> None:
    settings = {setting for line in text.undo for setting in settings_in(line)}
    assert {setting for line in text.commands for setting in settings_in(line)} <= settings


def test_rules_name_their_settings_as_data() -> None:
    rules = our_rules().rules
    lined = [
        (rule.id, line)
        for rule in rules
        for remedy in rule.remedy
        for line in remedy.commands
        if settings_in(line)
    ]
    assert lined == []


@every_case(
    ("path", "is_named"),
    [
        ("etc/sysctl.d/95-panic.conf", True),  # read after our own file
        ("etc/sysctl.conf", True),  # read last
        ("etc/sysctl.d/10-panic.conf", False),
        ("usr/lib/sysctl.d/50-default.conf", False),
    ],
)
def test_a_file_that_wins_at_the_next_boot_is_named(tmp_path: Path, path: str, is_named: bool) -> None:
    texts = {"proc/sys/net/ipv4/tcp_sack": "0\n", path: "net.ipv4.tcp_sack = 0\n"}
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    lines = commands_to_change_settings(Host(str(tmp_path)), {"net.ipv4.tcp_sack": "1"}, "x")
    assert any(f"/{path}" in line for line in lines.persistent) == is_named
