"""A host that passes for the live one: files come from a folder, commands from a table."""

from collections.abc import Mapping
from pathlib import Path

from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent


class Answering(Host):
    """`commands` maps whole command lines to their output; any other is not installed. `asked` is the log."""

    def __init__(
        self, root: Path, commands: Mapping[str, str | Absent], files: Mapping[str, str] | None = None
    ) -> None:
        for path, text in {"/proc/version": "Linux\n", "/sys/README": "", **(files or {})}.items():
            place = root / path.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        super().__init__(str(root))
        self.live = True
        self.asked: list[str] = []
        self._commands = dict(commands)

    def read_command(self, *argv: str, timeout_s: float = 2.0, any_status: bool = False) -> str | Absent:
        line = " ".join(argv)
        self.asked.append(line)
        return self._commands.get(line, Absent(f"{argv[0]} is not installed", "tool", line))
