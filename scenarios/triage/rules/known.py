"""Every rule that is written down: `rules.toml` in the scenarios' folders, then the site's own files.

The tables that rules can look at, by name: every `NAME_rows` of the subjects, under the name that rule files use.
"""

from functools import lru_cache
from pathlib import Path

from hostdx.scenarios.contract.folders import SCENARIOS, scenario_files_named
from hostdx.scenarios.contract.knowledge_file import SITE, trusted_files
from hostdx.scenarios.triage.rules.rule_file import RuleFile, RuleText, parse_rule_file
from hostdx.scenarios.triage.rules.subjects import (
    array,
    cpu,
    crash,
    disk,
    fabric,
    hardware,
    limit,
    log,
    memory,
    mount_table,
    net,
    pci,
    process,
    remote,
    route,
    service_log,
    settings,
    tcp,
)
from hostdx.scenarios.triage.rules.table import Table

# Names that a site's rules already use stay, where the function says more.
_NAMES_IN_FILES = {
    "btrfs_device_rows": "btrfs",
    "captured_failed_unit_rows": "unit",
    "captured_lspci_rows": "lspci",
    "control_group_rows": "groups",
    "odd_process_rows": "process_fault",
    "own_control_group_rows": "group",
    "rapl_package_rows": "package",
    "san_volume_rows": "volume_path",
}
TABLES: dict[str, Table] = {
    _NAMES_IN_FILES.get(name, name.removesuffix("_rows")): rows
    for subject in (
        cpu,
        memory,
        net,
        tcp,
        disk,
        mount_table,
        array,
        hardware,
        pci,
        fabric,
        settings,
        log,
        route,
        remote,
        process,
        service_log,
        limit,
        crash,
    )
    for name, rows in vars(subject).items()
    if name.endswith("_rows") and not name.startswith("_")
}


@lru_cache(maxsize=4)
def load_written_rules(site: Path = SITE, *, tested: bool = True) -> RuleFile:
    """A site's rule takes the place of ours of the same id. What is wrong in any file is a problem, never an error.

    `tested`: ours are known to be right, and come without their rows.
    """
    rules: dict[str, RuleText] = {}
    site_files, distrusted = trusted_files(site)
    problems = list(distrusted)
    for path in (*scenario_files_named("rules*.toml"), *site_files):
        parsed_file = parse_rule_file(path, tested=tested and path.is_relative_to(SCENARIOS))
        problems += parsed_file.problems
        for rule in parsed_file.rules:
            if not rule.each.startswith("/") and rule.each not in TABLES:
                problems.append(
                    f"{path}: {rule.id}: there is no table {rule.each}; there are {', '.join(TABLES)}"
                )
            elif rule.id in rules and path.is_relative_to(SCENARIOS):
                problems.append(f"{path}: {rule.id}: another rule of hostdx has this id")
            else:
                rules[rule.id] = rule
    return RuleFile(tuple(rules.values()), tuple(problems))
