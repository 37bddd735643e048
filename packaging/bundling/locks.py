"""Stated versions with hashes: what is inside a bundle is the same tomorrow.

`python3 dev.py package --lock` asks for the newest versions that pyproject.toml allows and writes
`packaging/locks/*.txt`. A lock is complete, so it is installed with --no-deps.
"""

from __future__ import annotations

import re
import shutil
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bundling.tools import PACKAGING, ROOT, fresh, hash_file, note, run

LOCKS = PACKAGING / "locks"
PYTHON_VERSION = "3.11"
_BUILDERS = ("pyinstaller>=6.22,<7",)
# Published as source alone; pure Python, so one lock serves both systems.
_SOURCE_ONLY = ("unicodeit",)
# pip judges markers by the machine that it runs on, so a lock for Windows made on Linux lacks what
# only Windows needs, and has what only Linux does.
_ONLY_WINDOWS = ("pywin32-ctypes", "pefile", "colorama")
# A library of Visual C++ that torch wants and Qt's wheel lacks; of the same version as the others.
_ONLY_WINDOWS_FULL = ("msvc-runtime>=14.44,<14.45",)
_ONLY_LINUX = ("jeepney", "secretstorage", "cryptography", "cffi", "pycparser")


@dataclass(frozen=True, order=True)
class Pin:
    """One wheel: its distribution, version and SHA-256."""

    name: str
    version: str
    sha256: str

    def __str__(self) -> str:
        return f"{self.name}=={self.version} --hash=sha256:{self.sha256}"


def lock_path(system: str, part: str = "") -> Path:
    """Of `linux` or `windows`: what every bundle is made of; part `full`: what the full one has
    besides; part `kernels`: the compilers of the native parts, which no bundle contains."""
    return LOCKS / f"{system}{'-' if part else ''}{part}.txt"


def source_lock_path() -> Path:
    """Of what must be built from source first, for every system."""
    return LOCKS / "source.txt"


def read_lock(path: Path) -> list[Pin]:
    """Its pins; ValueError for a line that is none."""
    pins = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        match = re.fullmatch(r"([\w.-]+)==([\w.+!-]+) --hash=sha256:([0-9a-f]{64})", line)
        if match is None:
            raise ValueError(f"{path.name}: not a pin: {line}")
        pins.append(Pin(*match.groups()))
    return pins


def write_lock(path: Path, pins: Iterable[Pin]) -> None:
    """Sorted, with a word on what made it."""
    head = "# Made by `python3 dev.py package --lock`; complete, so installed with --no-deps.\n"
    path.parent.mkdir(exist_ok=True)
    path.write_text(head + "".join(f"{pin}\n" for pin in sorted(pins)), encoding="utf-8")


def make_locks(work: Path) -> None:
    """All locks, from the wheels that pip chooses today."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    card = [word for word in extras["cuda"] if not word.startswith("nvidia-")]
    compilers = [word for word in extras["cuda"] if word.startswith("nvidia-")]
    lean = [*project["dependencies"], *card, *_BUILDERS]
    sources = [word for word in lean if _name_of(word) in _SOURCE_ONLY]
    lean = [word for word in lean if word not in sources]
    _lock_sources(fresh(work / "sources"), sources)
    for system in ("linux", "windows"):
        wheels = fresh(work / f"wheels-{system}")
        _download(system, wheels, lean)
        _download(system, wheels, extras["starter"], "--no-deps")
        if system == "windows":
            _download(system, wheels, _ONLY_WINDOWS, "--no-deps")
        pins = set(_pins_of(wheels, _ONLY_LINUX if system == "windows" else ()))
        write_lock(lock_path(system), pins)
        _download(system, fresh(work / "wheels-kernels"), [*compilers, *extras["build"]])
        write_lock(lock_path(system, "kernels"), _pins_of(work / "wheels-kernels"))
        if system == "linux":
            _download(system, wheels, [*lean, *extras["reference"]])
        else:
            # torch for Linux depends on packages of CUDA, and pip would ask for them here as well.
            versions = [_without_build(pin) for pin in read_lock(lock_path("linux", "full"))]
            _download(system, wheels, [*versions, *_ONLY_WINDOWS_FULL], "--no-deps")
        names = {pin.name for pin in pins} | {*_ONLY_LINUX}
        more = [pin for pin in _pins_of(wheels) if pin.name not in names]
        write_lock(lock_path(system, "full"), more)


def _without_build(pin: Pin) -> str:
    """`torch==2.13.0+cpu` as `torch==2.13.0`: the wheel for Windows on PyPI is the CPU's."""
    return f"{pin.name}=={pin.version.partition('+')[0]}"


def _download(system: str, wheels: Path, requirements: Iterable[str], *options: str) -> None:
    note(f"asking for the wheels of {system} ...")
    platform = ("--platform", "win_amd64", "--python-version", PYTHON_VERSION)
    run(
        [
            *(sys.executable, "-m", "pip", "download", "--quiet", "--dest", wheels),
            *("--only-binary=:all:", *(platform if system == "windows" else ())),
            *(*options, *requirements),
        ]
    )


def _name_of(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement)[0].lower()


def _lock_sources(folder: Path, requirements: Iterable[str]) -> None:
    options = ("--quiet", "--no-deps", "--no-binary=:all:", "--dest", folder)
    run([sys.executable, "-m", "pip", "download", *options, *requirements])
    pins = []
    for path in folder.glob("*.tar.gz"):
        name, _, version = path.name.removesuffix(".tar.gz").rpartition("-")
        pins.append(Pin(re.sub(r"[-_.]+", "-", name).lower(), version, hash_file(path)))
    write_lock(source_lock_path(), pins)


def _pins_of(wheels: Path, without: Iterable[str] = ()) -> Iterator[Pin]:
    for path in sorted(wheels.glob("*.whl")):
        name, version = path.name.split("-")[:2]
        name = re.sub(r"[-_.]+", "-", name).lower()
        if name not in without:
            yield Pin(name, version, hash_file(path))


def install(python: Path, locks: Iterable[Path]) -> None:
    """Into the environment of this interpreter, with hashes checked."""
    for lock in locks:
        note(f"installing {lock.name} ...")
        kind = "--no-binary=:all:" if lock == source_lock_path() else "--only-binary=:all:"
        run([python, "-m", "pip", "install", "--quiet", kind, *_PINNED, "-r", lock])


def install_foreign(locks: Iterable[Path], target: Path, work: Path) -> None:
    """Wheels of Windows into a folder, by a pip that runs on Linux; those of source are built."""
    shutil.rmtree(target, ignore_errors=True)
    pip, platform = [sys.executable, "-m", "pip"], ("--platform", "win_amd64")
    into = ("--quiet", "--no-compile", "--target", target)
    version = ("--python-version", PYTHON_VERSION, "--only-binary=:all:")
    given = [word for lock in locks for word in ("-r", lock)]
    run([*pip, "install", *into, *_PINNED, *platform, *version, *given])
    built = fresh(work / "wheels-built")
    options = ("--quiet", "--no-binary=:all:", "--wheel-dir", built)
    run([*pip, "wheel", *options, *_PINNED, "-r", source_lock_path()])
    run([*pip, "install", *into, "--no-deps", "--no-index", *sorted(built.glob("*-any.whl"))])


_PINNED = ("--no-deps", "--require-hashes")
