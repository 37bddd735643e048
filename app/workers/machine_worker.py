"""What this computer is, asked in a child process: the planners bring more than a window needs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from app.engine.machine_report import describe
from app.workers.child import Listener
from app.workers.commands import Command
from app.workers.job_thread import JobThread
from app.workers.machine_commands import DescribeMachine


@dataclass(frozen=True, slots=True)
class MachineService:
    """Answers one question after another."""

    jobs: JobThread

    def handle(self, command: Command) -> None:
        """Begins to look."""
        if not isinstance(command, DescribeMachine):
            raise TypeError(f"{command} is no command about the machine.")
        self.jobs.begin(partial(describe, command.library_dir))

    def close(self) -> None:
        """Waits."""
        self.jobs.close()


def create_service(listener: Listener) -> MachineService:
    """Looks at nothing by itself."""
    return MachineService(JobThread(listener, "machine"))
