"""Side values on the way back: what our switch reset is restored, what somebody set since is left alone and said."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from hostdx.app.undo import effects
from hostdx.app.undo.journal import JournalEntry
from hostdx.app.undo.kinds import attribute, settings
from hostdx.scenarios.contract.action import Action
from hostdx.scenarios.experiment.schedule.switch import attribute_change


class Queue:
    """Files that behave as a queue: switching sets the side values to what the kernel would."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.put(scheduler="mq-deadline", nr_requests="100", fifo_batch="7")

    def put(self, **values: str) -> None:
        for name, value in values.items():
            self.path(name).write_text(f"{value}\n")

    def path(self, name: str) -> Path:
        return self.place / name

    def now(self) -> tuple[str, ...]:
        return tuple(self.path(n).read_text().strip() for n in ("scheduler", "nr_requests", "fifo_batch"))

    def switch(self) -> JournalEntry:
        """To bfq, which has no fifo_batch of its own and resets the depth."""
        action = Action(
            kind="attribute",
            title="s",
            target=str(self.path("scheduler")),
            new="bfq",
            side_paths=(str(self.path("nr_requests")), str(self.path("fifo_batch"))),
        )
        entry = effects.carry_out_entry(effects.prepare_entry(action, "x"), ())
        self.path("fifo_batch").unlink()
        self.put(nr_requests="256")
        return replace(entry, left={str(self.path("nr_requests")): "256"})


@pytest.fixture
def queue(tmp_path: Path) -> Queue:
    return Queue(tmp_path)


class Notes:
    """What the journal would be told; a step of somebody else's may come in between."""

    def __init__(self, queue: Queue, **after_back: str) -> None:
        self.queue = queue
        self.texts: list[str] = []
        self.left: dict[str, str] = {}
        self.after_back = after_back

    def record_undoing(self, identifier: str) -> None:
        self.texts.append("undoing")
        self.queue.put(nr_requests="256", fifo_batch="16")  # what the kernel does with the switch back

    def record_back(self, identifier: str, left: dict[str, str]) -> None:
        self.texts.append("back")
        self.left = left


def test_ours_is_put_back_with_its_sides(queue: Queue) -> None:
    notes = Notes(queue)
    assert effects.revert_entry(queue.switch(), (), notes) == effects.UNDONE
    assert queue.now() == ("mq-deadline", "100", "7")
    assert notes.texts == ["undoing", "back"]
    assert notes.left == {str(queue.path("nr_requests")): "256", str(queue.path("fifo_batch")): "16"}


def test_somebodys_later_settings_stay(queue: Queue) -> None:
    """Killed on bfq; the admin sets the old scheduler again, with a depth and a batch of his own."""
    entry = queue.switch()
    queue.put(scheduler="mq-deadline", nr_requests="64", fifo_batch="3")
    outcome = effects.revert_entry(entry)
    assert outcome.state == "kept"
    assert all(value in outcome.reason for value in ("nr_requests", "'64'", "'100'", "fifo_batch"))
    assert queue.now() == ("mq-deadline", "64", "3")


def test_what_our_switch_left_is_put_back_beside_it(queue: Queue) -> None:
    entry = queue.switch()
    queue.put(scheduler="mq-deadline", fifo_batch="3")
    outcome = effects.revert_entry(entry)
    assert outcome.state == "kept" and "fifo_batch" in outcome.reason and "nr_requests" not in outcome.reason
    assert queue.now() == ("mq-deadline", "100", "3")


def test_killed_between_the_switch_back_and_its_sides(queue: Queue) -> None:
    entry = replace(queue.switch(), undoing=True)
    queue.put(scheduler="mq-deadline", nr_requests="256", fifo_batch="16")
    assert effects.revert_entry(entry) == effects.UNDONE
    assert queue.now() == ("mq-deadline", "100", "7")


def test_after_the_switch_back_was_noted_others_are_told_apart(queue: Queue) -> None:
    left = {str(queue.path("nr_requests")): "256", str(queue.path("fifo_batch")): "16"}
    entry = replace(queue.switch(), undoing=True, back=True, left=left)
    queue.put(scheduler="mq-deadline", nr_requests="256", fifo_batch="3")
    outcome = effects.revert_entry(entry)
    assert outcome.state == "kept" and "fifo_batch" in outcome.reason
    assert queue.now() == ("mq-deadline", "100", "3")


def test_killed_among_the_side_values(queue: Queue) -> None:
    """The depth is back and has set the batch along, as nr_requests sets async_depth; then the writer was killed."""
    left = {str(queue.path("nr_requests")): "256", str(queue.path("fifo_batch")): "16"}
    entry = replace(queue.switch(), undoing=True, back=True, left=left)
    queue.put(scheduler="mq-deadline", nr_requests="100", fifo_batch="100")
    assert effects.revert_entry(entry) == effects.UNDONE
    assert queue.now() == ("mq-deadline", "100", "7")


def test_where_nothing_was_written_nothing_is_put_back(queue: Queue) -> None:
    action = Action(
        kind="attribute",
        title="s",
        target=str(queue.path("scheduler")),
        new="mq-deadline",
        side_paths=(str(queue.path("nr_requests")),),
    )
    entry = effects.carry_out_entry(effects.prepare_entry(action, "x"), ())
    queue.put(nr_requests="64")
    assert effects.revert_entry(entry) == effects.UNDONE
    assert queue.now() == ("mq-deadline", "64", "7")


def test_a_value_that_is_silently_not_taken_is_not_set(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel may take a write and keep what it had."""
    action = Action(kind="attribute", title="s", target=str(queue.path("scheduler")), new="bfq")
    entry = effects.prepare_entry(action, "x")
    monkeypatch.setattr(attribute, "write_attribute", lambda *arguments: ("none [mq-deadline] bfq", {}))
    with pytest.raises(effects.ChangeNotMade):
        effects.carry_out_entry(entry, ())


def test_a_side_value_that_another_one_sets_along_is_written_once_more(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As nr_requests sets async_depth along, which may have been right before."""
    put = attribute._write_and_read_back

    def put_along(path: str, value: str) -> str:
        if path.endswith("nr_requests"):
            queue.put(fifo_batch=value)
        return put(path, value)

    monkeypatch.setattr(attribute, "_write_and_read_back", put_along)
    pairs = [[str(queue.path("fifo_batch")), "7"], [str(queue.path("nr_requests")), "48"]]
    answers = attribute._carry_out_request({"settle": pairs}, lambda: None)
    assert answers == {path: (0, value) for path, value in pairs}
    assert queue.now() == ("mq-deadline", "48", "7")


def test_all_sides_in_one_child(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[dict[str, object]] = []
    ask = attribute._ask_child

    def ask_and_note(request: dict[str, object], *rest: object, **more: object) -> object:
        requests.append(request)
        return ask(request, *rest, **more)  # type: ignore[arg-type]

    entry = queue.switch()
    monkeypatch.setattr(attribute, "_ask_child", ask_and_note)
    effects.revert_entry(entry, (), Notes(queue))
    assert [next(iter(request)) for request in requests] == ["read", "write", "settle"]


def test_a_half_written_nice_value_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """The writer was killed between two threads: both values are ours."""
    action = attribute_change("nice:77/123", "0", "5", risk="")
    entry = JournalEntry(id="1", action=action, old="0", value="5", made=True, became="5")
    written: list[str] = []

    def write(_path: str, value: str, *_: object) -> tuple[str, dict[str, str]]:
        written.append(value)
        return value, {}

    monkeypatch.setattr(settings.attribute, "write_attribute", write)
    for now, state in (("0,5", "reverted"), ("0,5,7", "kept"), ("7", "kept")):
        monkeypatch.setattr(settings.attribute, "read_attributes", lambda _, now=now: {"nice:77/123": now})
        assert settings.put_back_setting(entry, (), None).state == state, now
    assert written == ["0"]
