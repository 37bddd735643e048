"""The right command for each system, and the next one where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from app.core.errors import ResourceError
from app.library.reveal import reveal


class Runner:
    """Commands that exist, with their exit status."""

    def __init__(self, **known: int) -> None:
        self.known, self.ran = known, list[list[str]]()

    def __call__(self, command: Sequence[str]) -> int:
        name = Path(command[0]).stem.replace("-", "_")
        if name not in self.known:
            raise FileNotFoundError(2, "No such file", command[0])
        self.ran.append(list(command))
        return self.known[name]


def test_windows_selects_and_never_says_so(tmp_path: Path) -> None:
    run = Runner(explorer=1)
    reveal(tmp_path / "my model.gguf", platform="win32", run=run)
    assert run.ran == [["explorer.exe", f"/select,{tmp_path / 'my model.gguf'}"]]


def test_macos(tmp_path: Path) -> None:
    run = Runner(open=0)
    reveal(tmp_path, platform="darwin", run=run)
    assert run.ran == [["open", "-R", str(tmp_path)]]


def test_linux_asks_the_file_manager_to_select(tmp_path: Path) -> None:
    run = Runner(dbus_send=0, xdg_open=0)
    reveal(tmp_path / "模型, 1.gguf", platform="linux", run=run)
    (command,) = run.ran
    uri = (tmp_path / "模型, 1.gguf").as_uri().replace(",", "%2C")
    assert f"array:string:{uri}" in command
    assert "," not in uri


@pytest.mark.parametrize("known", [{"dbus_send": 1, "xdg_open": 0}, {"xdg_open": 0}])
def test_without_one_that_can_select_the_folder_opens(
    tmp_path: Path, known: dict[str, int]
) -> None:
    run = Runner(**known)
    (tmp_path / "model.gguf").touch()
    reveal(tmp_path / "model.gguf", platform="linux", run=run)
    assert run.ran[-1] == ["xdg-open", str(tmp_path)]


@pytest.mark.parametrize("known", [{}, {"dbus_send": 1, "xdg_open": 3}])
def test_without_any_the_path_is_told(tmp_path: Path, known: dict[str, int]) -> None:
    with pytest.raises(ResourceError, match=r"No file manager could be opened; the file is "):
        reveal(tmp_path, platform="linux", run=Runner(**known))
