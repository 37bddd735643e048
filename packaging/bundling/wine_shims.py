"""DLLs that Wine 10 lacks or has in part, for tests under Wine; none of them is ever shipped.

icuuc.dll: Qt >= 6.10 imports the ICU of Windows 10, which Wine has not; these stubs say that there
are no converters. ucrtbase.dll: NumPy >= 2.2 imports C99's complex functions; MinGW's stand in for
them, all else goes to Wine's own library under another name. mscms.dll: Qt asks for one function.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from bundling.programs import need
from bundling.tools import capture, fresh, run
from bundling.wine import Wine

_COMPLEX = "cacos cacosh casin casinh catan catanh ccos ccosh cexp clog conj cproj csin csinh csqrt"
_COMPLEX += " ctan ctanh"
_REAL_OF_COMPLEX = "cabs carg cimag creal"
_ICU_FUNCTIONS = (
    *("ucnv_open", "ucnv_close", "ucnv_countAvailable", "ucnv_getAvailableName", "ucnv_getName"),
    *("ucnv_getStandardName", "ucnv_reset", "ucnv_fromUCountPending", "ucnv_toUCountPending"),
    *(
        "UCNV_FROM_U_CALLBACK_SUBSTITUTE",
        "UCNV_TO_U_CALLBACK_SUBSTITUTE",
        "ucnv_cbFromUWriteUChars",
    ),
    *("ucnv_cbToUWriteUChars", "ucnv_fromUnicode", "ucnv_getFromUCallBack", "ucnv_getMaxCharSize"),
    *("ucnv_getToUCallBack", "ucnv_setFromUCallBack", "ucnv_setToUCallBack", "ucnv_toUnicode"),
)
_HEAD = """#include <complex.h>
#include <math.h>
typedef struct { float r, i; } F;
typedef struct { double r, i; } D;
"""


def install(wine: Wine, work: Path) -> None:
    """Compiles the three and puts them into the prefix's system32."""
    system32 = wine.drive / "windows/system32"
    if (system32 / "ucrtwine.dll").is_file():
        return
    own = wine.root / "usr/lib/x86_64-linux-gnu/wine/x86_64-windows"
    folder = fresh(work / "shims")
    code, names = _complex_functions()
    _forward(folder, own / "ucrtbase.dll", "ucrtwine", code, names)
    _forward(
        folder,
        own / "mscms.dll",
        "mscms_wine",
        _stub("WcsCreateIccProfile"),
        ["WcsCreateIccProfile"],
    )
    icu = "".join(f"void *sh_{name}(void) {{ return 0; }}\n" for name in _ICU_FUNCTIONS)
    _compile(folder, "icuuc", icu, [], _ICU_FUNCTIONS)
    shutil.copy(own / "ucrtbase.dll", system32 / "ucrtwine.dll")
    shutil.copy(own / "mscms.dll", system32 / "mscms_wine.dll")
    for path in folder.glob("*.dll"):
        (system32 / path.name).unlink(missing_ok=True)  # a link into the root's own files
        shutil.copy(path, system32 / path.name)


def _forward(folder: Path, library: Path, other: str, code: str, ours: Iterable[str]) -> None:
    """A library that has `ours` itself and leads everything else to its copy called `other`."""
    tool = need("x86_64-w64-mingw32-objdump")
    exports = capture([tool, "-p", library]).partition("[Ordinal/Name Pointer]")[2]
    names = re.findall(
        r"^\s*\[ *\d+\](?: \+base\[ *\d+\] +[0-9a-f]+)? (\S+)$", exports, re.MULTILINE
    )
    mine = set(ours)
    lines = [f'  "{name}" = "{other}.{name}"' for name in names if name not in mine]
    _compile(folder, library.stem, code, lines, mine)


def _compile(
    folder: Path, name: str, code: str, forwards: Iterable[str], ours: Iterable[str]
) -> None:
    compiler = need("x86_64-w64-mingw32-gcc")
    source, definitions = folder / f"{name}.c", folder / f"{name}.def"
    source.write_text(code)
    lines = [f"LIBRARY {name}.dll", "EXPORTS", *forwards, *(f"  {one} = sh_{one}" for one in ours)]
    definitions.write_text("\n".join(lines) + "\n")
    run([compiler, "-shared", "-O1", "-static", "-o", folder / f"{name}.dll", source, definitions])


def _stub(name: str) -> str:
    return f"void *sh_{name}(void) {{ return 0; }}\n"


def _complex_functions() -> tuple[str, list[str]]:
    """Windows passes a complex number as a structure; long double is double there."""
    lines, names = [_HEAD], []
    for name in [*_COMPLEX.split(), *_REAL_OF_COMPLEX.split(), "cpow"]:
        for suffix, kind, real in (("f", "F", "float"), ("", "D", "double"), ("l", "D", "double")):
            names.append(name + suffix)
            lines.append(_complex_function(name, suffix, kind, real))
    return "\n".join(lines) + "\n", names


def _complex_function(name: str, suffix: str, kind: str, real: str) -> str:
    called = name + ("f" if kind == "F" else "")
    if name in _REAL_OF_COMPLEX.split():
        body = f"return {called}(__builtin_complex(z.r, z.i));"
        return f"{real} sh_{name}{suffix}({kind} z) {{ {body} }}"
    more = name == "cpow"
    arguments = "__builtin_complex(z.r, z.i)" + (", __builtin_complex(y.r, y.i)" if more else "")
    body = (
        f"{real} _Complex w = {called}({arguments}); {kind} o = {{creal(w), cimag(w)}}; return o;"
    )
    return f"{kind} sh_{name}{suffix}({kind} z{f', {kind} y' if more else ''}) {{ {body} }}"
