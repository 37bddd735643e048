"""What the grids are called, and what each of them does, in one plain sentence."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

translate = QCoreApplication.translate

# In the order in which they are offered.
GRIDS = ("auto", "exact", "w4", "w3", "w3w4", "w8", "dense")
# Side by side, when the user asks for a comparison.
COMPARED_GRIDS = ("w8", "w4", "w3")
GROUP_SIZES = (32, 64, 128)
# Those that quantize anew, where a group size matters.
QUANTIZING_GRIDS = ("auto", "w4", "w3", "w3w4", "w8")


def grid_label(grid: str) -> str:
    """The name for people; `this` is the conversion that others are compared with."""
    labels = {
        "auto": translate("Grid", "Automatic"),
        "exact": translate("Grid", "Exact"),
        "w4": translate("Grid", "4 bits (W4)"),
        "w3": translate("Grid", "3 bits (W3)"),
        "w3w4": translate("Grid", "3 and 4 bits, to fit a budget"),
        "w8": translate("Grid", "8 bits (W8)"),
        "dense": translate("Grid", "Not quantized (dense)"),
        "this": translate("Grid", "This conversion"),
    }
    return labels.get(grid, grid)


def grid_help(grid: str) -> str:
    """What the grid does to the model."""
    texts = {
        "auto": translate(
            "Grid",
            "Keeps what is quantized exactly as it is; stores full-precision weights in 4 bits.",
        ),
        "exact": translate(
            "Grid", "Every weight keeps the source's own bits; nothing is lost, nothing shrinks."
        ),
        "w4": translate(
            "Grid", "About half a byte for each weight: small and fast, with a small loss."
        ),
        "w3": translate(
            "Grid", "Up to a quarter smaller than 4 bits, at a loss that you will notice."
        ),
        "w3w4": translate(
            "Grid",
            "Uses 3 bits where they cost least, until the model fits the memory you name.",
        ),
        "w8": translate(
            "Grid", "One byte for each weight: twice the size of 4 bits, with almost no loss."
        ),
        "dense": translate(
            "Grid", "Full-precision weights: the largest and slowest, without any further loss."
        ),
    }
    return texts.get(grid, "")
