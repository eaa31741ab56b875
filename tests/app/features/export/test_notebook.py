"""The notebook that is shipped runs from its first cell to its last, on recordings that are bundled."""

from pathlib import Path

import pytest

from tests.needs import module, needs
from tests.syntax import ROOT

NOTEBOOK = ROOT / "app/features/export/notebook/hostdx.ipynb"
# What its cells found: each interval as the report has it, no trend, the runs without a box, the planted slow node.
FINDINGS = """
assert len(again) == 7 and np.allclose(again, report, rtol=0, atol=5e-5)
assert low < 1 < high and relative.shape == (6, 3)
assert list(broken.index) == [2, 3, 5, 6, 7, 8, 9, 10]
assert outlier == "n07" and len(off) == 10
"""


@needs(
    *(
        module(name)
        for name in ("nbclient", "ipykernel", "duckdb", "pandas", "pyarrow", "matplotlib", "scipy")
    )
)
@pytest.mark.soak("every reader of the tables gets the same sums (`test_tables.py`)")
def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import nbformat
    from nbclient import NotebookClient

    for name in (
        "HOME",
        "IPYTHONDIR",
        "JUPYTER_RUNTIME_DIR",
        "JUPYTER_CONFIG_DIR",
        "MPLCONFIGDIR",
        "XDG_STATE_HOME",
    ):
        monkeypatch.setenv(name, str(tmp_path))
    notebook = nbformat.read(NOTEBOOK, 4)
    assert not any(cell.get("outputs") for cell in notebook.cells)  # nothing of another machine in it
    notebook.cells.append(nbformat.v4.new_code_cell(FINDINGS))
    place = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources=place).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert sum("image/png" in output.get("data", {}) for output in outputs) == 4
