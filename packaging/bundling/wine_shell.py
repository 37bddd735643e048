"""What Windows' shell reads of a program that was installed: who opens .gguf files, what the start
menu's entry starts. Read by Windows' own functions, under Wine.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from bundling.tools import PackagingError
from bundling.wine import Wine

_CLASSES = r"HKCU\Software\Classes"
_PROGID = "DeepInfer.gguf"
_OPEN_COMMAND = rf"{_CLASSES}\{_PROGID}\shell\open\command"
# https://learn.microsoft.com/windows/win32/api/shobjidl_core/nn-shobjidl_core-ishelllinkw
# The target is asked of the list of items: IShellLink::GetPath under Wine knows the code page's
# letters alone.
_SHORTCUT_SOURCE = r"""
#define COBJMACROS
#include <stdio.h>
#include <windows.h>
#include <shlobj.h>

static void say(const wchar_t *text) {
    char line[4 * MAX_PATH];
    WideCharToMultiByte(CP_UTF8, 0, text, -1, line, sizeof line, NULL, NULL);
    puts(line);
}

int wmain(int count, wchar_t **words) {
    IShellLinkW *link;
    IPersistFile *file;
    LPITEMIDLIST items = NULL;
    wchar_t target[MAX_PATH] = L"", icon[MAX_PATH] = L"", folder[MAX_PATH] = L"";
    int index = -1;
    CoInitialize(NULL);
    if (count != 2) return 2;
    if (CoCreateInstance(&CLSID_ShellLink, NULL, CLSCTX_INPROC_SERVER, &IID_IShellLinkW,
                         (void **)&link)) return 3;
    if (IShellLinkW_QueryInterface(link, &IID_IPersistFile, (void **)&file)) return 4;
    if (IPersistFile_Load(file, words[1], STGM_READ)) return 5;
    if (IShellLinkW_GetIDList(link, &items)) return 6;
    if (!SHGetPathFromIDListW(items, target)) return 7;
    IShellLinkW_GetIconLocation(link, icon, MAX_PATH, &index);
    IShellLinkW_GetWorkingDirectory(link, folder, MAX_PATH);
    say(target), say(icon), say(folder);
    printf("%d\n", index);
    return 0;
}
"""


def read_command(exported: str) -> list[str]:
    """The words of the command that is a key's default value, out of a .reg file's text, where
    backslash and quotation mark stand behind a backslash; empty where there is none."""
    found = re.search(r'^@="(.*)"\r?$', exported, re.MULTILINE)
    line = re.sub(r"\\(.)", r"\1", found.group(1)) if found else ""
    return re.findall(r'"([^"]*)"', line)


@dataclass(frozen=True)
class Shortcut:
    """What a .lnk file says; all of it as Windows names it."""

    target: str
    icon: str
    folder: str
    icon_index: int


class WineShell:
    """`log` is overwritten by every question."""

    def __init__(self, wine: Wine, log: Path) -> None:
        self._wine = wine
        self._log = log
        self.start_menu_entry = (
            wine.profile / "AppData/Roaming/Microsoft/Windows/Start Menu/Programs/DeepInfer.lnk"
        )

    def read_shortcut(self, path: Path) -> Shortcut:
        """PackagingError where there is none that Windows can read."""
        program = self._wine.compile_tool("shortcut", _SHORTCUT_SOURCE)
        lines = self._ask([program, self._wine.path(path)]).strip().splitlines()[-4:]
        target, icon, folder, index = (line.strip() for line in lines)
        return Shortcut(target, icon, folder, int(index))

    def opener(self) -> list[str]:
        """The words by which Explorer starts what opens .gguf files; `%1` stands for the file."""
        # `reg query` writes letters of the code page alone, a file that is exported is UTF-16.
        target = self._wine.drive / "opener.reg"
        self._ask(["reg", "export", _OPEN_COMMAND, self._wine.path(target), "/y"])
        return read_command(target.read_text(encoding="utf-16"))

    def offer(self) -> str:
        """What stands for the program in the menu *Open with*."""
        return self._query(rf"{_CLASSES}\.gguf\OpenWithProgids", _PROGID)

    def is_default(self) -> bool:
        """Whether .gguf files are of the program's type."""
        try:
            return _PROGID in self._query(rf"{_CLASSES}\.gguf")
        except PackagingError:
            return False

    def is_known(self) -> bool:
        """Whether anything of the program is left in the registry."""
        for key in (rf"{_CLASSES}\{_PROGID}", r"HKCU\Software\DeepInfer"):
            try:
                self._ask(["reg", "query", key])
            except PackagingError:
                continue
            return True
        return False

    def _query(self, key: str, value: str | None = None) -> str:
        which = ["/v", value] if value else ["/ve"]
        return " ".join(self._ask(["reg", "query", key, *which]).split())

    def _ask(self, words: list[str]) -> str:
        self._wine.run(words, timeout_s=60, log=self._log)
        return self._log.read_text(encoding="utf-8", errors="replace")
