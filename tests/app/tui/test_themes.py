"""The themes by contrast ratio (WCAG 2.1) and, for the colour-blind, by what reduced colour vision leaves apart."""

from itertools import combinations

import pytest

from hostdx.app.tui import theme

# rows of the matrices of Viénot, Brettel and Mollon (1999), on linear RGB
DEUTERANOPIA = ((0.29275, 0.70725, 0.0), (0.29275, 0.70725, 0.0), (-0.02234, 0.02234, 1.0))
PROTANOPIA = ((0.11238, 0.88762, 0.0), (0.11238, 0.88762, 0.0), (0.00401, -0.00401, 1.0))


def linear_rgb(colour: str) -> tuple[float, ...]:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return tuple(part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)


def luminance_of(colour: str) -> float:
    red, green, blue = linear_rgb(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(text: str, other: str) -> float:
    dark, light = sorted((luminance_of(text), luminance_of(other)))
    return (light + 0.05) / (dark + 0.05)


def role_colour(name: str, role: str) -> str:
    color = theme.role_style(name, role).color
    assert color is not None
    return color.name


def seen_rgb(name: str, matrix: tuple[tuple[float, ...], ...]) -> tuple[float, ...]:
    return tuple(sum(a * b for a, b in zip(row, linear_rgb(name), strict=True)) for row in matrix)


def test_contrast_is_that_of_black_and_white() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0) and contrast("#777777", "#777777") == 1.0


@pytest.mark.parametrize("matrix", [DEUTERANOPIA, PROTANOPIA], ids=["deuteranopia", "protanopia"])
def test_severities_and_sides_stay_apart_without_red_or_green(matrix: tuple[tuple[float, ...], ...]) -> None:
    name = theme.COLOUR_BLIND_NAME
    for role, other in (*combinations(("critical", "ok", "unknown"), 2), ("a", "b"), ("critical", "notice")):
        colours = seen_rgb(role_colour(name, role), matrix), seen_rgb(role_colour(name, other), matrix)
        assert max(abs(x - y) for x, y in zip(*colours, strict=True)) > 0.15, (role, other)
