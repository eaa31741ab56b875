"""A disturbance's words are made from its fields, and counted by its fields."""

from hostdx.scenarios.contract.disturbance import (
    Disturbance,
    InterferenceCulprit,
    most_frequent_cause,
    most_frequent_culprit,
)
from hostdx.scenarios.contract.surroundings import Watched, lasting_cpu_share
from hostdx.scenarios.experiment.guards.interference import MeasuredSurroundings, list_excesses
from tests.every_case import every_case


def culprit(name: str, pid: int, rate: float = 1.0) -> InterferenceCulprit:
    return InterferenceCulprit(name=name, pid=pid, rate=rate, unit="CPUs")


UNREADABLE = InterferenceCulprit(devices=("vda",), unnamed="another user's")


@every_case(
    ("cause", "words"),
    [
        (
            Disturbance("cpu", culprit("cc1plus", 78, 1.2), 0.71, 0.03),
            "other processes used 71 % of the CPUs (usually 3 %): cc1plus [78], 1.2 CPUs",
        ),
        (
            Disturbance("device", InterferenceCulprit(name="rsync", pid=77, rate=9e7, unit="B/s"), 0.8),
            "I/O of other programs on the measured disk was 80 % of its usual traffic: rsync [77], 90 MB/s",
        ),
        (
            Disturbance("device", None, 9e7, 3e7, "B"),
            "other programs moved 90 MB on the measured disk, hostdx 30 MB",
        ),
        (Disturbance("device", figure=0.93, subject="sda"), "sda: busy for 93 % of the time"),
        (
            Disturbance("frequency", None, 1.2e9, 3.1e9, "Hz"),
            "the CPU clock fell to 1.2 GHz (usually 3.1 GHz)",
        ),
        (Disturbance("stall", subject="B"), "B: no operation finished in a block"),
        (Disturbance("not applicable", subject="B", text="cached"), "B: not applicable: cached"),
        (Disturbance("stopped", text="the file system is full"), "the file system is full"),
        (
            Disturbance("bystanders", UNREADABLE),
            "I/O of other programs waits long, without our load as well: another user's process on vda "
            "(run as root to name it)",
        ),
        (Disturbance("of a newer hostdx"), "of a newer hostdx"),
    ],
)
def test_one_sentence_from_fields(cause: Disturbance, words: str) -> None:
    assert cause.full_sentence == words


CPU, DEVICE = Disturbance("cpu", figure=0.7, usual=0.03), Disturbance("device", figure=0.7)


@every_case(
    ("all_of_them", "words"),
    [
        ([], ""),
        (
            [CPU, Disturbance("cpu", figure=0.6), Disturbance("stall", subject="B")],
            "other processes used the CPUs",
        ),
        ([Disturbance("stall", subject=variant) for variant in "BAB"], "B: no operation finished in a block"),
        (
            [
                Disturbance("cpu", culprit("cc1plus", 78), 0.71),
                Disturbance("device", culprit("rsync", 77), 0.8),
                Disturbance("device", culprit("rsync", 77, 3.0), 0.6),
                Disturbance("cpu", culprit("rsync", 77), 0.4),
                Disturbance("cpu", culprit("cc1plus", 79), 0.66),
            ],
            "I/O of other programs on the measured disk: rsync [77]",
        ),
        (
            [Disturbance("cpu", culprit("cc1plus", 78)), Disturbance("cpu", culprit("cc1plus", 79))],
            "other processes used the CPUs: cc1plus (2 processes)",
        ),
        (
            [Disturbance("device", culprit("a: b] [1", 9)), CPU],
            "I/O of other programs on the measured disk: a: b] [1 [9]",
        ),
        (
            [Disturbance("device", UNREADABLE, share) for share in (0.7, 0.8)],
            "I/O of other programs on the measured disk: another user's process on vda (run as root to name it)",
        ),
    ],
)
def test_most_often_counts_fields(all_of_them: list[Disturbance], words: str) -> None:
    assert most_frequent_cause(all_of_them) == words


def test_most_named() -> None:
    assert most_frequent_culprit([]) == ""
    assert most_frequent_culprit([culprit("a", 1), culprit("b", 2), culprit("b", 2, 4.0)]) == "b [2]"
    assert most_frequent_culprit([culprit("a", 1), culprit("a", 2)]) == "a (2 processes)"


def test_every_guard_has_words_with_and_without_figures() -> None:
    calm = MeasuredSurroundings(
        seconds=0.5, cpu=0.1, full=1.0, steal=0.0, device_bytes=1 << 20, device_operations=100, operations=100,
        khz=3_000_000, quota=0.0,
    )  # fmt: skip
    wild = MeasuredSurroundings(
        seconds=0.5, cpu=0.9, full=1.0, steal=0.5, device_bytes=1 << 30, device_operations=9000, operations=100,
        khz=1_000_000, quota=0.7, heat=1,
    )  # fmt: skip
    disturbances = [excess.disturbance for excess in list_excesses([calm] * 5, wild)]
    assert {cause.kind for cause in disturbances} == {"cpu", "steal", "device", "frequency", "quota", "heat"}
    for cause in disturbances:
        assert cause.brief_text != cause.kind and not any(letter.isdigit() for letter in cause.brief_text)
        assert cause.kind == "heat" or any(letter.isdigit() for letter in cause.full_sentence)


def test_what_others_used_all_the_time_is_told_from_what_they_used_once() -> None:
    def make_look(cpus: float, is_told: bool, seconds: float = 1.0) -> Watched:
        surroundings = MeasuredSurroundings(seconds=seconds, users_cpu=cpus)
        disturbances = (Disturbance("cpu", figure=cpus),) if is_told else ()
        return Watched(t=0.0, workload="read", surroundings=surroundings, told=disturbances)

    busy = [make_look(0.5, True), make_look(0.7, True), make_look(0.6, True), make_look(0.1, False, 0.5)]
    assert lasting_cpu_share(busy) == 0.6
    assert lasting_cpu_share([*busy, make_look(0.1, False, 2.0)]) == 0.0 == lasting_cpu_share([])
