"""Files of sar, pidstat and atop with incidents of known time and size in them."""

import random
from collections.abc import Sequence

DAY_S = 86400
SAR_HEAD = "Linux 5.14.0 (node1) \t11/22/2026 \t_x86_64_\t(4 CPU)\n"


def clock(at_s: int) -> str:
    return f"{at_s // 3600 % 24:02d}:{at_s // 60 % 60:02d}:{at_s % 60:02d}"


def sar_day(
    *, step_s: int = 60, disk: tuple[int, int] | None = None, steal: tuple[int, int] | None = None, seed: int = 1,
) -> str:  # fmt: skip
    """A day of sar: CPU, then two disks. `disk`: from when to when sda is overloaded; `steal`: CPU time is stolen."""
    rng = random.Random(seed)
    times = range(step_s, DAY_S, step_s)
    lines = [SAR_HEAD, "00:00:00        CPU     %user     %nice   %system   %iowait    %steal     %idle"]
    for at_s in times:
        iowait = 70 + rng.gauss(0, 5) if _is_within(at_s, disk) else abs(rng.gauss(1, 0.5))
        stolen = 30 + rng.gauss(0, 3) if _is_within(at_s, steal) else 0.0
        user = 5 + rng.random() * 5
        idle = 100 - iowait - stolen - user - 1
        shares = (user, 0.0, 1.0, iowait, stolen, idle)
        lines.append(f"{clock(at_s)}        all     " + "      ".join(f"{share:.2f}" for share in shares))
    lines += ["", "00:00:00        DEV       tps     rkB/s     wkB/s   areq-sz    aqu-sz     await     %util"]
    for at_s in times:
        for name in ("sda", "sdb"):
            is_slow = name == "sda" and _is_within(at_s, disk)
            await_ms, busy = (60 + rng.random(), 99) if is_slow else (abs(rng.gauss(3, 1)), rng.random() * 20)
            lines.append(
                f"{clock(at_s)}  {name}  100.00  10.00  20.00  12.00  0.10  {await_ms:.2f}  {busy:.2f}"
            )
    return "\n".join(lines) + "\n"


def _is_within(at_s: int, period: tuple[int, int] | None) -> bool:
    """A sample stands for the time before it."""
    return period is not None and period[0] < at_s <= period[1]


def atop_file(samples: Sequence[dict[str, float]], step_s: int = 10) -> str:
    """`atop -P ALL`: by sample `iowait` (a share), `busy` (of sda), and `write NAME` in bytes a second, to sda."""
    lines = ["RESET", _atop_line("CPU", 0, 9000, "100 2 5 5 0 90 0 0 0 0 0 2000 100 0 0"), "SEP"]
    for number, sample in enumerate(samples, 1):
        at_s, ticks = number * step_s, 200 * step_s
        waiting = round(sample.get("iowait", 0.01) * ticks)
        lines.append(
            _atop_line(
                "CPU", at_s, step_s, f"100 2 20 100 0 {ticks - waiting - 120} {waiting} 0 0 0 0 2000 100 0 0"
            )
        )
        lines.append(_atop_line("PAG", at_s, step_s, "4096 0 0 0 0 0 -1 0 0 0 5 5"))
        busy_ms = round(sample.get("busy", 0.1) * step_s * 1000)
        moved_rate = sum(v for n, v in sample.items() if n.startswith("write ") and "kworker" not in n)
        sectors = 4000 + round(moved_rate * step_s / 512)
        lines.append(_atop_line("DSK", at_s, step_s, f"sda {busy_ms} 100 8000 50 {sectors} 0 0 0 1.0"))
        for name, rate in sample.items():
            if name.startswith("write "):
                command, sectors = name.removeprefix("write "), round(rate * step_s / 512)
                lines.append(
                    _atop_line("PRC", at_s, step_s, f"77 ({command}) S 100 10 5 0 120 0 0 1 0 77 y 0")
                )
                lines.append(
                    _atop_line("PRD", at_s, step_s, f"77 ({command}) S n y 0 0 9 {sectors} 0 77 n y")
                )
                lines.append(
                    _atop_line("PRD", at_s, step_s, f"78 ({command}) S n y 0 0 9 {sectors} 0 77 n n")
                )
        lines.append("SEP")
    return "\n".join(lines) + "\n"


def _atop_line(label: str, at_s: int, interval_s: int, rest: str) -> str:
    return f"{label} node1 {1_795_917_376 + at_s} 2026/11/29 {clock(3600 + at_s)} {interval_s} {rest}"
