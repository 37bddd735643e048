"""What lies beside the programs in a bundle: licences, bill of materials; and a table of sizes."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

from bundling.archives import build_time_s
from bundling.inventory import Component, Inventory
from bundling.licenses import third_party_licenses
from bundling.options import read_commit
from bundling.sbom import create_sbom
from bundling.sizes import LIMITS, size_document, size_table
from bundling.tools import PackagingError, note

_README = """DeepInfer {version} ({build})

  {window:<24} the window
  {console:<24} the command line: {console} --help
  {console} --self-test    does this installation work?

Models, chats and settings are kept in {home}, unless DEEPINFER_HOME names another folder or
portable.txt lies here. THIRD_PARTY_LICENSES.txt and sbom.cdx.json tell what is inside.
"""
_HOMES = {"windows": r"%LOCALAPPDATA%\DeepInfer", "linux": "~/.local/share/DeepInfer"}


def write_papers(
    bundle: Path,
    inventory: Inventory,
    python_license: str,
    *,
    version: str,
    system: str,
    is_full: bool,
    out: Path,
) -> list[Component]:
    """Into the bundle, and the sizes into `out`; PackagingError where it is larger than allowed."""
    components = inventory.read(bundle)
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(build_time_s()))
    sbom = create_sbom(components, version, when, system)
    (bundle / "sbom.cdx.json").write_text(json.dumps(sbom, indent=1) + "\n", encoding="utf-8")
    text = third_party_licenses(components, python_license)
    (bundle / "THIRD_PARTY_LICENSES.txt").write_text(text, encoding="utf-8")
    (bundle / "README.txt").write_text(_readme(version, system, is_full), encoding="utf-8")
    check_papers(bundle)
    _write_sizes(bundle, components, version, system, is_full, out)
    return components


def check_papers(bundle: Path) -> None:
    """PackagingError where the bill or the licences lack a distribution."""
    if lacking := lacking_in_papers(bundle):
        raise PackagingError(f"Bill or licences lack {', '.join(lacking)}.")


def lacking_in_papers(bundle: Path) -> list[str]:
    """Names of the distributions in the bundle that the bill or the licences lack.

    Asked of the folder itself: of the metadata that its distributions brought.
    """
    text = (bundle / "sbom.cdx.json").read_text(encoding="utf-8")
    billed = {one["name"] for one in json.loads(text)["components"]}
    licenses = (bundle / "THIRD_PARTY_LICENSES.txt").read_text(encoding="utf-8")
    inside = {
        re.sub(r"[-_.]+", "-", path.name.removesuffix(".dist-info").rpartition("-")[0]).lower()
        for path in (bundle / "_internal").glob("*.dist-info")
    }
    headed = set(re.findall(r"^={100}\n(\S+) [^\n]*: [^\n]+\n={100}$", licenses, re.MULTILINE))
    return sorted((inside | billed) - (billed & headed))


def _readme(version: str, system: str, is_full: bool) -> str:
    suffix = ".exe" if system == "windows" else ""
    return _README.format(
        version=version,
        build=f"{system}, {'full' if is_full else 'lean'} build",
        window=f"deepinfer-desktop{suffix}",
        console=f"deepinfer{suffix}",
        home=_HOMES[system],
    )


def _write_sizes(
    bundle: Path,
    components: list[Component],
    version: str,
    system: str,
    is_full: bool,
    out: Path,
) -> None:
    build = "full" if is_full else "lean"
    facts = {"version": version, "commit": read_commit(), "system": system, "build": build}
    document = size_document(bundle, components, **facts)
    name = f"sizes-{system}-{build}"
    (out / f"{name}.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    table = size_table(document)
    (out / f"{name}.md").write_text(table, encoding="utf-8")
    note(f"what takes the room:\n{table}")
    limit = LIMITS.get((system, is_full))
    if limit is not None and document["total_bytes"] > limit:
        raise PackagingError(
            f"The bundle takes {document['total_bytes']:,} bytes; {limit:,} are allowed."
        )
