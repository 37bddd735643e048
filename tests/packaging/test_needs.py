"""What must be inside a bundle is read from the sources."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from bundling.needs import find_needs, imports_of, resource_files

from app.self_test.contents import try_imports

_ROOT = Path(__file__).resolve().parents[2]


def _tree(root: Path, files: dict[str, str]) -> Path:
    for place, text in files.items():
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).write_text(text, encoding="utf-8")
    return root


def test_imports_within_functions_count_those_for_type_checkers_do_not(tmp_path: Path) -> None:
    source = """from __future__ import annotations
import os.path
from app.core import paths
if TYPE_CHECKING:
    from PySide6.QtCore import QObject
else:
    import zlib
def f():
    from pypdf.errors import PyPdfError as Error
    with x:
        import unicodeit
"""
    path = _tree(tmp_path, {"one.py": source}) / "one.py"
    assert imports_of(path) == {"os.path", "zlib", "pypdf.errors:PyPdfError", "unicodeit"}


def test_each_name_belongs_to_the_process_that_imports_it(tmp_path: Path) -> None:
    root = _tree(
        tmp_path,
        {
            "app/__init__.py": "",
            "app/ui/page.py": "from PySide6.QtCore import QObject",
            "app/validation/runner.py": "def f():\n    import torch, json",
            "app/engine/executors/reference/__init__.py": "import torch",
            "kernels/cpu.py": "import numpy, winreg" if sys.platform != "win32" else "import numpy",
            "resources/new/table.bin": "x",
            "resources/screenshots/a.png": "x",
            "resources/i18n/de.ts": "x",
        },
    )
    lean, full = find_needs(root, False), find_needs(root, True)
    assert lean["window"] == ["PySide6.QtCore:QObject", "app.ui.page"]
    assert lean["engine"] == ["app", "kernels.cpu", "numpy"]
    assert lean["reference"] == ["app.validation.runner", "json"]
    assert {*full["reference"]} - {*lean["reference"]} == {
        "app.engine.executors.reference",
        "torch",
    }
    assert lean["files"] == full["files"] == ["resources/new/table.bin"]


def test_a_package_that_is_not_installed_ends_the_build(tmp_path: Path) -> None:
    root = _tree(tmp_path, {"app/one.py": "def f():\n    import no_such_package.part"})
    with pytest.raises(LookupError, match=r"app\.one imports no_such_package"):
        find_needs(root, False)


def test_this_checkout_has_all_that_its_window_and_engine_need() -> None:
    needs = find_needs(_ROOT, True)
    others = [name for name in needs["window"] if not name.startswith(("app", "PySide6"))]
    assert {"pypdf:PdfReader", "unicodeit", "gguf.constants:GGMLQuantizationType"} <= {
        name for kind in needs for name in needs[kind]
    }
    assert try_imports(others) == []
    assert {place for _path, place in resource_files(_ROOT)} >= {
        "resources/i18n/deepinfer_zh_CN.qm",
        "resources/styles/app.qss",
    }
