"""Bill and licences are held to what lies in the folder; the table of sizes to what was built."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bundling.inventory import Component
from bundling.licenses import third_party_licenses
from bundling.papers import check_papers, lacking_in_papers
from bundling.release_table import render
from bundling.sbom import create_sbom
from bundling.tools import PackagingError


def _write(bundle: Path, billed: list[str], licensed: list[str]) -> None:
    components = {
        name: Component(name, "1.0", "pypi", "MIT", {"LICENSE": f"terms of {name}"})
        for name in {*billed, *licensed}
    }
    bill = create_sbom([components[name] for name in billed], "1", "2026-01-01T00:00:00Z", "linux")
    (bundle / "sbom.cdx.json").write_text(json.dumps(bill), encoding="utf-8")
    text = third_party_licenses([components[name] for name in licensed], "")
    (bundle / "THIRD_PARTY_LICENSES.txt").write_text(text, encoding="utf-8")


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    for name in ("Big_One-2.0", "small.two-0.1"):
        (tmp_path / "_internal" / f"{name}.dist-info").mkdir(parents=True)
    return tmp_path


def test_each_distribution_inside_is_in_both(bundle: Path) -> None:
    names = ["big-one", "small-two", "a-library"]
    _write(bundle, names, names)
    assert lacking_in_papers(bundle) == []


@pytest.mark.parametrize(
    ("billed", "licensed", "lacking"),
    [
        (["big-one"], ["big-one", "small-two"], "small-two"),
        (["big-one", "small-two"], ["small-two"], "big-one"),
        (["big-one", "small-two", "more"], ["big-one", "small-two"], "more"),
    ],
)
def test_one_that_either_lacks_ends_the_build(
    bundle: Path, billed: list[str], licensed: list[str], lacking: str
) -> None:
    _write(bundle, billed, licensed)
    assert lacking_in_papers(bundle) == [lacking]
    with pytest.raises(PackagingError, match=rf"lack {lacking}\.$"):
        check_papers(bundle)


def _document(system: str, build: str, sizes: dict[str, int]) -> dict[str, Any]:
    rows = [
        {"name": name, "version": "1", "bytes": size, "files": 1} for name, size in sizes.items()
    ]
    return {
        "system": system,
        "build": build,
        "commit": f"{system}1",
        "components": rows,
        "total_bytes": sum(sizes.values()),
    }


def test_the_table_names_folders_archives_and_the_largest(tmp_path: Path) -> None:
    documents = [
        _document("windows", "lean", {"qt": 60_000_000, "numpy": 26_000_000}),
        _document("linux", "full", {"torch": 400_000_000, "qt": 90_000_000}),
    ]
    with (tmp_path / "DeepInfer-1.2-windows-x86_64-setup.exe").open("wb") as file:
        file.truncate(31_000_000)
    with (tmp_path / "DeepInfer-1.2-linux-x86_64-full.tar.gz").open("wb") as file:
        file.truncate(7_000_000)
    lines = render(documents, tmp_path, "1.2").splitlines()
    assert lines[2:] == [
        "| | windows, lean | linux, full |",
        "| --- | ---: | ---: |",
        "| built of commit | windows1 | linux1 |",
        "| **the folder** | 86 | 490 |",
        "| setup | 31 |  |",
        "| tar |  | 7 |",
        "| torch |  | 400 |",
        "| qt | 60 | 90 |",
        "| numpy | 26 |  |",
    ]
