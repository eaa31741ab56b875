"""What a row, a bar or a point on a screen opens: written by the panels, opened by `Shell.open_target`."""

DIGIT = "digit:"


def load_target(workload: str) -> str:
    return f"load:{workload}"


def process_target(pid: int | None) -> str:
    """Empty where nobody knows the process id."""
    return "" if pid is None else f"process:{pid}"


def digit_target(number: int) -> str:
    """What the digit key opens on this screen."""
    return f"{DIGIT}{number}"
