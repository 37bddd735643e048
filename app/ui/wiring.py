"""Who hears whom: the pages of a desk, the controllers, and the commands of the window."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from app.core.settings import Topic
from app.ui.controllers import Controllers
from app.ui.desk import Desk
from app.ui.widgets.machine_card import MachineCard

if TYPE_CHECKING:
    from app.ui.main_window import MainWindow


class Wiring(QObject):
    """Lives and goes with its desk."""

    def __init__(self, desk: Desk, controllers: Controllers, window: MainWindow) -> None:
        super().__init__(desk)
        self._desk, self._controllers, self._window = desk, controllers, window
        self._connect_rail()
        self._connect_chat()
        self._connect_models()
        self._connect_machine()
        self._connect_server()

    def _connect_rail(self) -> None:
        appearance = self._window.appearance
        self._desk.navigation.theme_requested.connect(appearance.set_mode)
        self._desk.settings_page.changed.connect(self._window.apply_setting)
        appearance.changed.connect(self._on_appearance_changed)

    def _connect_chat(self) -> None:
        page, window = self._desk.chat_page, self._window
        page.pick_requested.connect(window.pick_files)
        page.starter_requested.connect(window.chat_with_starter)
        page.model_requested.connect(window.load_model)
        page.top_bar.picker.remote_requested.connect(window.ask_for_remote)
        page.conversations.shortcuts_requested.connect(window.show_shortcuts)
        self._controllers.library.entries_changed.connect(page.set_entries)

    def _connect_machine(self) -> None:
        """Looked at when there is no model yet, or where somebody wants to read it."""
        machine, card = self._controllers.machine, MachineCard()
        self._desk.settings_page.add_to_topic(Topic.MODELS, card)
        shows = (self._desk.chat_page.empty.show_machine, card.show_report)
        for show in shows:
            machine.described.connect(show)
            if machine.report is not None:
                show(machine.report)
        machine.failed.connect(card.show_nothing)
        machine.failed.connect(self._desk.chat_page.empty.show_no_machine)
        card.look_requested.connect(machine.look)
        self._controllers.library.entries_changed.connect(self._on_entries_changed)

    def _on_entries_changed(self, entries: Sequence[object]) -> None:
        if not entries and self._controllers.machine.report is None:
            self._controllers.machine.look()

    def _connect_models(self) -> None:
        desk, window = self._desk, self._window
        desk.convert_page.file_requested.connect(window.pick_files)
        desk.convert_page.folder_requested.connect(window.pick_folder)
        desk.convert_page.starter_requested.connect(window.convert_starter)
        desk.convert_page.chat_requested.connect(window.chat_with)
        page = desk.validate_page
        page.file_requested.connect(partial(window.pick, window.validate, wants_folder=False))
        page.folder_requested.connect(partial(window.pick, window.validate, wants_folder=True))
        page.convert_requested.connect(lambda source: window.offer([Path(source)]))
        desk.download_page.convert_requested.connect(lambda path: window.convert([path]))

    def _connect_server(self) -> None:
        server, page = self._controllers.server, self._desk.server_page
        page.model_requested.connect(self._on_model_requested)
        server.model_changed.connect(page.show_model)
        server.requests_changed.connect(self._on_requests_changed)
        self._on_requests_changed()

    def _on_appearance_changed(self) -> None:
        self._desk.navigation.show_theme(self._window.appearance.mode)
        self._desk.settings_page.refresh()

    def _on_model_requested(self) -> None:
        self._desk.show_page(self._desk.chat_page)
        self._desk.chat_page.show_model_menu()

    def _on_requests_changed(self) -> None:
        self._desk.chat_page.panel.show_port(len(self._controllers.server.log.running))
