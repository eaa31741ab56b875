"""A small captured host, built file by file: the same shape as a dump of sysfs and procfs."""

from __future__ import annotations

from pathlib import Path

from hostdx.probes.reading.host import Host


class Tree:
    """`put` files and `link` symlinks under a folder; paths are as on the host."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in ("sys", "proc"):
            (root / name).mkdir(parents=True, exist_ok=True)

    def put(self, path: str, content: str | bytes = "") -> Tree:
        place = self.root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)
        return self

    def files(self, folder: str, **contents: str | int) -> Tree:
        """Several files of one folder; `__` in a name stands for a slash."""
        for name, content in contents.items():
            self.put(f"{folder}/{name.replace('__', '/')}", f"{content}\n")
        return self

    def link(self, path: str, target: str) -> Tree:
        place = self.root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(target)
        return self

    def disk(self, path: str, devno: str = "8:0", **queue: str | int) -> Tree:
        """A disk's real folder with its links in /sys/block, /sys/class/block and /sys/dev/block."""
        name = path.rsplit("/", 1)[-1]
        self.files(path, dev=devno, size=2048, removable=0, ro=0)
        values: dict[str, str | int] = {
            "rotational": 0,
            "scheduler": "[none] mq-deadline",
            "nr_requests": 64,
        } | queue
        self.files(f"{path}/queue", **values)
        for place in (f"/sys/block/{name}", f"/sys/class/block/{name}", f"/sys/dev/block/{devno}"):
            up = "../" * (place.count("/") - 1)
            self.link(place, f"{up}{path.removeprefix('/')}")
        return self

    def partition(self, disk: str, number: int, devno: str, name: str = "") -> Tree:
        name = name or f"{disk.rsplit('/', 1)[-1]}{number}"
        self.files(f"{disk}/{name}", dev=devno, size=1024, partition=number)
        self.link(f"/sys/class/block/{name}", f"../../..{disk}/{name}")
        return self.link(f"/sys/dev/block/{devno}", f"../../..{disk}/{name}")

    def host(self) -> Host:
        return Host(str(self.root))
