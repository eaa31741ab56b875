"""What ends a command with one line on stderr: never a traceback, never two lines."""

from hostdx.app.terminal.process import ProcessIdentity

USAGE = 2
COULD_NOT = 3
INTERRUPTED = 130
TERMINATED = 143


def scenario_failure_text(command: str, scenario: str, reason: str) -> str:
    """`run storage: ...`; a scenario that names itself in its reason is not named twice."""
    return f"{command} {scenario}: {reason.removeprefix(f'{scenario}: ')}"


class Failure(Exception):
    """`text` is one line for the admin: what, where, why; what next. `status` is the exit status."""

    def __init__(self, text: str, status: int = COULD_NOT) -> None:
        super().__init__(text)
        self.text = text
        self.status = status


class ChangeNotMade(Exception):
    """An action could not be carried out, in one line. What was begun has to be reverted.

    `writer` is a child that was abandoned at it: until it is gone, it may still happen.
    """

    def __init__(self, text: str, writer: ProcessIdentity | None = None) -> None:
        super().__init__(text)
        self.writer = writer


class UndoIncomplete(Failure):
    """A change stays open in the journal: the run ends with it. `identifier` is the journal's entry."""

    def __init__(self, text: str, identifier: str) -> None:
        super().__init__(text)
        self.identifier = identifier
