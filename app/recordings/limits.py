"""How much of a recording is read: far above what any run of ours writes, below what costs minutes or gigabytes."""

LINE_LIMIT = 1 << 20  # bytes, line feed included
SIZE_LIMIT = 512 << 20  # bytes unpacked: 200,000 events are about 30 MB
RATIO_LIMIT = 100  # unpacked to packed; our own lines pack 8 to 20 times
RATIO_FROM = 4 << 20  # bytes unpacked, from which on the ratio counts
VALUES_LIMIT = 8_000_000  # commas and brackets, so about as many values: an empty list of two bytes takes 64


def count_json_values(data: bytes) -> int:
    """About how many values JSON lines hold; more where texts hold commas."""
    return data.count(b",") + data.count(b"[") + data.count(b"{")
