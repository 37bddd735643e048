"""Is all of it inside? What the program imports and reads, by the list that the build made of its
sources (`needs.json`); kernels; words that libraries look up in files of their own.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from app.chat.attachments import read_attachment
from app.core.errors import MissingExtraError
from app.core.frozen import is_frozen
from app.core.paths import resources_dir

_LIMIT_S = 300.0
# The kinds of processes, and what must not have come into them: torch after Qt fails on Windows.
_PROCESSES = {
    "window": ("torch", "transformers", "cupy"),
    "engine": ("PySide6", "torch", "transformers"),
    "reference": ("PySide6", "cupy"),
}
_PDF_TEXT = "Text in a PDF"
_FORMULA = r"\alpha \leq \frac{a}{b}"
_CODE = {"python": "def f(): return 1", "cpp": "int f() { return 1; }", "sql": "SELECT 1"}
_CODE |= {"json": '{"a": 1}', "rust": "fn f() -> u8 { 1 }", "bash": "if true; then exit 1; fi"}


def check_contents() -> dict[str, Any]:
    """Every import of every kind of process, each kind in a fresh one, and every file."""
    path = resources_dir().parent / "needs.json"
    if not is_frozen() and not path.is_file():
        raise MissingExtraError("Only a bundle has a list of what must be in it.")
    needs: dict[str, list[str]] = json.loads(path.read_text(encoding="utf-8"))
    failures = [
        line
        for kind, unwanted in _PROCESSES.items()
        for line in _import_in_child(needs[kind], unwanted)
    ]
    files = [place for place in needs["files"] if not _is_read(path.parent / place)]
    if failures or files:
        raise LookupError("; ".join([*failures, *(f"no file {place}" for place in files)]))
    return {"imports": sum(len(needs[kind]) for kind in _PROCESSES), "files": len(needs["files"])}


def check_kernels() -> dict[str, Any]:
    """The native library, and each module for cards out of its archive."""
    from kernels.cpu.loader import instruction_sets
    from kernels.cuda.built import BUILT_DIR, find_built
    from kernels.cuda.variants import iter_sources

    targets = sorted(path.stem for path in BUILT_DIR.glob("*.zip"))
    sources = set(iter_sources())
    found = [find_built(source, target) for target in targets for source in sources]
    bad = [image for image in found if image is None or not _is_module(image)]
    if bad:
        raise LookupError(f"{len(bad)} of {len(found)} modules for cards are missing or broken.")
    backend = type(import_module("keyring").get_keyring())
    return {
        "instruction_sets": list(instruction_sets()),
        "cuda_archives": targets,
        "cuda_modules": len(found),
        "cupy": import_module("cupy").__version__ if find_spec("cupy") else None,
        "keyring": f"{backend.__module__}.{backend.__qualname__}",
        "has_reference": find_spec("torch") is not None,
    }


def check_texts(folder: Path) -> dict[str, Any]:
    """A PDF read, a formula written, code coloured: libraries with tables of their own."""
    from app.ui.highlight import find_spans
    from app.ui.math_text import readable_math

    path = folder / "附件 attachment.pdf"
    path.write_bytes(_make_pdf(_PDF_TEXT))
    pdf, formula = read_attachment(path).text.strip(), readable_math(_FORMULA)
    plain = [language for language, code in _CODE.items() if not find_spans(code, language)]
    if pdf != _PDF_TEXT or not {"α", "≤"} <= set(formula) or plain:
        raise ValueError(f"PDF: {pdf!r}, formula: {formula!r}, not coloured: {plain}.")
    return {"pdf": pdf, "formula": formula, "languages": len(_CODE)}


def try_imports(names: Sequence[str], unwanted: Sequence[str] = ()) -> list[str]:
    """A line for each `module` or `module:name` that is not there, or came and is `unwanted`."""
    lines = []
    for name in names:
        module, _, attribute = name.partition(":")
        try:
            found = import_module(module)
            if attribute and attribute != "*" and not hasattr(found, attribute):
                import_module(f"{module}.{attribute}")
        except Exception as error:  # noqa: BLE001 - whatever a module does at its head
            lines.append(f"{name}: {type(error).__name__}: {error}")
    return lines + [f"{name} is loaded as well" for name in unwanted if name in sys.modules]


def _import_in_child(names: Sequence[str], unwanted: Sequence[str]) -> list[str]:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(try_imports, names, unwanted).result(_LIMIT_S)


def _is_read(path: Path) -> bool:
    return path.is_file() and bool(path.read_bytes())


def _is_module(image: bytes) -> bool:
    """A cubin is an ELF file, PTX a text that names its version."""
    return image.startswith(b"\x7fELF") or b".version" in image[:4096]


def _make_pdf(text: str) -> bytes:
    """One page with one line: ISO 32000-1, 7.5."""
    stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode()
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    )
    data, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    trailer = b"trailer\n<< /Size %d /Root 1 0 R >>\n" % (len(objects) + 1)
    return data + head + table + trailer + b"startxref\n%d\n%%%%EOF\n" % len(data)
