"""A value of an imported file as a person reads it."""

from hostdx.probes import units


def format_value(value: float | str, unit: str) -> str:
    """A value as a person reads it; text of the file stays as it is."""
    if isinstance(value, str):
        return f"{value} {unit}".rstrip()
    match unit:
        case "B/s":
            return units.format_rate(value)
        case "B":
            return units.format_size(value)
        case "s":
            return units.format_latency(value * 1e9) if abs(value) < 10 else units.format_duration(value)
        case "%":
            return f"{units.format_number(value, 4)} %"
    return f"{units.format_number(value, 4)} {unit}".rstrip()
