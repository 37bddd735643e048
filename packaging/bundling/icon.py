"""The program's icon as Windows and desktops of Linux want it, from `resources/icons/app.svg`."""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from pathlib import Path

from bundling.tools import ROOT, run

SIZES = (16, 20, 24, 32, 40, 48, 64, 128, 256)
_SVG = ROOT / "resources" / "icons" / "app.svg"
# In the build's Python, which has Qt: a PNG of each size.
_RENDER = """
import sys
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QImage, QPainter
from PySide6.QtSvg import QSvgRenderer
app = QGuiApplication(["icon", "-platform", "offscreen"])
svg, folder, *sizes = sys.argv[1:]
renderer = QSvgRenderer(svg)
for size in map(int, sizes):
    image = QImage(size, size, QImage.Format.Format_ARGB32)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    renderer.render(painter)
    painter.end()
    assert image.save(f"{folder}/{size}.png")
"""


def render(python: Path, folder: Path) -> dict[int, bytes]:
    """PNG files by size in pixels; they also stay in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    env = {**os.environ, "PYTHONUTF8": "1"}
    run([python, "-c", _RENDER, _SVG, folder, *SIZES], env=env, timeout_s=120)
    return {size: (folder / f"{size}.png").read_bytes() for size in SIZES}


def pack_ico(images: Mapping[int, bytes]) -> bytes:
    """An .ico of PNG images of up to 256 pixels: a header, an entry of 16 bytes each, the images.

    https://learn.microsoft.com/previous-versions/ms997538(v=msdn.10); PNG within since Vista.
    """
    header = struct.pack("<HHH", 0, 1, len(images))
    offset = len(header) + 16 * len(images)
    entries = b""
    for size, image in sorted(images.items()):
        side = size % 256  # 0 stands for 256
        entries += struct.pack("<BBBBHHII", side, side, 0, 0, 1, 32, len(image), offset)
        offset += len(image)
    return header + entries + b"".join(image for _, image in sorted(images.items()))
