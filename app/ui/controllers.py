"""The controllers, handed to the window as one."""

from __future__ import annotations

from dataclasses import dataclass

from app.controllers.chat import ChatController
from app.controllers.conversion import ConversionController
from app.controllers.disk import DiskController
from app.controllers.download import DownloadController
from app.controllers.library import LibraryController
from app.controllers.machine import MachineController
from app.controllers.presets import Presets
from app.controllers.remote import RemoteController
from app.controllers.server import ServerController
from app.controllers.validation import ValidationController


@dataclass(frozen=True, slots=True)
class Controllers:
    """What the window commands and listens to."""

    conversion: ConversionController
    chat: ChatController
    presets: Presets
    library: LibraryController
    disk: DiskController
    validation: ValidationController
    download: DownloadController
    server: ServerController
    remote: RemoteController
    machine: MachineController
