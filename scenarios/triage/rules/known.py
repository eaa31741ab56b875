"""Every rule that is written down: `rules.toml` in the scenarios' folders, then the site's own files."""

from functools import lru_cache
from pathlib import Path

from scenarios.contract.folders import SCENARIOS, paths_of
from scenarios.contract.knowledge_file import SITE, trusted_files
from scenarios.triage.rules.rule_file import RuleFile, RuleText, parse_rule_file
from scenarios.triage.rules.tables import TABLES


@lru_cache(maxsize=4)
def written_rules(site: Path = SITE, *, tested: bool = True) -> RuleFile:
    """A site's rule takes the place of ours of the same id. What is wrong in any file is a problem, never an error.

    `tested`: ours are known to be right, and come without their rows.
    """
    rules: dict[str, RuleText] = {}
    site_files, distrusted = trusted_files(site)
    problems = list(distrusted)
    for path in (*paths_of("rules*.toml"), *site_files):
        parsed_file = parse_rule_file(path, tested=tested and path.is_relative_to(SCENARIOS))
        problems += parsed_file.problems
        for rule in parsed_file.rules:
            if not rule.each.startswith("/") and rule.each not in TABLES:
                problems.append(
                    f"{path}: {rule.id}: there is no table {rule.each}; there are {', '.join(TABLES)}"
                )
            else:
                rules[rule.id] = rule
    return RuleFile(tuple(rules.values()), tuple(problems))
