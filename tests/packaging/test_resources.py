"""Version resource and icon, read back by others' readers."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bundling.icon import pack_ico
from bundling.tools import PackagingError
from bundling.version_resource import check_names, version_numbers, version_resource
from PySide6.QtCore import QBuffer, QByteArray, QIODevice
from PySide6.QtGui import QColor, QImage, QImageReader


def _png(size: int) -> bytes:
    image = QImage(size, size, QImage.Format.Format_ARGB32)
    image.fill(QColor(10, 200, 90, 128))
    content = QByteArray()
    buffer = QBuffer(content)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    assert image.save(buffer, "PNG")  # type: ignore[call-overload]
    return bytes(content.data())


def test_qt_reads_every_image_of_the_icon() -> None:
    sizes = (256, 16, 48)
    content = QByteArray(pack_ico({size: _png(size) for size in sizes}))
    buffer = QBuffer(content)  # which does not keep it alive
    buffer.open(QIODevice.OpenModeFlag.ReadOnly)
    reader = QImageReader(buffer, QByteArray(b"ico"))
    assert reader.imageCount() == 3
    images = []
    for index in range(3):
        reader.jumpToImage(index)
        images.append(reader.read())
    assert [image.width() for image in images] == sorted(sizes)
    assert all(image.pixelColor(3, 3).alpha() == 128 for image in images)


@pytest.mark.parametrize(
    ("version", "numbers"),
    [
        ("0.1.0", (0, 1, 0, 0)),
        ("2", (2, 0, 0, 0)),
        ("1.2.3rc1", (1, 2, 3, 0)),
        ("1.2.3.4.5", (1, 2, 3, 4)),
        ("2026.99999", (2026, 65535, 0, 0)),
    ],
)
def test_four_numbers(version: str, numbers: tuple[int, ...]) -> None:
    assert version_numbers(version) == numbers


def test_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="does not begin"):
        version_numbers("beta")


def _read(text: str) -> dict[str, Any]:
    """As PyInstaller reads it: the text is an expression of these constructors."""
    found: dict[str, Any] = {}

    def kept(name: str) -> Callable[..., None]:
        return lambda *args, **named: found.update({name: named or args})

    names = ("VSVersionInfo", "FixedFileInfo", "StringFileInfo", "StringTable", "VarFileInfo")
    constructors: dict[str, Any] = {name: kept(name) for name in names}
    constructors["VarStruct"] = kept("VarStruct")
    constructors["StringStruct"] = lambda name, value: found.update({f"={name}": value})
    eval(text, constructors)
    return found


def test_the_resource_says_version_and_name() -> None:
    found = _read(version_resource("1.2.3", "deepinfer"))
    assert found["FixedFileInfo"]["filevers"] == (1, 2, 3, 0)
    assert found["FixedFileInfo"]["flags"] == 0
    assert (found["=FileVersion"], found["=ProductName"]) == ("1.2.3", "DeepInfer Desktop")
    assert (found["=OriginalFilename"], found["=InternalName"]) == ("deepinfer.exe", "deepinfer")
    assert _read(version_resource("1.2.3rc1", "deepinfer"))["FixedFileInfo"]["flags"] == 2


def _entry(key: str, value: str) -> bytes:
    """A String of a version resource: lengths, type, key, padding to 32 bits, value."""
    head = struct.pack("<HHH", 0, len(value) + 1, 1) + f"{key}\0".encode("utf-16-le")
    return head + bytes(-len(head) % 4) + f"{value}\0".encode("utf-16-le")


@pytest.mark.parametrize("name", ["deepinfer.exe", "deepinfer-desktop.exe"])
def test_a_program_that_names_another_file_ends_the_build(tmp_path: Path, name: str) -> None:
    resource = _entry("OriginalFilename", name) + _entry("ProductName", "DeepInfer Desktop")
    (tmp_path / name).write_bytes(b"MZ\0\0" + resource)
    check_names(tmp_path)
    (tmp_path / "other.exe").write_bytes(b"MZ\0\0" + resource)
    with pytest.raises(PackagingError, match=rf"of other\.exe names '{name}'"):
        check_names(tmp_path)
    (tmp_path / "other.exe").write_bytes(b"MZ")
    with pytest.raises(PackagingError, match="names ''"):
        check_names(tmp_path)
