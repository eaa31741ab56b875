"""What a part measures stands in the checkup's own recording, at the checkup's time."""

from hostdx.app.recordings import store
from hostdx.app.recordings.reader import read_events
from hostdx.scenarios.checkup.scenario import relay_samples
from hostdx.scenarios.contract import events as ev


def events_of(demo: str) -> list[ev.AnyEvent]:
    return list(read_events(store.resolve_recording(f"demo:{demo}")))


def test_slices_windows_and_samples_are_relayed_with_the_loads_title_and_unit() -> None:
    for demo, kind in (("storage", ev.SliceBatch), ("iosched", ev.Block), ("dstate", ev.SampleTaken)):
        events = events_of(demo)
        plan = next(e.plan for e in events if isinstance(e, ev.Planned))
        event = next(e for e in events if isinstance(e, kind))
        samples = relay_samples(demo, plan, event, 7.0)
        assert samples and all(s.t == 7.0 and s.series.startswith(f"{demo}: ") for s in samples), demo
        if isinstance(event, ev.SliceBatch):
            load = next(w for w in plan.workloads if w.id == event.workload)
            assert {s.variant for s in samples} == {"A", "B"} and samples[0].unit == load.metrics[0].unit
            assert samples[0].series == f"storage: {load.title}"
    assert relay_samples("null", None, event, 1.0)[0].series.startswith("null: ")


def test_nothing_else_is_relayed_and_no_plan_is_no_mistake() -> None:
    events = events_of("storage")
    batch = next(e for e in events if isinstance(e, ev.SliceBatch))
    assert relay_samples("storage", None, batch, 1.0) == []
    others = [e for e in events if not isinstance(e, ev.SliceBatch | ev.Block | ev.SampleTaken)]
    assert others and not any(relay_samples("storage", None, e, 1.0) for e in others)
