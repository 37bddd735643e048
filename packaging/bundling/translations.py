"""The window's languages: new texts go into `resources/i18n/*.ts`, translated ones into `*.qm`.

`python3 dev.py translate` runs it after texts have changed. Qt Linguist, or any editor, translates
what is marked `unfinished` in between; then run it again.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1]))

from bundling import sentences

ROOT = sentences.ROOT
FOLDER = ROOT / "resources" / "i18n"
# Where texts for the window are marked: `self.tr`, `translate`, QT_TRANSLATE_NOOP; the sentences of
# other rooms are found by `sentences`.
_MARKED = ("app/ui/**/*.py", "app/controllers/*.py", "app/gui.py", "app/core/settings.py")


def main() -> int:
    """Updates and compiles every language."""
    for catalogue in sorted(FOLDER.glob("*.ts")):
        update(catalogue)
        compile_catalogue(catalogue, catalogue.with_suffix(".qm"))
    return 0


def update(catalogue: Path) -> None:
    """Adds texts that are new and drops those that are gone; translations stay."""
    files = sorted(str(path) for pattern in _MARKED for path in ROOT.glob(pattern))
    with TemporaryDirectory() as folder:
        marked = Path(folder) / "sentences.py"
        sentences.write_marked(marked)
        options = ("-locations", "none", "-no-obsolete")
        _run("lupdate", *files, str(marked), "-ts", str(catalogue), *options)


def compile_catalogue(catalogue: Path, output: Path) -> None:
    """What the program loads; a program that runs has it mapped, so it is never written into."""
    aside = output.with_suffix(".new")
    _run("lrelease", str(catalogue), "-qm", str(aside))
    aside.replace(output)


def _run(tool: str, *arguments: str) -> None:
    import PySide6

    folder = Path(PySide6.__file__).parent
    program = next(path for path in (folder / tool, folder / f"{tool}.exe") if path.exists())
    command = [str(program), "-silent", *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(main())
