"""The logs of containers: whose they are, and what their program wrote."""

from pathlib import Path

import pytest

from hostdx.probes.reading.host import Host
from hostdx.probes.system.software.container_log import container_log_paths, read_container_log

ID = "0f" * 32


@pytest.mark.parametrize(
    ("path", "programs"),
    [
        ("var/log/pods/kube-system_etcd-n1_5c1c/etcd/3.log", {"etcd"}),
        ("var/log/pods/rook-ceph_rook-ceph-mon-a-7d_5c1c/mon/0.log", {"mon", "ceph-mon"}),
        (f"var/log/containers/etcd-n1_kube-system_etcd-{ID}.log", {"etcd"}),
        ("sos_commands/docker/containers/docker_logs_-t_squid", {"squid"}),
        ("var/log/containers/other.log", set()),
    ],
)
def test_a_log_belongs_to_its_container(tmp_path: Path, path: str, programs: set[str]) -> None:
    log = tmp_path / path
    log.parent.mkdir(parents=True)
    log.write_text("")
    assert container_log_paths(Host(str(tmp_path))) == {name: [f"/{path}"] for name in programs}


@pytest.mark.parametrize(
    "line",
    [
        "2021-07-01T05:10:02.112233441Z stderr F wal: slow",
        "2021-07-01T05:10:02.112233441Z wal: slow",
        '{"log":"wal: slow\\n","stream":"stderr","time":"2021-07-01T05:10:02.112Z"}',
        "wal: slow",
    ],
)
def test_the_time_and_the_stream_are_not_the_programs(tmp_path: Path, line: str) -> None:
    (tmp_path / "0.log").write_text(f"{line}\n")
    assert [line.message for line in read_container_log(Host(str(tmp_path)), "/0.log")] == ["wal: slow"]
