"""A /proc of a few processes in a directory."""

from pathlib import Path

from hostdx.probes.reading.host import Host


def process(
    root: Path,
    pid: int,
    name: str,
    ticks: int,
    *,
    start: int = 100,
    parent: int = 1,
    state: str = "S",
    io: str | None = None,
    children: str = "",
    reaped: int = 0,
    flags: int = 0,
) -> None:
    folder = root / "proc" / str(pid)
    (folder / "task" / str(pid)).mkdir(parents=True, exist_ok=True)
    parent = 2 if flags else parent  # a kernel thread's is kthreadd
    numbers = f"{parent} 0 0 0 -1 {flags} 0 0 0 0 {ticks} 0 {reaped} 0 20 0 1 0 {start} 1000 10"
    (folder / "stat").write_text(f"{pid} ({name}) {state} {numbers}\n")
    (folder / "task" / str(pid) / "children").write_text(children)
    if io is not None:
        (folder / "io").write_text(f"rchar: 1\nwchar: 1\n{io}")
    (root / "proc" / "uptime").write_text("100.00 50.00\n")


def host_at(root: Path, uptime: float) -> Host:
    (root / "proc" / "uptime").write_text(f"{uptime:.2f} 50.00\n")
    return Host(str(root))
