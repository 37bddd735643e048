"""What PyInstaller is told, and what lies beside the programs when it has ended."""

from __future__ import annotations

from pathlib import Path

import pytest
from bundling.freeze import Ingredients, require_bundle, spec_command
from bundling.tools import PackagingError
from PySide6.QtCore import QSettings


@pytest.mark.parametrize(
    ("folder", "prefix"),
    [("PySide6/Qt/plugins", "_internal/PySide6/Qt"), ("PySide6/plugins", "_internal/PySide6")],
)
def test_qt_reads_where_its_files_are(tmp_path: Path, folder: str, prefix: str) -> None:
    bundle = tmp_path / "dist" / "DeepInfer"
    (bundle / "_internal" / folder).mkdir(parents=True)
    assert require_bundle(tmp_path) == bundle
    assert (bundle / "deepinfer").readlink() == Path("deepinfer-desktop")
    settings = QSettings(str(bundle / "qt.conf"), QSettings.Format.IniFormat)
    read = Path(str(settings.value("Paths/Prefix")))
    assert (bundle / read).resolve() == (bundle / prefix).resolve()


def test_no_bundle_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PackagingError, match=r"pyinstaller\.log"):
        require_bundle(tmp_path)


def test_paths_are_told_as_the_target_knows_them(tmp_path: Path) -> None:
    parts = Ingredients(tmp_path / "a.dll", None, None, "1.2.3", None, is_full=True)
    words = spec_command("python.exe", parts, tmp_path, lambda path: f"C:\\{path.name}", tmp_path)
    spec = words.index("C:\\deepinfer.spec")
    assert words[spec + 1] == "--"
    assert words[words.index("--cpu-library") + 1] == "C:\\a.dll"
    assert "--cuda-built" not in words
    assert words[words.index("--version") + 1] == "1.2.3"
    assert words[-1] == "--full"
