"""What a captured host is called in what is said about it."""

from pathlib import Path

from hostdx.app.cli.root_option import captured_name
from hostdx.probes.reading.host import Host
from tests.every_case import every_case


@every_case(
    ("path", "content", "name"),
    [
        ("etc/hostname", "wn104.example.org\n", "wn104.example.org"),
        ("hostname", "wn7\n", "wn7"),
        ("etc/hostname", " \n", "wn104-capture"),
        ("proc/stat", "cpu 1\n", "wn104-capture"),
    ],
)
def test_a_captured_host_has_its_own_name_or_that_of_its_archive(
    tmp_path: Path, path: str, content: str, name: str
) -> None:
    (tmp_path / path).parent.mkdir(exist_ok=True)
    (tmp_path / path).write_text(content)
    assert captured_name(Host(str(tmp_path)), "/captures/wn104-capture.tar.gz") == name
