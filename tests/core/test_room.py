"""Room is counted per volume, for everything that will lie there."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.core.errors import ResourceError
from app.core.room import SPARE_BYTES, Need, check_room, existing_part

_GIB = 1 << 30


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every volume has 10 GiB, and what must stay free."""
    monkeypatch.setattr("app.core.room.free_bytes", lambda _folder: 10 * _GIB + SPARE_BYTES)


@pytest.mark.usefixtures("free")
def test_needs_on_one_volume_are_summed(tmp_path: Path) -> None:
    files = Need(tmp_path / "not" / "there" / "yet", 6 * _GIB, "the files")
    conversion = Need(tmp_path, 4 * _GIB, "the conversion")
    check_room([files, conversion])
    check_room([files, Need(tmp_path, 0, "nothing"), conversion])
    with pytest.raises(ResourceError) as refused:
        check_room([files, conversion, Need(tmp_path, 1, "one byte more")])
    assert refused.value.message.startswith(
        "The download needs 10.0 GiB (6.0 GiB for the files + 4.0 GiB for the conversion + 1 B for "
        "one byte more) and 64.0 MiB to spare; "
    )
    assert refused.value.message.endswith("has 10.1 GiB free.")


@pytest.mark.usefixtures("free")
def test_needs_on_two_volumes_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "other").mkdir()
    monkeypatch.setattr("app.core.room.volume_of", lambda folder: int(folder.name == "other"))
    check_room([Need(tmp_path, 6 * _GIB, "a"), Need(tmp_path / "other", 6 * _GIB, "b")])
    with pytest.raises(ResourceError, match=r"needs 11\.0 GiB \(11\.0 GiB for b\)"):
        check_room([Need(tmp_path, 6 * _GIB, "a"), Need(tmp_path / "other", 11 * _GIB, "b")])


def test_a_folder_that_is_not_there_lies_where_its_parents_are(tmp_path: Path) -> None:
    assert existing_part(tmp_path / "a" / "b") == tmp_path
    assert existing_part(Path("no such folder here")) == Path.cwd()
