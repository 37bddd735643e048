"""What `deepinfer` opens, and what the command line must never import."""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from app import __main__ as entry
from app.cli import COMMANDS
from app.cli.main import create_parser

# None in sys.modules makes every import of that name fail.
_BLOCKED = """
import sys
for name in ("PySide6", "shiboken6", "pyqtgraph", "torch", "transformers", "cupy"):
    sys.modules[name] = None
from app.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


def _run_blocked(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", _BLOCKED, *arguments]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)


def test_a_gguf_answers_without_qt_torch_and_cupy(starter_gguf: Path) -> None:
    command = ["chat", str(starter_gguf), "-p", "Hi", "--max-tokens", "2", "--json"]
    done = _run_blocked(*command)
    assert done.returncode == 0, done.stderr
    assert '"completion_tokens": 2' in done.stdout


def test_a_missing_torch_is_named_with_its_cure(starter_checkpoint: Path) -> None:
    done = _run_blocked("chat", str(starter_checkpoint), "-p", "Hi", "--device", "reference")
    assert (done.returncode, done.stdout) == (1, "")
    assert "dev.py install reference" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_a_display_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    done = _run_blocked()
    assert (done.returncode, done.stdout) == (1, "")
    assert "no display" in done.stderr


@pytest.mark.parametrize("number", [0, 1])
def test_nothing_or_one_path_opens_the_window(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, number: int
) -> None:
    opened: list[Path | None] = []
    monkeypatch.setattr("app.gui.main", lambda path, _door: opened.append(path) or 0)
    source = tmp_path / "模型 file.gguf"
    source.touch()
    monkeypatch.chdir(tmp_path)
    assert entry.main([source.name][:number]) == 0
    assert opened == [[None, source][number]]


def test_everything_else_is_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert entry.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("deepinfer ")
    assert entry.main(["no-such-file.gguf"]) == 2


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGPIPE; its pipes fail differently")
def test_a_reader_that_goes_away_is_no_traceback(starter_gguf: Path) -> None:
    command = f"{sys.executable} -m app inspect '{starter_gguf}' --json | head -c 5"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.stdout == '{\n  "'
    assert "Traceback" not in done.stderr


def test_a_command_is_a_command_even_beside_a_file_of_that_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "list").touch()
    monkeypatch.chdir(tmp_path)
    assert entry.main(["list"]) == 0
    assert "empty" in capsys.readouterr().err


def test_the_entry_knows_every_command() -> None:
    """One that it does not know opens the window in a folder that has a file of its name."""
    commands = re.findall(r"^    (\w+) ", create_parser().format_help(), re.MULTILINE)
    assert tuple(commands) == COMMANDS


@pytest.mark.skipif(os.name == "nt", reason="Windows sends Ctrl+C to a whole console")
def test_an_interrupted_conversion_leaves_nothing(starter_gguf: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    command = [sys.executable, "-m", "app", "convert", str(starter_gguf), "-o", str(output)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        first = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
    assert first.startswith("converting:")
    assert process.returncode == 1
    assert rest.splitlines()[-1] == "deepinfer: cancelled."
    assert list(tmp_path.iterdir()) == []


_INTERRUPTED = """
import os, signal, sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "app.cli.main":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
from app.__main__ import main
sys.exit(main(["list"]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there a kill asks nobody")
def test_an_interrupt_while_it_starts_is_one_line() -> None:
    command = [sys.executable, "-c", _INTERRUPTED]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "deepinfer: cancelled.\n")


def test_help_tells_every_number_that_stands_where_none_is_given() -> None:
    for name, options in _options().items():
        for option in options:
            if isinstance(option.default, (int, float)) and not isinstance(option.default, bool):
                assert option.help, f"{name} {option.option_strings}"


def _options() -> dict[str, list[argparse.Action]]:
    (commands,) = (one for one in create_parser()._actions if one.dest == "run" or one.choices)
    assert isinstance(commands.choices, dict)
    return {name: parser._actions for name, parser in commands.choices.items()}
