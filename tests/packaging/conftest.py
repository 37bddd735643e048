"""`packaging/` is no package itself: its modules are found as the spec and dev.py find them."""

from __future__ import annotations

import sys
from pathlib import Path

_FOLDER = str(Path(__file__).resolve().parents[2] / "packaging")
if _FOLDER not in sys.path:
    sys.path.append(_FOLDER)
