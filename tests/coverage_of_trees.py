"""List the files of a captured tree that no fact and no rule reads: `python -m tests.coverage_of_trees TREE ...`.

With `--sos FOLDER`, a checkout of sos, list the outputs of its plugins that nothing asks for.
"""

import argparse
import ast
import os
import re
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from hostdx.probes.reading.captured.sosreport import FOLDER, captured_file_name
from hostdx.probes.reading.host import Host
from hostdx.probes.reading.read_trace import ReadTrace
from hostdx.scenarios.triage.rules.known import load_written_rules
from hostdx.scenarios.triage.triage import examine_host
from tests.syntax import ROOT

MAX_SHOWN = 400
SOURCES = ("probes", "scenarios")


def unread_files(tree: Path) -> list[str]:
    """Paths as on the host, of what triage did not read."""
    host = Host(str(tree))
    host.is_static = True
    with ReadTrace() as read:
        for _ in examine_host(host, lambda: 0.0):
            pass
    root = host.root or str(tree)
    real = {os.path.realpath(f"{root}/{place.lstrip('/')}") for place in read if place.startswith("/")}
    files = (Path(folder, name) for folder, _, names in os.walk(root) for name in names)
    return sorted(f"/{file.relative_to(root)}" for file in files if os.path.realpath(file) not in real)


def asked_outputs() -> set[str]:
    """Patterns of the file names below sos_commands that rules and code read."""
    patterns: set[str] = set()
    for rule in load_written_rules(Path("/nonexistent")).rules:
        for path in (rule.each, *(read.path for read in rule.read.values())):
            patterns |= {path.rpartition("/")[2]} if path.startswith(FOLDER) else set()
        patterns |= {
            re.sub(r"\{\w+\}", "*", captured_file_name(read.command))
            for read in rule.read.values()
            if read.command
        }
    for folder in SOURCES:
        for module in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(module.read_text())):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and FOLDER in node.value:
                    patterns.add(node.value.rpartition("/")[2])
                elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".command"):
                    words = [a.value if isinstance(a, ast.Constant) else "*" for a in node.args]
                    patterns.add(captured_file_name(tuple(str(word) for word in words)) + "*")
    return {pattern for pattern in patterns if pattern.strip("*_")}


def sos_outputs(checkout: Path) -> Iterator[tuple[str, str]]:
    """Plugin and command of every output that sos' plugins write."""
    for plugin in sorted((checkout / "sos/report/plugins").glob("*.py")):
        for node in ast.walk(ast.parse(plugin.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".add_cmd_output"):
                for part in ast.walk(node):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str) and " " in part.value:
                        yield plugin.stem, part.value
                    elif isinstance(part, ast.JoinedStr):
                        parts = [p.value if isinstance(p, ast.Constant) else "*" for p in part.values]
                        yield plugin.stem, "".join(map(str, parts))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trees", nargs="*", type=Path)
    parser.add_argument("--sos", type=Path, help="a checkout of sos")
    options = parser.parse_args()
    for tree in options.trees:
        unread = unread_files(tree)
        print(f"{tree}: {len(unread)} files that nothing reads")
        kinds = Counter(re.sub(r"\d+", "N", path) for path in unread)
        for path, count in kinds.most_common(MAX_SHOWN):
            print(f"  {count:5} {path}")
    if options.sos is not None:
        outputs = asked_outputs()
        for plugin, command in dict.fromkeys(sos_outputs(options.sos)):
            name = captured_file_name(tuple(command.split(" ")))
            if not any(fnmatchcase(name, pattern) or fnmatchcase(name, f"*{pattern}") for pattern in outputs):
                print(f"  {plugin:16} {command}")


if __name__ == "__main__":
    main()
