"""What a drive tells of itself, by nvme-cli's output in a sosreport."""

from hostdx.probes.system.disk.smart import Smart, parse_nvme_log
from hostdx.probes.types import Absent


def test_what_nvme_cli_kept_of_a_drive() -> None:
    text = (
        "Smart Log for NVME device:nvme0n1 namespace-id:ffffffff\ncritical_warning                        : 0x4\n"
        "available_spare                         : 5%\navailable_spare_threshold               : 10%\n"
        "percentage_used                         : 120%\nmedia_errors                            : 33\n"
    )
    nvme_log = parse_nvme_log(text)
    assert isinstance(nvme_log, Smart)
    assert (nvme_log.passed, nvme_log.critical, nvme_log.used, nvme_log.spare) == (False, 4, 1.2, 0.05)
    assert (nvme_log.least_spare, nvme_log.media_errors) == (0.1, 33)
    heat = parse_nvme_log(text.replace("0x4", "2"))
    assert isinstance(heat, Smart) and heat.passed
    assert isinstance(parse_nvme_log("nvme: not found"), Absent)
