"""What a fresh clone must compile, once before the workers start: each of them would compile all of it by itself."""

import compileall
import importlib.util
import os
from contextlib import suppress
from importlib.abc import Loader
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PRODUCT = ("app", "probes", "scenarios")
PROCESSES = 2


def write_compiled_modules(rewriting: Loader) -> None:
    """Write the compiled modules of the product and of the tests, in two processes. `rewriting` loads tests: pytest's
    loader, which rewrites assertions.
    """
    modules = sorted(path for room in (*PRODUCT, "tests") for path in (ROOT / room).rglob("*.py"))
    child = os.fork()
    for path in modules[bool(child) :: PROCESSES]:
        is_rewritten = path.name.startswith("test_") and path.is_relative_to(ROOT / "tests")
        with suppress(OSError):  # a test run that may not write here compiles in memory
            if is_rewritten:
                compile_test(rewriting, path)
            else:
                compileall.compile_file(path, quiet=2)
    if not child:
        os._exit(0)
    os.waitpid(child, 0)


def compile_test(rewriting: Loader, path: Path) -> None:
    """Load it, but end at its first import: pytest's loader compiles a module only to run it."""
    spec = importlib.util.spec_from_file_location(path.stem, path, loader=rewriting)
    assert spec
    module = importlib.util.module_from_spec(spec)
    module.__dict__["__builtins__"] = {}
    with suppress(ImportError, SyntaxError):  # a worker tells
        rewriting.exec_module(module)
