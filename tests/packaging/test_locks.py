"""The locks in the repository hold what pyproject.toml asks for, and their files are read back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bundling.locks import Pin, lock_path, read_lock, source_lock_path, write_lock

import dev

_SYSTEMS = ("linux", "windows")


def _versions(system: str, *parts: str) -> dict[str, str]:
    paths = [*(lock_path(system, part) for part in parts), source_lock_path()]
    return {pin.name: pin.version for path in paths for pin in read_lock(path)}


def _is_allowed(version: str, conditions: str) -> bool:
    """`>=1.2,<3`, `==12.9.*` and the like, for versions of numbers."""
    numbers = _numbers(version)
    for condition in filter(None, conditions.split(",")):
        match = re.match(r"(>=|<|==)(.*)", condition)
        assert match is not None, condition
        sign, bound = match.group(1), _numbers(match.group(2))
        fits = {">=": numbers >= bound, "<": numbers < bound, "==": numbers[: len(bound)] == bound}
        if not fits[sign]:
            return False
    return True


def _numbers(version: str) -> list[int]:
    return [int(word) for word in re.findall(r"\d+", version.partition("+")[0])]


@pytest.mark.parametrize("system", _SYSTEMS)
def test_a_lock_has_what_is_asked_for(system: str) -> None:
    extras = dev.extras()
    card = [word for word in extras["cuda"] if not word.startswith("nvidia-")]
    lean = [*dev.pyproject()["dependencies"], *card, *extras["starter"]]
    full = [*lean, *extras["reference"]]
    for wanted, versions in (
        (lean, _versions(system, "")),
        (full, _versions(system, "", "full")),
        (extras["build"], _versions(system, "kernels")),
    ):
        for requirement in wanted:
            match = re.match(r"[\w.-]+", requirement)
            assert match is not None
            found = versions.get(re.sub(r"[-_.]+", "-", match.group()).lower())
            assert found is not None, requirement
            assert _is_allowed(found, requirement[match.end() :]), (requirement, found)


@pytest.mark.parametrize("system", _SYSTEMS)
def test_no_lean_bundle_has_torch(system: str) -> None:
    assert {"torch", "transformers", "nvidia-cuda-nvrtc-cu12"}.isdisjoint(_versions(system, ""))
    lean, more = (read_lock(lock_path(system, part)) for part in ("", "full"))
    assert {pin.name for pin in lean}.isdisjoint(pin.name for pin in more)


def test_what_only_one_system_needs() -> None:
    assert {"pefile", "pywin32-ctypes", "colorama"} <= _versions("windows", "").keys()
    assert {"jeepney", "secretstorage"} <= _versions("linux", "").keys()
    assert {"jeepney", "secretstorage"}.isdisjoint(_versions("windows", ""))


def test_a_lock_is_read_as_written(tmp_path: Path) -> None:
    pins = [Pin("b", "2.0+cpu", "b" * 64), Pin("a-c", "1", "a" * 64)]
    write_lock(tmp_path / "x.txt", pins)
    assert read_lock(tmp_path / "x.txt") == sorted(pins)
    (tmp_path / "x.txt").write_text("a>=1\n")
    with pytest.raises(ValueError, match=re.escape("x.txt: not a pin: a>=1")):
        read_lock(tmp_path / "x.txt")
