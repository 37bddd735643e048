"""Sentences of rooms without Qt, in the language of the window."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from app.core.sentence import Sentence

# Where `dev.py translate` puts their templates.
CONTEXT = "Sentence"


def shown(text: str) -> str:
    """A Sentence in the window's language, with the Sentences in it; any other text as it is."""
    if not isinstance(text, Sentence):
        return text
    template = QCoreApplication.translate(CONTEXT, text.template)
    values = {name: _shown_value(value) for name, value in text.values.items()}
    return template.format(**values) if values else template


def _shown_value(value: object) -> object:
    return shown(value) if isinstance(value, str) else value
