"""Debian's chromium without a window: what a page looks like, how wide it is and on how many sheets it prints."""

import html
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.needs import program

BROWSER = program("chromium")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars")

# What lies beyond the page's edge, beyond its own picture's, or is cut: its tag and how far, with all folds open; and a
# table's single word that stands on two lines. Each page is read once and laid out at one width after the other.
MEASURE = """
const out = {};
for (const frame of document.querySelectorAll("iframe")) for (const width of WIDTHS) {
  frame.width = width;
  const page = frame.contentDocument, wide = page.documentElement.clientWidth, found = [];
  page.querySelectorAll("details").forEach(one => one.open = true);
  for (const one of page.querySelectorAll("body *")) {
    if (one.closest("defs, title, style")) continue;
    const box = one.getBoundingClientRect(), svg = one.ownerSVGElement;
    const right = svg ? svg.getBoundingClientRect().right : wide, left = svg ? svg.getBoundingClientRect().left : 0;
    const text = (one.textContent || "").trim().slice(0, 40);
    if (box.width && (box.right > right + 1.5 || box.left < left - 1.5))
      found.push([one.tagName, Math.round(box.right - right), text]);
    if (!svg && one.scrollWidth > one.clientWidth + 1 && one.clientWidth)
      found.push([one.tagName, one.scrollWidth - one.clientWidth, text]);
    if (one.tagName === "TD" && !one.children.length && /^[a-z]+$/.test(text)) {
      const words = page.createRange();
      words.selectNodeContents(one);
      if (words.getClientRects().length > 1) found.push(["split", 0, text]);
    }
  }
  out[frame.title + " at " + width] = found.slice(0, 5);
}
document.getElementById("out").textContent = JSON.stringify(out);
"""


def run_chromium(page: str, *flags: str, out: str = "") -> bytes:
    """stdout, or the file called `out` that the flags make in the current directory."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "page.html")
        path.write_text(page, "utf-8")
        profile = f"--user-data-dir={folder}/profile"
        done = subprocess.run(
            ["chromium", *FLAGS, profile, *flags, path.as_uri()],
            cwd=folder, capture_output=True, timeout=120, check=False, env=os.environ | {"HOME": folder},
        )  # fmt: skip
        return Path(folder, out).read_bytes() if out else done.stdout


def find_overflows(pages: Mapping[str, str], widths: Sequence[int]) -> dict[str, list[list[str]]]:
    """By `NAME at WIDTH`, the first of what is cut or stands over; empty lists where all is seen."""
    frames = "".join(
        f'<iframe title="{name}" height="800" style="border:0" srcdoc="{html.escape(page)}"></iframe>'
        for name, page in pages.items()
    )
    code = f"const WIDTHS = {list(widths)}; onload = () => {{ {MEASURE} }};"
    body = f'{frames}<pre id="out"></pre><script>{code}</script>'
    text = run_chromium(body, "--dump-dom", "--virtual-time-budget=20000").decode()
    (match,) = re.findall(r'<pre id="out">(.*?)</pre>', text, re.DOTALL)
    overflows: dict[str, list[list[str]]] = json.loads(html.unescape(match))
    return overflows


def count_sheets(page: str) -> int:
    """Of A4 paper, as the page asks for."""
    pdf = run_chromium(page, "--print-to-pdf=page.pdf", "--no-pdf-header-footer", out="page.pdf")
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", pdf))


def take_picture(page: str, width: int, height: int) -> bytes:
    """PNG of the page's beginning. A window is at least 500 wide: a narrower page stands in a frame of that width."""
    framed = (
        f'<body style="margin:0"><iframe width="{width}" height="{height}" style="border:0" '
        f'srcdoc="{html.escape(page)}"></iframe>'
    )
    return run_chromium(
        framed, f"--window-size={max(500, width)},{height}", "--screenshot=page.png", out="page.png"
    )
