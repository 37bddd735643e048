"""What the four conversion paths are called, and what each of them promises."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication


def path_label(path: str) -> str:
    """The name of `exact`, `grid`, `requant` or `dense` for people."""
    labels = {
        "exact": _tr("exact"),
        "grid": _tr("grid kept"),
        "requant": _tr("requantized"),
        "dense": _tr("kept dense"),
    }
    return labels.get(path, path)


def path_help(path: str) -> str:
    """What the path means for the numbers."""
    texts = {
        "exact": _tr("Decodes bit for bit to what the source decodes to."),
        "grid": _tr("The source's grid is kept; only the scales are stored in another precision."),
        "requant": _tr("Quantized anew with the smallest error found; not lossless."),
        "dense": _tr("Not quantized."),
    }
    return texts.get(path, "")


def _tr(text: str) -> str:
    return QCoreApplication.translate("PathLabels", text)
