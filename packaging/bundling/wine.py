"""Wine 10 in a root of Debian trixie: the only Windows that a Linux machine has.

Debian bookworm's Wine 8 runs neither NumPy >= 2.2 (ucrtbase.crealf) nor PySide6 >= 6.10
(icuuc.dll). Every call has namespaces of its own for mounts and processes and a hard limit of time:
when it ends, so do its wineserver and whatever else it started, and no mount stays behind.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from bundling.programs import need
from bundling.tools import PackagingError, end_group, note, run, tail
from bundling.wine_runner import Runner, tell_failure

_MIRROR = "http://deb.debian.org/debian"
_PACKAGES = (
    *("wine", "wine64", "libgl1", "ca-certificates"),
    # Of the faces that the window asks for, those that Debian has.
    *("fonts-inter", "fonts-noto-cjk", "fonts-liberation"),
    "locales",  # for CHINESE
)
# A Windows as Chinese users have it: its language, code page 936 for programs that know no UTF-8.
CHINESE = {"LANG": "zh_CN.UTF-8"}
# mscoree, mshtml: no questions about Mono and Gecko. ucrtbase, mscms: see wine_shims.
_OVERRIDES = "mscoree,mshtml=;ucrtbase=n,b;mscms=n,b"
# Within the namespaces: $0 is the root, the rest the command.
_ENTER = """
mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && mount --rbind /sys "$0/sys" &&
mkdir -p "$0/tmp/.X11-unix" && mount --bind /tmp/.X11-unix "$0/tmp/.X11-unix" &&
exec chroot "$0" "$@"
"""
_GRACE_S = 15


class Wine:
    """One root and one prefix in it, a Windows of its own; `C:\\` is `drive`."""

    def __init__(self, root: Path, prefix: str = "prefix", user: str = "root") -> None:
        self.root = root
        self.user = user
        self._prefix = prefix
        self._runner = Runner(root)
        self.drive = root / prefix / "drive_c"

    @property
    def profile(self) -> Path:
        """The user's own folder."""
        return self.drive / "users" / self.user

    def prepare(self) -> None:
        """Makes what is missing of root and prefix: some minutes the first time. Needs root."""
        if sys.platform != "linux" or os.geteuid() != 0:
            raise PackagingError("Wine in a root of its own needs Linux and the rights of root.")
        ready = self.root / "ready"
        if not ready.is_file() or ready.read_text(encoding="utf-8") != " ".join(_PACKAGES):
            self._make_root()
        self._runner.prepare()
        if not self.drive.is_dir():
            note("making the Wine prefix ...")
            self.run(["wineboot", "-i"], timeout_s=300)

    def path(self, inside: Path) -> str:
        """What Windows calls a path below `drive`."""
        return "C:\\" + str(inside.relative_to(self.drive)).replace("/", "\\")

    def compile_tool(self, name: str, source: str) -> str:
        """A small program in C for questions to Windows; its path for `run`."""
        return self._runner.compile(name, source)

    def run(
        self,
        command: Sequence[str],
        *,
        timeout_s: float,
        env: Mapping[str, str] | None = None,
        log: Path | None = None,
    ) -> None:
        """A Windows program to its end; PackagingError as `tools.run`, by what Windows says that it
        ended with: see wine_runner.
        """
        words = self._command([*self._runner.words(), *command], timeout_s, env)
        log = log or self.root / "last-run.log"
        ended = run(words, timeout_s=timeout_s + _GRACE_S, log=log, accepted=range(256))
        if how := tell_failure(self._runner.read_code(), ended):
            output = log.read_text(encoding="utf-8", errors="replace")
            raise PackagingError(f"{command[0]} {how}.\n{tail(output)}")

    def start(
        self, command: Sequence[str], *, timeout_s: float, env: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """A Windows program beside this one; end it with `stop`."""
        return subprocess.Popen(
            self._command(command, timeout_s, env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    @staticmethod
    def stop(process: subprocess.Popen[bytes]) -> None:
        """Ends what `start` began, with its namespace."""
        end_group(process)
        process.wait()

    def _command(
        self, command: Sequence[str], timeout_s: float, env: Mapping[str, str] | None
    ) -> list[str]:
        given = {
            "PATH": "/usr/bin:/bin:/usr/sbin:/sbin",
            "HOME": "/root",
            "LANG": "C.UTF-8",
            "USER": self.user,
            "WINEPREFIX": f"/{self._prefix}",
            "WINEDEBUG": "-all",
            "WINEDLLOVERRIDES": _OVERRIDES,
            "KMP_AFFINITY": "disabled",  # torch's OpenMP asks for GetNumaNodeProcessorMaskEx
            **({"DISPLAY": os.environ["DISPLAY"]} if "DISPLAY" in os.environ else {}),
            **(env or {}),
        }
        return [
            *("timeout", "--kill-after=5", f"{timeout_s:.0f}"),
            *("unshare", "--mount", "--pid", "--fork", "--kill-child=KILL"),
            *("sh", "-c", _ENTER, str(self.root), "env", "-i"),
            *(f"{name}={value}" for name, value in given.items()),
            # Through a pipe: with a file as stdout, Python for Windows fails in init_sys_streams.
            *("sh", "-c", 'set -o pipefail; wine "$@" 2>&1 | cat', "wine", *command),
        ]

    def _make_root(self) -> None:
        """A root that is there, of an earlier list of packages, is kept and completed."""
        note("making a root of Debian trixie with Wine (about four minutes) ...")
        if not (self.root / "ready").is_file():
            need("debootstrap")
            shutil.rmtree(self.root, ignore_errors=True)
            run(["debootstrap", "--variant=minbase", "trixie", self.root, _MIRROR], timeout_s=1200)
        install = (
            "apt-get update -q && apt-get install -q -y --no-install-recommends "
            + " ".join(_PACKAGES)
            # Wine looks for fonts there; the window must show Chinese.
            + " && cp /usr/share/fonts/opentype/noto/*.ttc /usr/share/wine/fonts/"
            + " && localedef -i zh_CN -f UTF-8 zh_CN.UTF-8"
        )
        shutil.copy("/etc/resolv.conf", self.root / "etc/resolv.conf")
        env = ("env", "DEBIAN_FRONTEND=noninteractive")
        run(["chroot", self.root, *env, "sh", "-c", install], timeout_s=1800)
        (self.root / "ready").write_text(" ".join(_PACKAGES), encoding="utf-8")
