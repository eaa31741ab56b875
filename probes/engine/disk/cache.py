"""Did a read come from the device, or from a cache on the way?"""

from hostdx.probes.engine.measured import Measured

MIN_DEVICE_SHARE = 0.95


def cache_check(measured: Measured) -> str:
    """For a block of a read load: why its bytes did not come from the device, or "".

    Without counters (`device_bytes` None) nothing is checked. More than was read is no cause: others read too.
    """
    if measured.device_bytes is None or measured.bytes <= 0:
        return ""
    share = measured.device_bytes / measured.bytes
    if share >= MIN_DEVICE_SHARE:
        return ""
    return f"served by a cache: {100 * share:.0f} % of the bytes read came from the device"
