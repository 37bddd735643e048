"""Screens of other densities: nothing is cut off, and icons have a pixel for every dot."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from app.ui.icons import create_icon, render_icon

_ROOT = Path(__file__).resolve().parents[2]
# 683 x 384 are all that 200 % leaves of a small laptop's screen; denser ones are larger.
_SCENES = "tests/ui/test_scenes.py::test_every_scene_is_whole[zh_CN-683-384]"


@pytest.mark.parametrize("ratio", [1.0, 1.25, 1.5, 1.75, 2.0, 2.5])
def test_icons_are_crisp(qapp: QApplication, monkeypatch: pytest.MonkeyPatch, ratio: float) -> None:
    monkeypatch.setattr(QGuiApplication, "devicePixelRatio", lambda _self: ratio)
    pixmap = render_icon("chat", "#123456", 20)
    assert pixmap.devicePixelRatio() == ratio
    assert pixmap.width() == round(20 * ratio)
    assert create_icon("chat", size=20).availableSizes()[0].width() == round(20 * ratio)


@pytest.mark.slow
@pytest.mark.parametrize("scale", ["1.25", "1.5", "1.75", "2", "2.5"])
def test_nothing_is_cut_off(scale: str) -> None:
    """In a process of its own, as Qt reads the scale when it starts."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "", _SCENES]
    environment = {**os.environ, "QT_SCALE_FACTOR": scale}
    done = subprocess.run(
        command, cwd=_ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:]
