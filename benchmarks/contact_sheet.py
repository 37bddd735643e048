"""Many pictures on one, small, each with its caption."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from pathlib import Path

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QColor, QGuiApplication, QImage, QPainter

_COLUMNS = 6
_WIDTH = 320
_GAP, _CAPTION = 10, 20
_QUALITY = 31  # eight sheets are 2 MB


def write_sheet(pictures: Sequence[Path], target: Path) -> None:
    """A JPEG of the pictures, row by row; their names are the captions."""
    app = QGuiApplication.instance() or QGuiApplication(["sheet"])
    shown = [
        QImage(str(path)).scaledToWidth(_WIDTH, Qt.TransformationMode.SmoothTransformation)
        for path in pictures
    ]
    height = max(image.height() for image in shown)
    rows = ceil(len(shown) / _COLUMNS)
    size = (_GAP + _COLUMNS * (_WIDTH + _GAP), _GAP + rows * (height + _CAPTION + _GAP))
    sheet = QImage(*size, QImage.Format.Format_RGB32)
    sheet.fill(QColor("#8a90a0"))
    painter = QPainter(sheet)
    painter.setPen(QColor("white"))
    for position, (path, image) in enumerate(zip(pictures, shown, strict=True)):
        x = _GAP + position % _COLUMNS * (_WIDTH + _GAP)
        y = _GAP + position // _COLUMNS * (height + _CAPTION + _GAP)
        painter.drawImage(x, y, image)
        caption = QRect(x, y + height, _WIDTH, _CAPTION)
        painter.drawText(caption, Qt.AlignmentFlag.AlignVCenter, path.stem)
    painter.end()
    target.parent.mkdir(parents=True, exist_ok=True)
    sheet.save(str(target), quality=_QUALITY)
    del app
