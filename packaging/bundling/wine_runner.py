"""What a program for Windows ended with, when it runs under Wine.

Wine's own exit code does not tell: half a second after a program has ended, wineserver kills the
process that it ran in where that is not gone yet (process_sigkill in its server/process.c), which a
busy machine needs longer for, and the code is then that of a killed one; others are cut to eight
bits. So a small program within Wine starts the one that is meant, waits for it and writes what
Windows says that it ended with.
"""

from __future__ import annotations

from pathlib import Path

from bundling.programs import need
from bundling.tools import run

_FOLDER = "opt/deepinfer"
# The command line of the program is that of this one after two words, untouched.
_SOURCE = r"""
#include <stdio.h>
#include <wchar.h>
#include <windows.h>

static wchar_t *after_word(wchar_t *at) {
    for (int quoted = 0; *at && (quoted || *at != L' '); ++at) quoted ^= *at == L'"';
    while (*at == L' ') ++at;
    return at;
}

int main(void) {
    wchar_t *target = after_word(GetCommandLineW()), *command = after_word(target);
    STARTUPINFOW start = {.cb = sizeof start, .dwFlags = STARTF_USESTDHANDLES};
    PROCESS_INFORMATION made;
    DWORD code = 0;
    start.hStdInput = GetStdHandle(STD_INPUT_HANDLE);
    start.hStdOutput = GetStdHandle(STD_OUTPUT_HANDLE);
    start.hStdError = GetStdHandle(STD_ERROR_HANDLE);
    if (!CreateProcessW(NULL, command, NULL, NULL, TRUE, 0, NULL, NULL, &start, &made)) {
        fprintf(stderr, "CreateProcess: error %lu\n", GetLastError());
        return 120;
    }
    WaitForSingleObject(made.hProcess, INFINITE);
    if (!GetExitCodeProcess(made.hProcess, &code)) return 121;
    target[wcscspn(target, L" ")] = 0;
    FILE *file = _wfopen(target, L"w");
    if (!file) return 122;
    fprintf(file, "%lu\n", code);
    fclose(file);
    return code != 0;
}
"""

_LIBRARIES = ("-lole32", "-luuid")
# A shell's word for a process that SIGKILL ended.
_KILLED = 128 + 9


def tell_failure(code: int | None, wine_code: int) -> str | None:
    """What went wrong with a program that Windows says ended with `code`, and Wine with another;
    None where it ended well, even if its process was killed afterwards."""
    if code is None:
        return f"was killed or did not start: nobody saw its end, Wine's exit code is {wine_code}"
    if code:
        return f"ended with exit code {code}"
    return None if wine_code in (0, _KILLED) else f"ended well, but Wine with {wine_code}"


class Runner:
    """The small program in a root of Wine, and what it wrote last."""

    def __init__(self, root: Path) -> None:
        self._folder = root / _FOLDER
        self._target = self._folder / "exit-code.txt"

    def prepare(self) -> None:
        """Compiles it where it is not there in this form."""
        self.compile("run", _SOURCE)

    def compile(self, name: str, text: str) -> str:
        """A program in C, kept while its text stays; what Wine calls it."""
        source, program = self._folder / f"{name}.c", self._folder / f"{name}.exe"
        if not (source.is_file() and source.read_text() == text and program.is_file()):
            self._folder.mkdir(parents=True, exist_ok=True)
            compiler = need("x86_64-w64-mingw32-gcc")
            source.write_text(text)
            entry = ["-municode"] if "wmain(" in text else []
            run([compiler, *entry, "-O1", "-static", "-o", program, source, *_LIBRARIES])
        return f"/{_FOLDER}/{program.name}"

    def words(self) -> list[str]:
        """Put before a command for Windows. What was written before is forgotten."""
        self._target.unlink(missing_ok=True)
        return [f"/{_FOLDER}/run.exe", "Z:" + f"/{_FOLDER}/{self._target.name}".replace("/", "\\")]

    def read_code(self) -> int | None:
        """What the last program ended with; None where nobody saw its end."""
        try:
            return int(self._target.read_text())
        except (OSError, ValueError):
            return None
