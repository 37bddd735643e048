"""What the programs tell Windows of themselves, read back out of them: windows/program.manifest.

Paths beyond 260 characters, UTF-8 as the code page of functions that know no other text, sharp
text on screens of several densities, no question for an administrator.
https://learn.microsoft.com/windows/win32/sbscs/application-manifests
"""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from bundling.tools import PACKAGING, PackagingError

SOURCE = PACKAGING / "windows" / "program.manifest"
_SAID = {
    "activeCodePage": "UTF-8",
    "dpiAwareness": "PerMonitorV2, PerMonitor",
    "longPathAware": "true",
}
_BEGIN, _END = b"<assembly ", b"</assembly>"


def check_programs(bundle: Path) -> None:
    """PackagingError for a program of the bundle that does not say all of it."""
    for path in sorted(bundle.glob("*.exe")):
        said = read_manifest(path)
        wrong = [name for name, value in _SAID.items() if said.get(name) != value]
        if wrong or said.get("requestedExecutionLevel") != "asInvoker":
            raise PackagingError(f"The manifest of {path.name} lacks {wrong or 'asInvoker'}.")


def read_manifest(program: Path) -> dict[str, str]:
    """The texts of its settings by name, and the level asked for; empty where there is none."""
    data = program.read_bytes()
    begin = data.rfind(_BEGIN)
    end = data.find(_END, begin)
    if begin < 0 or end < 0:
        return {}
    root = ElementTree.fromstring(data[begin : end + len(_END)])
    said = {}
    for element in root.iter():
        name = element.tag.rpartition("}")[2]
        said[name] = element.get("level") or (element.text or "").strip()
    return said
