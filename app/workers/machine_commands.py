"""What the window asks of the process that looks at this computer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from app.workers.commands import Command


@dataclass(frozen=True, slots=True)
class DescribeMachine(Command):
    """Answered by MachineDescribed; `library_dir` is where models would go."""

    library_dir: Path
