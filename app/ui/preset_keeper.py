"""Keeps what a conversation is set to, for new ones: of this model, or of all."""

from __future__ import annotations

from PySide6.QtCore import QObject

from app.chat.presets import Preset
from app.controllers.presets import Presets
from app.ui.widgets.sampling_panel import SamplingPanel


class PresetKeeper(QObject):
    """Answers what the panel asks for; lives and goes with it."""

    def __init__(self, presets: Presets, panel: SamplingPanel) -> None:
        super().__init__(panel)
        self._presets, self._panel = presets, panel
        self._model_name = ""
        panel.keep_requested.connect(self._on_keep_requested)
        panel.forget_requested.connect(self._on_forget_requested)

    def show_model(self, name: str) -> None:
        """Offers to keep what is set for this model; '' is none."""
        self._model_name = name
        has_preset = self._presets.of_model(name) is not None
        self._panel.set_model(name, has_preset=has_preset)

    def _on_keep_requested(self, for_model: bool) -> None:
        preset = Preset(self._panel.system_prompt, self._panel.sampling)
        if for_model:
            self._presets.keep_for_model(self._model_name, preset)
        else:
            self._presets.keep_for_all(preset)
        self.show_model(self._model_name)

    def _on_forget_requested(self) -> None:
        self._presets.keep_for_model(self._model_name, None)
        self.show_model(self._model_name)
