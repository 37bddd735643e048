"""A checkpoint that the engine runs is in use, and was used."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from app.core.errors import ResourceError
from app.core.holds import read_holds
from app.core.library_events import ItemKind, LastUse
from app.engine.host import EngineHost
from app.library.removal import plan_removal
from app.library.scan import Roots, scan


def test_a_loaded_model(starter_checkpoint: Path, tmp_path: Path) -> None:
    began_s = time.time()
    host = EngineHost(lambda event: None)
    try:
        host.load(starter_checkpoint, "cpu", 256).result()
        items = scan(Roots(starter_checkpoint.parent, cache_dir=tmp_path)).items
        (item,) = (item for item in items if item.kind is ItemKind.CHECKPOINT)
        assert (item.busy, item.last_use) == ("loaded", LastUse.LOADED)
        assert item.used_s >= began_s
        with pytest.raises(ResourceError, match="is loaded right now"):
            plan_removal(item)
        host.unload().result()
        assert read_holds() == {}
        assert plan_removal(item).paths == (starter_checkpoint,)
    finally:
        host.close()
