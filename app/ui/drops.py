"""What becomes of files that are dropped on the window: the page in front has a say."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from app.ui.widgets.drop_overlay import DropOverlay, DropUse

if TYPE_CHECKING:
    from app.ui.main_window import MainWindow

_MODEL_ENDS = (".gguf", ".safetensors", ".bin", ".pt", ".pth")


class Drops(DropOverlay):
    """Covers the window while something is dragged over it, and hands over what is let go."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window, self._use_of_paths)
        self._window = window
        self.paths_dropped.connect(self._on_paths_dropped)

    def _on_paths_dropped(self, paths: Sequence[Path]) -> None:
        window = self._window
        take = {
            DropUse.CHECK: window.validate,
            DropUse.CONVERT: window.offer,
            DropUse.ATTACH: window.chat_page.attacher.attach,
        }
        use = self._use_of_paths(paths)
        take[use](paths if use is DropUse.ATTACH else list(dict.fromkeys(map(_whole, paths))))

    def _use_of_paths(self, paths: Sequence[Path]) -> DropUse:
        """A page that takes files itself gets them; everywhere else they are converted."""
        desk = self._window.desk
        if desk.current_page is desk.validate_page:
            return DropUse.CHECK
        are_models = any(path.is_dir() or path.suffix.lower() in _MODEL_ENDS for path in paths)
        is_chat = desk.current_page is desk.chat_page
        return DropUse.ATTACH if is_chat and not are_models else DropUse.CONVERT


def _whole(path: Path) -> Path:
    """The folder of a model where one of its files is meant, else the path itself."""
    is_part = path.suffix.lower() == ".safetensors" or path.name == "config.json"
    return path.parent if is_part and (path.parent / "config.json").is_file() else path
