"""What a new conversation begins with: what is kept for its model, or for all."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from app.chat.presets import Preset
from app.chat.store import ChatStore
from app.controllers.reporting import Reporting
from app.core.sampling_settings import SamplingSettings
from app.core.settings_store import SettingsStore


class Presets(QObject):
    """Those of models stand beside the conversations, the one for all in the settings.

    Signals:
        failed(ErrorInfo): something could not be read or kept.
    """

    failed = Signal(object)

    def __init__(
        self, store: ChatStore, settings: SettingsStore, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._store = store
        self._settings = settings

    def find(self, model_name: str) -> Preset:
        """For a model, or for '' without one."""
        return self.of_model(model_name) or self._for_all()

    def of_model(self, model_name: str) -> Preset | None:
        """What is kept for this model alone."""
        with Reporting(self.failed):
            return self._store.load_preset(model_name) if model_name else None
        return None

    def keep_for_model(self, model_name: str, preset: Preset | None) -> None:
        """From now on for this model; None leaves it to what is kept for all."""
        with Reporting(self.failed):
            self._store.save_preset(model_name, preset)

    def keep_for_all(self, preset: Preset) -> None:
        """From now on for every model that has nothing of its own."""
        sampling = preset.sampling
        self._settings.update(
            system_prompt=preset.system_prompt,
            temperature=sampling.temperature,
            top_k=sampling.top_k,
            top_p=sampling.top_p,
            min_p=sampling.min_p,
            repetition_penalty=sampling.repetition_penalty,
            max_tokens=sampling.max_tokens or 0,
        )

    def _for_all(self) -> Preset:
        values = self._settings.values
        sampling = SamplingSettings(
            temperature=values.temperature,
            top_k=values.top_k,
            top_p=values.top_p,
            min_p=values.min_p,
            repetition_penalty=values.repetition_penalty,
            max_tokens=values.max_tokens or None,
        )
        return Preset(values.system_prompt, sampling)
