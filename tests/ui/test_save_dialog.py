"""Titles become names of files that every system takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.gui import Program
from app.ui.dialogs.save_dialog import SaveDialog, file_name_of


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Sorting, compared", "Sorting, compared"),
        ("为什么天空是蓝色的?请用两句话", "为什么天空是蓝色的 请用两句话"),
        ('a/b\\c: *what* is "it"?\n', "a b c what is it"),
        ("x" * 200, "x" * 80),
        ("...", "conversation"),
        ("", "conversation"),
        ("NUL", "conversation"),
        ("con.txt", "conversation"),
    ],
)
def test_a_title_becomes_a_file_name(title: str, name: str) -> None:
    assert file_name_of(title, "conversation") == name


def test_an_export_is_called_like_its_conversation(program: Program) -> None:
    page = program.window.chat_page
    opened = program.store.create_conversation("Why is the sky blue?")
    page.exchange.ask_for_export(opened.conversation_id, ".md")
    dialog = page.findChild(SaveDialog)
    assert dialog is not None
    assert [Path(name).name for name in dialog.selectedFiles()] == ["Why is the sky blue.md"]
