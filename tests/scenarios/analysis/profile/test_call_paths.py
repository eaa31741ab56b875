"""Call paths of many runs as one tree: planted differences are found, noise is not, and what is exact stays so."""

from __future__ import annotations

import random
from xml.etree import ElementTree as ET

import msgspec
import pytest

from app.features.profile.flame import difference_share, flame_lines, flame_svg, fold_stacks, lay_out_boxes
from probes.engine.command.supervised import Calls
from probes.profile.call_profile import KERNEL, OFF, ON, RUNNABLE
from probes.profile.symbols import Symbols
from probes.units import format_number
from scenarios.analysis.profile.call_paths import (
    NOT_IN_KERNEL,
    ROOTS,
    GroupPaths,
    Path,
    Paths,
    RunCalls,
    _scale_paths,
    compare_call_paths,
    seconds_by_path,
)
from scenarios.analysis.profile.results import CallNode, CallPaths, PathTree, differs_word
from scenarios.contract.results.document import Mono, Table
from tests.every_case import every_case


class Named(Symbols):
    def frame_names(self, stack: object, files: object) -> tuple[str, ...]:
        return tuple(NAMES[place] for _, place in stack)  # type: ignore[attr-defined]


NAMES = ["main", "work", "do_syscall_64", "fsync", "do_wait"]


def calls(*stacks: tuple[str, tuple[int, ...], float], kernel: bool = True) -> Calls:
    return Calls(
        kernel=kernel,
        waits=True,
        lost=0,
        dropped_s=0.0,
        files=("/a",),
        stacks=tuple((kind, tuple((KERNEL, n) for n in places), s) for kind, places, s in stacks),
    )


def test_chains_divide_what_is_exact_and_leave_the_plumbing_and_the_waits_for_children_out() -> None:
    of_run = calls((ON, (0, 1), 0.9), (OFF, (0, 2, 3), 1.0), (RUNNABLE, (0, 1), 1.0), (OFF, (0, 4), 5.0))
    found = seconds_by_path(RunCalls(of_run, 2.0, 1.5, 9.0), Named())
    assert found == {
        (ROOTS[ON], "main", "work"): pytest.approx(2.0),
        (ROOTS[OFF], "main", "fsync"): pytest.approx(2.0),
        (ROOTS[RUNNABLE], "main", "work"): pytest.approx(2.0),
    }


def test_without_the_kernels_part_its_time_is_one_box() -> None:
    found = seconds_by_path(RunCalls(calls((ON, (0, 1), 1.0), kernel=False), 2.0, 1.5, None), Named())
    assert found == {(ROOTS[ON], "main", "work"): pytest.approx(1.5), (ROOTS[ON], NOT_IN_KERNEL): 0.5}


def tree_of(groups: list[GroupPaths]) -> PathTree:
    tree = compare_call_paths("A", "B", groups, [calls()])
    assert tree is not None
    return tree


def planted(difference: float, seed: int, groups: int = 8) -> PathTree:
    rng = random.Random(seed)

    def run(more: float) -> Paths:
        found: dict[Path, float] = {("on", "main"): 0.1}
        for n in range(20):
            found["on", "main", f"f{n}"] = rng.gauss(1.0, 0.05)
        found["on", "main", "f3"] += more
        return found

    return tree_of([GroupPaths([run(0.0)], [run(difference)]) for _ in range(groups)])


def test_a_planted_function_is_named_and_its_callers_hold_it() -> None:
    tree = planted(0.6, 1)
    named = {node.name: node for node in tree.nodes}
    assert named["f3"].differs and named["f3"].difference_s == pytest.approx(0.6, abs=0.1)
    assert named["main"].differs
    functions = [node for node in tree.nodes if node.name.startswith("f")]
    assert max(functions, key=lambda node: abs(node.difference_s)).name == "f3"
    assert named["main"].baseline_s == pytest.approx(20.1, abs=0.5)


def test_of_two_equal_sides_no_function_is_called_different_in_most_runs() -> None:
    called = sum(any(node.differs for node in planted(0.0, seed).nodes) for seed in range(40))
    assert called <= 6, "5 % of 40 runs are 2"


def test_what_one_side_alone_has_is_drawn_and_each_box_lies_in_its_callers() -> None:
    groups = [GroupPaths([{("on", "old"): 1.0 + n / 9}], [{("on", "new"): 1.1 + n / 8}]) for n in range(3)]
    tree = tree_of(groups)
    drawn = {box.node.name: box for box in lay_out_boxes(tree)}
    assert drawn["old"].width > 0 < drawn["new"].width
    for box in drawn.values():
        if box.node.up >= 0:
            above = next(b for b in drawn.values() if b.number == box.node.up)
            assert above.left - 1e-9 <= box.left and box.left + box.width <= above.left + above.width + 1e-9
    zoomed = lay_out_boxes(tree, drawn["new"].number)
    assert [(box.node.name, box.left, box.width) for box in zoomed] == [("new", 0.0, 1.0)]


def test_folded_stacks_hold_all_of_each_side() -> None:
    tree = planted(0.5, 2)
    sums = {"A": 0, "B": 0}
    for line in fold_stacks(tree):
        stack, _, count = line.rpartition(" ")
        sums[stack.split(";")[0]] += int(count)
    assert sums["A"] / 1e6 == pytest.approx(tree.nodes[0].baseline_s, rel=1e-3)
    assert sums["B"] / 1e6 == pytest.approx(tree.nodes[0].variant_s, rel=1e-3)


def test_hostile_names_and_callers_are_drawn_and_no_markup() -> None:
    bad = CallNode(
        name="<script>;\x1b[2J&",
        up=5,
        baseline_s=1.0,
        variant_s=2.0,
        difference_s=1.0,
        ci95_s=(0.5, 1.5),
        differs=True,
    )
    tree = PathTree(baseline="A", variant="B", groups=2, kernel=True, waits=False, lost=3, nodes=(bad, bad))
    found = ET.fromstring(flame_svg(tree))
    assert len(found.findall(".//{*}rect")) == 2 and not found.findall(".//{*}script")
    assert all(line.isprintable() for line in (*flame_lines(tree), *fold_stacks(tree)))
    assert (
        difference_share(bad) == pytest.approx(0.5)
        and difference_share(msgspec.structs.replace(bad, differs=False)) == 0.0
    )


def test_a_tree_of_any_runs_stays_small_enough_for_a_recording() -> None:
    rng = random.Random(3)
    wide: list[GroupPaths] = []
    for _ in range(2):
        sides = [
            [{tuple(f"{'n' * 190}{rng.randrange(3)}" for _ in range(50)): rng.random() for _ in range(300)}]
            for _ in "AB"
        ]
        wide.append(GroupPaths(*sides))
    data = msgspec.json.encode(CallPaths(t=1.0, value=(tree_of(wide),)))
    assert len(data) < 1 << 20


def test_one_group_is_no_difference() -> None:
    assert compare_call_paths("A", "B", [GroupPaths([{("on",): 1.0}], [{("on",): 2.0}])], []) is None


@every_case(("total_s", "told"), [(2.0, 2.0), (0.5, 0.5), (3.5, 1.0), (0.2, 1.0), (None, 1.0)])
def test_waits_are_scaled_to_what_is_known_and_not_blown_up(total_s: float | None, told: float) -> None:
    assert _scale_paths({("waiting",): 1.0}, total_s) == {("waiting",): told}


def test_a_function_of_less_than_a_hundredth_is_not_judged() -> None:
    def side(large: float, tiny: float) -> list[dict[tuple[str, ...], float]]:
        return [{("on a CPU", "large"): large, ("on a CPU", "tiny"): tiny}]

    tree = tree_of([GroupPaths(side(10.0, 0.03), side(12.0 + n / 100, 0.09)) for n in range(6)])
    assert {node.name: node.differs for node in tree.nodes if node.name in ("large", "tiny")} == {
        "large": True,
        "tiny": False,
    }


def test_the_time_inside_a_call_holds_what_it_computes_too() -> None:
    runs = [{("on", "main", "__x64_sys_fsync", "write"): 0.3, ("waiting", "main", "__x64_sys_fsync"): 0.6,
             ("on", "ksys_read", "sys_nested"): 0.2, ("on", "main"): 0.4}]  # fmt: skip
    groups = [GroupPaths(runs, [{path: 2 * s for path, s in runs[0].items()}]) for _ in range(3)]
    (table,) = tree_of(groups).seconds_inside_calls
    assert isinstance(table, Table)
    names = [row[0].text for row in table.rows if isinstance(row[0], Mono)]
    assert names == ["fsync", "fsync, on", "fsync, waiting", "read", "read, on"]
    assert [row[1:3] for row in table.rows] == [
        (format_number(s), format_number(2 * s)) for s in (0.9, 0.3, 0.6, 0.2, 0.2)
    ]
    assert (
        tree_of([GroupPaths([{("on", "main"): 1.0}], [{("on", "main"): 1.0}])] * 2).seconds_inside_calls == ()
    )


@every_case(
    ("differs", "ends", "word"),
    [(True, (-2.0, -1.0), "yes"), (False, (-1.0, 1.0), "not shown"), (False, (-2.0, -1.0), "likely")],
)
def test_an_interval_without_0_that_is_not_sure_among_all_lines_is_not_said_to_show_nothing(
    differs: bool, ends: tuple[float, float], word: str
) -> None:
    assert differs_word(differs, ends) == word
