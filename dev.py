#!/usr/bin/env python3
"""One door for developers, standard library only: makes `.venv`, installs, runs, tests.

    python3 dev.py run [ARGS]      the window, or `deepinfer ARGS`; run-time dependencies only
    python3 dev.py test [ARGS]     lint, types, import contract, tests; ARGS go to pytest, and
                                   --package builds and tries the bundles, too
    python3 dev.py lint            the same without the tests
    python3 dev.py bench [NAME]    the benchmarks, and the table in README.md made from them
    python3 dev.py screenshot      the picture in README.md, taken of the real window
    python3 dev.py install EXTRA   an extra of pyproject.toml: reference, cuda, starter, ...
    python3 dev.py translate       the window's texts into resources/i18n, translations out of it
    python3 dev.py package [ARGS]  a bundle for this system, or --windows: docs/releasing.md

What was done is stamped in `.venv`, so that a second run starts at once. Notes go to stderr: stdout
belongs to the program that is run.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

if sys.version_info < (3, 11):  # noqa: UP036 - the reader of this message is an older Python
    sys.exit("DeepInfer needs Python 3.11 or newer; this is " + sys.version.split()[0] + ".")

import tomllib

from app.core.probe import has_display, has_nvidia_driver
from kernels.cpu.build import library_path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
STAMPS = VENV / "stamps"

# What Qt opens at run time and pip cannot bring: GL, keyboard maps, D-Bus, fonts, xcb.
QT_PACKAGES = (
    *("libglib2.0-0", "libgl1", "libegl1", "libxkbcommon0", "libdbus-1-3", "libfontconfig1"),
    *("libxcb-cursor0", "libxkbcommon-x11-0", "libxcb-icccm4", "libxcb-keysyms1", "libxcb-shape0"),
    *("libxcb-image0", "libxcb-randr0", "libxcb-render-util0", "libxcb-shm0", "libxcb-sync1"),
    *("libxcb-xfixes0", "libxcb-xkb1"),
    *("fontconfig", "fonts-dejavu-core", "fonts-noto-cjk"),
)
# Side by side, since many tests wait for processes and timers. Each process loads torch, so at most
# four; a file stays in one process, so that what its fixtures made is made once.
WHOLE_SUITE = ["--numprocesses=auto", "--maxprocesses=4", "--dist=loadfile", "--quiet"]
WHOLE_SUITE += ["-m", "not slow and not gpu"]
DEMO_PROMPT = "Explain in two sentences why the sky is blue."


def main() -> int:
    commands: dict[str, Callable[[list[str]], int]] = {
        "run": run,
        "test": test,
        "lint": lint,
        "bench": bench,
        "screenshot": screenshot,
        "install": install,
        "package": package,
        "translate": translate,
    }
    name, *args = sys.argv[1:] or ["help"]
    if name not in commands:
        note(__doc__ or "")
        return 0 if name in ("help", "-h", "--help") else 2
    try:
        return commands[name](args)
    except subprocess.CalledProcessError as error:
        note(
            f"dev.py: this command failed with exit code {error.returncode}: {_shorten(error.cmd)}"
        )
        return 1
    except KeyboardInterrupt:
        return 130


# --- commands --------------------------------------------------------------------------------


def run(args: list[str]) -> int:
    prepare_runtime()
    if args or has_display():
        return call("-m", "app", *args)
    note("No display here, so no window. Instead, the starter model answers in the terminal:")
    return call(
        "-m", "app", "chat", "starter", "--prompt", DEMO_PROMPT, "--seed", "1", "--max-tokens", "96"
    )


def test(args: list[str]) -> int:
    """With --package all bundles are built and tried as well, lean and full, as root also those for
    Windows: docs/releasing.md says how long that takes."""
    words = [word for word in args if word != "--package"]
    prepare_everything()
    code = lint_prepared()
    code = call("-m", "pytest", *(words or WHOLE_SUITE), cwd=ROOT) or code
    if code or words == args:
        return code
    return package(["--all"]) or package(["--all", "--full"])


def lint(_args: list[str]) -> int:
    prepare_everything()
    return lint_prepared()


def lint_prepared() -> int:
    checks = (
        ("-m", "ruff", "check", "."),
        ("-m", "ruff", "format", "--check", "."),
        ("-m", "mypy"),
        ("-c", "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports())"),
    )
    return max([call(*check, cwd=ROOT) for check in checks])


def bench(args: list[str]) -> int:
    prepare_everything()
    return call("-m", "benchmarks.table", *args)


def screenshot(args: list[str]) -> int:
    prepare_runtime()
    return call("-m", "benchmarks.screenshot", *args)


def translate(_args: list[str]) -> int:
    prepare_runtime()
    return call(str(ROOT / "packaging" / "bundling" / "translations.py"))


def install(args: list[str]) -> int:
    known = extras()
    unknown = [name for name in args if name not in known]
    if unknown or not args:
        note(f"dev.py install: choose from {', '.join(known)}.")
        return 2
    ensure_venv()
    for name in args:
        ensure_extra(name)
    return 0


def package(args: list[str]) -> int:
    # A folder of its own, which only this command needs. It makes its own environment, too.
    ensure_system_packages()
    sys.path.insert(0, str(ROOT / "packaging"))
    code: int = importlib.import_module("bundling.command").package(args, install_system_packages)
    return code


# --- what must be there ----------------------------------------------------------------------


def prepare_runtime() -> None:
    """Run-time dependencies, native library, starter model; CuPy only beside an NVIDIA driver."""
    ensure_system_packages()
    ensure_venv()
    ensure(
        "runtime", pyproject()["dependencies"], lambda: pip("install", *pyproject()["dependencies"])
    )
    ensure_extra("starter")
    ensure_native_library()
    if has_nvidia_driver():
        ensure_extra("cuda")


def prepare_everything() -> None:
    """The run-time part and what the tests need."""
    ensure_system_packages()
    ensure_venv()
    ensure_extra("reference")
    prepare_runtime()
    ensure_extra("dev")


def ensure(name: str, inputs: object, action: Callable[[], object]) -> None:
    """Runs `action` unless it was done with the same inputs before."""
    stamp = STAMPS / name
    digest = hashlib.sha256(json.dumps(inputs).encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == digest:
        return
    action()
    stamp.parent.mkdir(exist_ok=True)
    stamp.write_text(digest)


def ensure_venv() -> None:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    stamp = STAMPS / "python"
    if PYTHON.exists() and stamp.exists() and stamp.read_text() == version:
        return
    note(f"Making {VENV.name} with Python {version} ...")
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)], check=True)
    STAMPS.mkdir()
    stamp.write_text(version)


def ensure_extra(name: str) -> None:
    requirements = extras()[name]
    ensure(f"extra-{name}", requirements, lambda: _install_extra(name, requirements))


def _install_extra(name: str, requirements: list[str]) -> None:
    if name == "starter":
        # Its own dependencies belong to another program (pyproject.toml says which).
        pip("install", "--no-deps", *requirements)
        return
    # One after the other: torch is first in its list, and nothing else shall choose its version.
    for group in [requirements[:1], requirements] if name == "reference" else [requirements]:
        pip("install", *group)


def ensure_native_library() -> None:
    if not library_path().is_file():
        ensure_extra("build")
        note("Compiling the CPU kernels ...")
        check_call("-m", "kernels.cpu.build")


# --- Debian ----------------------------------------------------------------------------------


def ensure_system_packages() -> None:
    """On Debian and its kin: Qt's libraries, fonts, a compiler, venv; elsewhere they are there."""
    if not shutil.which("apt-get") or _is_stamped_system():
        return
    wanted = [*QT_PACKAGES]
    wanted += [] if any(map(shutil.which, ("c++", "g++", "clang++"))) else ["g++"]
    wanted += [] if importlib.util.find_spec("ensurepip") else ["python3-venv"]
    if missing := _not_installed(wanted):
        install_system_packages(missing)


def _is_stamped_system() -> bool:
    """A made venv says that this was looked at; a fresh one looks again."""
    return (STAMPS / "python").exists()


def _not_installed(packages: list[str]) -> list[str]:
    query = ["dpkg-query", "-W", "-f=${Package} ${db:Status-Status}\n", *packages]
    answer = subprocess.run(query, capture_output=True, text=True, check=False).stdout
    installed = {line.split()[0] for line in answer.splitlines() if line.endswith(" installed")}
    return [name for name in packages if name not in installed]


def install_system_packages(packages: list[str]) -> None:
    command = ["apt-get", "install", "-y", "--no-install-recommends", *packages]
    if os.geteuid() != 0:
        note(f"Not root, so these may be missing: sudo {' '.join(command)}")
        return
    note(f"Installing {len(packages)} system packages ...")
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "update", "-q"], check=False, stdout=sys.stderr, env=env)
    if subprocess.run(command, check=False, stdout=sys.stderr, env=env).returncode:
        note("apt-get failed; going on, but a library, a font or a tool may be missing.")


# --- small tools -----------------------------------------------------------------------------


def pyproject() -> dict[str, Any]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        project: dict[str, Any] = tomllib.load(file)["project"]
    return project


def extras() -> dict[str, list[str]]:
    found: dict[str, list[str]] = pyproject()["optional-dependencies"]
    return found


def pip(*args: str) -> None:
    note(f"pip {_shorten(args)}")
    check_call("-m", "pip", "--disable-pip-version-check", *args)


def call(*args: str, cwd: Path | None = None) -> int:
    """Runs the venv's Python, where the user stands unless told otherwise."""
    command = [str(PYTHON), *args]
    return subprocess.run(command, env=_environment(), cwd=cwd, check=False).returncode


def check_call(*args: str) -> None:
    """Like `call`, but a failure is an error and the output goes to stderr."""
    subprocess.run(
        [str(PYTHON), *args], env=_environment(), check=True, stdout=sys.stderr, cwd=ROOT
    )


def _environment() -> dict[str, str]:
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def _shorten(words: Iterable[str], limit: int = 100) -> str:
    line = " ".join(words)
    return line if len(line) <= limit else line[:limit] + " ..."


def note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
