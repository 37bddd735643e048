"""What the four conversion paths are called, and what each of them promises."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

translate = QCoreApplication.translate


def path_label(path: str) -> str:
    """The name of `exact`, `grid`, `requant` or `dense` for people."""
    labels = {
        "exact": translate("Path", "exact"),
        "grid": translate("Path", "grid kept"),
        "requant": translate("Path", "requantized"),
        "dense": translate("Path", "kept dense"),
    }
    return labels.get(path, path)


def path_help(path: str) -> str:
    """What the path means for the numbers."""
    texts = {
        "exact": translate("Path", "Decodes bit for bit to what the source decodes to."),
        "grid": translate(
            "Path", "The source's grid is kept; only the scales are stored in another precision."
        ),
        "requant": translate("Path", "Quantized anew with the smallest error found; not lossless."),
        "dense": translate("Path", "Not quantized."),
    }
    return texts.get(path, "")
