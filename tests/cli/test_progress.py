"""The progress bar on a terminal and in a log."""

from __future__ import annotations

import io

from app.cli.progress import ProgressBar


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_log_gets_a_line_per_tenth() -> None:
    stream = io.StringIO()
    with ProgressBar("converting", stream) as bar:
        for done in range(1001):
            bar.update(done, 1000, f"layer {done}")
    lines = stream.getvalue().splitlines()
    assert len(lines) == 11
    assert lines[0] == "converting:   0% layer 0"
    assert lines[-1] == "converting: 100% layer 1000"


def test_a_terminal_gets_one_line_that_ends() -> None:
    stream = _Terminal()
    with ProgressBar("converting", stream) as bar:
        bar.update(1, 2, "a long step name")
        bar.update(2, 2, "end")
    text = stream.getvalue()
    assert text.count("\n") == 1
    assert text.endswith("\n")
    last = text.rstrip("\n").split("\r")[-1]
    assert last.rstrip().endswith("100% end")
    # The rest of the longer line before is wiped out.
    assert len(last) == len(text.split("\r")[1])


def test_nothing_to_do_is_all_done() -> None:
    stream = io.StringIO()
    ProgressBar("x", stream).update(0, 0)
    assert "100%" in stream.getvalue()
