"""A bar's share: of bytes, which do not fit into its 32 bits, and of nothing."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from app.ui.widgets.progress_bar import ProgressBar


@pytest.mark.parametrize(
    ("done", "total", "permille"),
    [(0, 1 << 40, 0), (1 << 40, 3 << 40, 333), (5, 4, 1000), (0, 0, 0), (0.25, 1.0, 250)],
)
def test_a_share_is_shown(qtbot: QtBot, done: float, total: float, permille: int) -> None:
    bar = ProgressBar("Progress")
    qtbot.addWidget(bar)
    bar.setRange(0, 0)  # it did not know how far it was
    bar.show_share(done, total)
    assert (bar.value(), bar.maximum()) == (permille, 1000)
