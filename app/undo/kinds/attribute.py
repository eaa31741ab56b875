"""Reading and writing sysfs and procfs attributes, and settings that are no files, in a child process, bounded in time.

A scheduler write waits for what is in flight and can hang on a stuck device, and nothing gets a process out of that
state: so a child does it, which can be abandoned. Run as `python -m hostdx.app.undo.kinds.attribute` it is that child.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from hostdx.app.undo.kinds import bounded_child

if TYPE_CHECKING:
    from hostdx.app.terminal.process import ProcessIdentity

TIMEOUT_S = 5.0
MAX_ATTRIBUTE_BYTES = 1 << 16  # bytes of an attribute


class AttributeTrouble(OSError):
    """One line in `strerror`; `errno` as the kernel gave it, ETIMEDOUT where the child was abandoned.

    `writer` is that child, as long as it is still there: its write may still happen.
    """

    def __init__(self, number: int, text: str, writer: ProcessIdentity | None = None) -> None:
        super().__init__(number, text)
        self.writer = writer


AttributeTexts: TypeAlias = "dict[str, str | AttributeTrouble]"


def read_attributes(paths: Sequence[str], fds: Sequence[int] = ()) -> AttributeTexts:
    """Each path's text without its last line end, or why it could not be read."""
    return _ask_child({"read": list(paths)}, paths, fds)


def write_attribute(
    path: str, value: str, fds: Sequence[int] = (), read_after: Sequence[str] = ()
) -> tuple[str, AttributeTexts]:
    """Writes; gives what can be read back there, and then the texts of the other paths. Raises AttributeTrouble.

    `fds` are descriptors that the child holds too: the journal's lock stays taken as long as a write is under way.
    """
    answers = _ask_child({"write": [path, value], "read": list(read_after)}, (path, *read_after), fds)
    answer = answers.pop(path)
    if isinstance(answer, AttributeTrouble):
        raise answer
    return answer, answers


def write_until_settled(values: Mapping[str, str], fds: Sequence[int] = ()) -> AttributeTexts:
    """Writes those that are not so yet, in their order, and what that changed along once more; what is there then.

    Twice, because writing nr_requests sets mq-deadline's async_depth along, which may have been right before
    (measured). All in one child with one bound: a device that hangs does so once, not once for every value. An
    abandoned one goes on when the device answers: half of it would look as if somebody else had set the rest.
    """
    pairs = [[path, selected_word(text)] for path, text in values.items()]
    return _ask_child({"settle": pairs}, list(values), fds, may_finish=True)


def selected_word(text: str) -> str:
    """The active one of `none [mq-deadline] kyber`; any other text as it is, without blanks around it."""
    for word in text.split():
        if len(word) > 2 and word.startswith("[") and word.endswith("]"):
            return word[1:-1]
    return text.strip()


def _ask_child(
    request: Mapping[str, object], paths: Sequence[str], keep: Sequence[int], *, may_finish: bool = False
) -> AttributeTexts:
    if not paths:
        return {}
    try:
        answers = bounded_child.ask_child(
            "hostdx.app.undo.kinds.attribute", request, timeout_s=TIMEOUT_S, fds=keep, may_finish=may_finish
        )
    except bounded_child.StuckChild as why:
        return {path: AttributeTrouble(errno.ETIMEDOUT, str(why), why.writer) for path in paths}
    except bounded_child.DeadChild as why:
        return {path: AttributeTrouble(errno.EIO, str(why)) for path in paths}
    return {path: _text_or_trouble(answers.get(path)) for path in paths}


def _text_or_trouble(answer: list[object] | None) -> str | AttributeTrouble:
    if answer is None:
        return AttributeTrouble(errno.EIO, "no answer")
    number, text = answer
    return str(text) if number == 0 else AttributeTrouble(int(str(number)), str(text))


def _read_attribute(path: str) -> str:
    if not path.startswith("/"):
        from hostdx.probes.system import setting_calls  # only a few settings are no files

        return setting_calls.read_by_call(path)
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "is not an attribute")
        return os.read(descriptor, MAX_ATTRIBUTE_BYTES).decode("utf-8", "backslashreplace").rstrip("\n")
    finally:
        os.close(descriptor)


def _write_and_read_back(path: str, value: str) -> str:
    if not path.startswith("/"):
        from hostdx.probes.system import setting_calls

        setting_calls.write_by_call(path, value)
        return _read_attribute(path)
    # never O_CREAT, and regular files only: neither a new file nor a block device node is ever written to
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "is not an attribute")
        os.ftruncate(descriptor, 0)
        os.write(descriptor, (value + "\n").encode())
    finally:
        os.close(descriptor)
    return _read_attribute(path)


def _write_if_different_and_read(path: str, value: str) -> str:
    try:
        text = _read_attribute(path)
        if selected_word(text) == value:
            return text
    except OSError as error:
        if error.errno in (errno.ENODEV, errno.ENXIO):
            raise
    return _write_and_read_back(path, value)


def _errno_and_text_of_call(work: Callable[..., str], *arguments: str) -> tuple[int, str]:
    try:
        return 0, work(*arguments)
    except OSError as error:
        return error.errno or errno.EIO, error.strerror or str(error)


def _carry_out_request(request: Any, _going_on: Callable[[], None]) -> dict[str, tuple[int, str]]:
    answers: dict[str, tuple[int, str]] = {}
    if "write" in request:
        path, value = request["write"]
        answers[path] = _errno_and_text_of_call(_write_and_read_back, path, value)
    for path in request.get("read", ()):
        answers[path] = _errno_and_text_of_call(_read_attribute, path)
    for _ in range(2):
        for path, value in request.get("settle", ()):
            answers[path] = _errno_and_text_of_call(_write_if_different_and_read, path, value)
    return answers


if __name__ == "__main__":
    bounded_child.serve_request(_carry_out_request)
