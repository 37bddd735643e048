"""Every file of a bundle has an owner; sizes, licences and bill of materials follow from that."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bundling.inventory import CPYTHON, PROGRAM, Component, Inventory
from bundling.licenses import third_party_licenses
from bundling.sbom import create_sbom
from bundling.sizes import size_document, size_table
from bundling.tools import PackagingError


def _install(site: Path, name: str, version: str, files: list[str], head: str, text: str) -> None:
    info = site / f"{name}-{version}.dist-info"
    (info / "licenses").mkdir(parents=True)
    (info / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n{head}\n\nwords")
    (info / "licenses" / "LICENSE").write_text(text)
    (info / "RECORD").write_text("".join(f"{path},sha256=x,1\n" for path in files))


@pytest.fixture
def build(tmp_path: Path) -> tuple[Inventory, Path]:
    """A build as of Windows: two distributions, CPython, ours, and what PyInstaller makes."""
    site = tmp_path / "site-packages"
    _install(
        site,
        "Big_One",
        "2.0",
        ["big/core.pyd", "Big/__init__.py"],
        "License-Expression: MIT",
        "MIT text",
    )
    head = "Classifier: License :: OSI Approved :: Apache Software License"
    _install(site, "pyinstaller", "6.0", ["PyInstaller/x.py"], head, "MIT text")
    windows = "C:\\python\\Lib\\site-packages\\"
    files = [
        ["EXTENSION", "big\\core.pyd", windows + "BIG\\core.pyd"],
        ["PYMODULE", "big", windows + "big\\__init__.py"],
        ["BINARY", "python311.dll", "C:\\python\\python311.dll"],
        ["DATA", "resources\\a.svg", "C:\\src\\resources\\a.svg"],
        ["PYMODULE", "app.gui", "C:\\src\\app\\gui.py"],
    ]
    contents = tmp_path / "contents.json"
    contents.write_text(json.dumps({"prefix": "", "python": "3.11.9", "paths": [], "files": files}))
    folder = tmp_path / "DeepInfer"
    for place, size in {
        "_internal/big/core.pyd": 3 << 20,
        "_internal/python311.dll": 2000,
        "_internal/resources/a.svg": 10,
        "_internal/base_library.zip": 5,
        "deepinfer.exe": 7,
        "deepinfer-desktop.exe": 8,
    }.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_bytes(b"x" * size)
    return Inventory(contents, site, "c:/src", "1.2.3"), folder


def test_every_byte_has_an_owner(build: tuple[Inventory, Path]) -> None:
    inventory, folder = build
    components = inventory.read(folder)
    found = {one.name: (one.version, one.num_bytes, one.num_modules) for one in components}
    assert found == {
        "big-one": ("2.0", 3 << 20, 1),
        CPYTHON: ("3.11.9", 2005, 0),
        "pyinstaller": ("6.0", 15, 0),
        PROGRAM: ("1.2.3", 10, 1),
    }
    document = size_document(folder, components, system="windows")
    assert document["total_bytes"] == sum(row["bytes"] for row in document["components"])
    table = size_table(document)
    assert "| big-one | 2.0 | 3.0 |" in table
    assert "| 3 smaller ones | | 0.0 |" in table


def test_a_file_that_nobody_brought_ends_the_build(build: tuple[Inventory, Path]) -> None:
    inventory, folder = build
    (folder / "_internal" / "stray.dll").touch()
    with pytest.raises(PackagingError, match=r"came from: stray\.dll"):
        inventory.read(folder)


def test_the_bill_names_everything_and_repeats_itself(build: tuple[Inventory, Path]) -> None:
    inventory, folder = build
    components = inventory.read(folder)
    bill = create_sbom(components, "1.2.3", "2026-01-01T00:00:00Z", "windows")
    assert [one["purl"] for one in bill["components"]] == [
        "pkg:pypi/big-one@2.0",
        "pkg:generic/cpython@3.11.9",
        "pkg:pypi/pyinstaller@6.0",
    ]
    assert bill["components"][0]["licenses"] == [{"expression": "MIT"}]
    words = [{"license": {"name": "Apache Software License"}}]
    assert bill["components"][2]["licenses"] == words
    references = [one["bom-ref"] for one in bill["components"]]
    assert bill["dependencies"][0]["dependsOn"] == references
    again = create_sbom(components[::-1], "1.2.3", "2026-02-02T00:00:00Z", "windows")
    other = create_sbom(components[:2], "1.2.3", "2026-01-01T00:00:00Z", "windows")
    assert again["serialNumber"] == bill["serialNumber"] != other["serialNumber"]


def test_licence_texts_once_each_and_none_missing(build: tuple[Inventory, Path]) -> None:
    inventory, folder = build
    text = third_party_licenses(inventory.read(folder), "PYTHON'S TERMS")
    assert text.count("MIT text") == 1
    assert "The same text as of big-one" in text
    assert "PYTHON'S TERMS" in text
    with pytest.raises(PackagingError, match="No licence text was found for bare"):
        third_party_licenses([Component("bare", "1", "pypi")], "")


def test_qt_comes_with_the_text_of_the_lgpl() -> None:
    text = third_party_licenses([Component("pyside6-essentials", "6", "pypi")], "")
    assert "GNU LESSER GENERAL PUBLIC LICENSE" in text
    assert "may be replaced" in text


@pytest.mark.parametrize("place", ["Lib/site-packages/run_time.dll", "run_time.dll"])
def test_what_a_wheel_puts_beside_lib_is_its_own(tmp_path: Path, place: str) -> None:
    site = tmp_path / "Lib" / "site-packages"
    _install(site, "run_time", "14.44", ["../../run_time.dll"], "License: Proprietary", "words")
    files = [["DATA", "run_time.dll", str(tmp_path / place)]]
    contents = tmp_path / "contents.json"
    contents.write_text(json.dumps({"prefix": "", "python": "3.11.9", "paths": [], "files": files}))
    folder = tmp_path / "DeepInfer"
    (folder / "_internal").mkdir(parents=True)
    (folder / "_internal" / "run_time.dll").write_bytes(b"xyz")
    components = Inventory(contents, site, "c:/src", "1.2.3").read(folder)
    assert [(one.name, one.num_bytes, one.license) for one in components] == [
        ("run-time", 3, "Proprietary")
    ]
