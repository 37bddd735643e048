"""What a frozen program does before anything else, in processes that look frozen."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.core.frozen import EXIT_NOT_RUNNABLE, missing_extra

_ROOT = Path(__file__).resolve().parents[2]
_PRELUDE = "import sys; sys.frozen = True; "


def _run(code: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"PYTHONPATH": str(_ROOT)} | environment
    command = [sys.executable, "-c", _PRELUDE + code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


def _main(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    code = "from app.__main__ import main; sys.exit(main())"
    return _run(code, *arguments, **environment)


def test_the_library_finder_of_cupy_runs(tmp_path: Path) -> None:
    package = tmp_path / "cuda" / "pathfinder"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "find.py").write_text("import sys\nprint(__name__, sys.argv[1:])\n")
    code = f"sys.path.insert(0, {str(tmp_path)!r}); from app.__main__ import main; sys.exit(main())"
    done = _run(code, "-m", "cuda.pathfinder.find", "mode", "cudart")
    assert (done.returncode, done.stdout) == (0, "__main__ ['mode', 'cudart']\n")
    again = _run(code, "-m", "cuda.pathfinder.find", DEEPINFER_RESPAWNED="1")
    assert (again.returncode, again.stdout) == (EXIT_NOT_RUNNABLE, "")


@pytest.mark.parametrize("module", ["app.gui", "pip", ""])
def test_no_other_module_runs(module: str) -> None:
    done = _main("-m", *([module] if module else []))
    assert (done.returncode, done.stdout) == (EXIT_NOT_RUNNABLE, "")


def test_what_a_windowed_program_prints_goes_to_a_file(tmp_path: Path) -> None:
    code = "sys.stdout = sys.stderr = None; from app.core.frozen import give_streams; "
    done = _run(
        code + "give_streams(); print('gr\u00fc\u00df dich 你好')", DEEPINFER_HOME=str(tmp_path)
    )
    assert (done.returncode, done.stdout) == (0, "")
    log = tmp_path / "logs" / "output.log"
    assert log.read_text(encoding="utf-8") == "gr\u00fc\u00df dich 你好\n"


def test_a_place_that_cannot_be_written_costs_the_text_alone(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    code = "sys.stdout = sys.stderr = None; from app.core.frozen import give_streams; "
    done = _run(code + "give_streams(); print('x')", DEEPINFER_HOME=str(tmp_path / "file"))
    assert done.returncode == 0


def test_a_mark_beside_the_program_keeps_everything_there(tmp_path: Path) -> None:
    code = f"sys.executable = {str(tmp_path / 'deepinfer')!r}; "
    code += "from app.core.paths import home_dir; print(home_dir())"
    apart = _run(code, DEEPINFER_HOME="").stdout.strip()
    (tmp_path / "portable.txt").touch()
    beside = _run(code, DEEPINFER_HOME="").stdout.strip()
    assert Path(beside) == tmp_path / "data"
    assert Path(apart) not in (Path(beside), tmp_path)


def test_a_bundle_does_not_speak_of_the_source_checkout() -> None:
    assert "dev.py install reference" in missing_extra("reference", "torch")
    done = _run("from app.core.frozen import missing_extra as m; print(m('reference', 'torch'))")
    assert "dev.py" not in done.stdout
    assert "torch" in done.stdout
