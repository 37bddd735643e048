"""What is published: a zip for Windows, a tar with an AppDir for Linux, and SHA256SUMS beside."""

from __future__ import annotations

import gzip
import os
import shutil
import tarfile
import time
import zipfile
from collections.abc import Iterable
from pathlib import Path

from bundling.freeze import FOLDER_NAME
from bundling.tools import PACKAGING, fresh, hash_file

_LINUX = PACKAGING / "linux"
_STORED = (".gguf", ".zip", ".png")  # what does not become smaller
PORTABLE_MARK = "portable.txt"
_PORTABLE_TEXT = """While this file lies beside the program, models, chats and settings are kept
in the folder `data` beside it.
"""


def build_time_s() -> int:
    """SOURCE_DATE_EPOCH, where it is set: then archives of equal files are equal."""
    return int(os.environ.get("SOURCE_DATE_EPOCH") or time.time())


def write_zip(bundle: Path, target: Path) -> Path:
    """The portable program: unpack and run."""
    stamp = time.gmtime(build_time_s())[:6]
    with zipfile.ZipFile(target, "w") as archive:
        for path in sorted(bundle.rglob("*")):
            if path.is_file():
                name = f"{FOLDER_NAME}/{path.relative_to(bundle).as_posix()}"
                _add(archive, zipfile.ZipInfo(name, stamp), path)
        mark = zipfile.ZipInfo(f"{FOLDER_NAME}/{PORTABLE_MARK}", stamp)
        archive.writestr(mark, _PORTABLE_TEXT.replace("\n", "\r\n"))
    return target


def _add(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path) -> None:
    is_stored = path.suffix in _STORED
    info.compress_type = zipfile.ZIP_STORED if is_stored else zipfile.ZIP_DEFLATED
    info.file_size = path.stat().st_size
    with path.open("rb") as source, archive.open(info, "w") as entry:
        shutil.copyfileobj(source, entry, 1 << 20)


def make_app_dir(bundle: Path, icon: Path, folder: Path) -> Path:
    """The bundle as an AppDir: https://docs.appimage.org/reference/appdir.html."""
    fresh(folder)
    places = {
        "AppRun": _LINUX / "AppRun",
        "install.sh": _LINUX / "install.sh",
        "deepinfer.desktop": _LINUX / "deepinfer.desktop",
        "usr/share/applications/deepinfer.desktop": _LINUX / "deepinfer.desktop",
        "usr/share/mime/packages/deepinfer.xml": _LINUX / "deepinfer.xml",
        "usr/share/icons/hicolor/256x256/apps/deepinfer.png": icon,
        "deepinfer.png": icon,
        ".DirIcon": icon,
    }
    for place, source in places.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, folder / place)
    shutil.copytree(bundle, folder / "usr" / "lib" / FOLDER_NAME, symlinks=True)
    return folder


def write_tar(folder: Path, target: Path) -> Path:
    """A .tar.gz of the folder under its own name; owners are root, times those of the build."""
    when = build_time_s()

    def settle(info: tarfile.TarInfo) -> tarfile.TarInfo:
        info.uid = info.gid = 0
        info.uname = info.gname = "root"
        info.mtime = when
        return info

    with (
        target.open("wb") as raw,
        gzip.GzipFile("", "wb", 6, raw, mtime=when) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        archive.add(folder, folder.name, filter=settle)
    return target


def write_checksums(files: Iterable[Path], target: Path) -> None:
    """As `sha256sum --check` reads them."""
    lines = [f"{hash_file(path)}  {path.name}\n" for path in sorted(files)]
    target.write_text("".join(lines), encoding="utf-8", newline="\n")
