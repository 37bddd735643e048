"""Settings survive restarts, upgrades, damage and nonsense."""

from __future__ import annotations

import errno
import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from app.core.device import ACTIVATIONS, DEVICES, KV_DTYPES
from app.core.settings import SETTING_FIELDS, Settings, Topic, find_problem
from app.core.settings_store import VERSION, SettingsStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "设置 folder" / "settings.json"


def _write(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")


def test_without_a_file_the_defaults_hold(path: Path) -> None:
    store = SettingsStore(path)
    assert store.values == Settings()
    assert store.notes == []


def test_every_setting_declares_help_and_a_valid_default() -> None:
    for declared in fields(Settings):
        assert declared.metadata["help"], declared.name
        assert find_problem(declared, declared.default) == "", declared.name


def test_every_setting_that_is_shown_has_a_label() -> None:
    for declared in fields(Settings):
        assert bool(declared.metadata["label"]) is bool(declared.metadata["topic"]), declared.name
    assert {declared.metadata["topic"] for declared in fields(Settings)} == set(Topic)


@pytest.mark.parametrize(
    ("name", "values"), [("device", DEVICES), ("activations", ACTIVATIONS), ("kv_dtype", KV_DTYPES)]
)
def test_choices_are_what_the_engine_takes(name: str, values: tuple[str, ...]) -> None:
    assert set(SETTING_FIELDS[name].metadata["choices"]) == set(values)


def test_a_change_is_there_after_a_restart(path: Path) -> None:
    SettingsStore(path).update(theme="dark", temperature=0, system_prompt="用中文回答 🙂")
    values = SettingsStore(path).values
    assert (values.theme, values.temperature, values.system_prompt) == ("dark", 0, "用中文回答 🙂")
    assert json.loads(path.read_text(encoding="utf-8"))["version"] == VERSION


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("theme", "purple"),
        ("temperature", -1),
        ("temperature", True),
        ("top_k", 1.5),
        ("device", "tpu"),
    ],
)
def test_a_value_that_cannot_be_is_refused_and_not_saved(
    path: Path, name: str, value: object
) -> None:
    store = SettingsStore(path)
    with pytest.raises(ValueError, match=name):
        store.update(**{name: value})
    assert store.values == Settings()
    assert not path.exists()


@pytest.mark.parametrize(
    "content", ["", "{", "[1, 2]", '{"theme": "dark"', "\x00\x01", "[" * 100_000]
)
def test_a_damaged_file_is_set_aside_and_named(path: Path, content: str) -> None:
    _write(path, content)
    store = SettingsStore(path)
    assert store.values == Settings()
    assert "settings.json" in store.notes[0]
    assert path.with_suffix(".corrupt.json").read_text(encoding="utf-8") == content
    assert not path.exists()


def test_what_cannot_be_read_now_is_left_as_it_is(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program, a virus scanner say, has it locked: it may be sound."""
    _write(path, {"version": VERSION, "theme": "dark"})
    content = path.read_bytes()
    with monkeypatch.context() as locked:
        locked.setattr(Path, "read_text", _refuse)
        store = SettingsStore(path)
    assert store.values == Settings()
    assert store.notes == [
        f"{path} cannot be read (Permission denied): defaults are used, changes are not saved."
    ]
    store.update(theme="light")
    assert store.values.theme == "light"
    assert path.read_bytes() == content
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_what_cannot_be_read_when_it_is_saved_is_not_replaced(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command beside this window may have changed it."""
    store = SettingsStore(path)
    store.update(theme="dark")
    with monkeypatch.context() as locked:
        locked.setattr(Path, "read_text", _refuse)
        store.update(theme="light")
    assert "could not be saved" in store.notes[-1]
    assert SettingsStore(path).values.theme == "dark"


def test_damage_that_cannot_be_set_aside_is_left_as_it_is(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(path, "{")
    with monkeypatch.context() as locked:
        locked.setattr("os.replace", _refuse)
        store = SettingsStore(path)
    store.update(theme="light")
    assert "cannot be set aside (Permission denied)" in store.notes[0]
    assert path.read_text(encoding="utf-8") == "{"


def test_a_name_that_is_no_unicode_is_saved_and_others_stay_legible(path: Path) -> None:
    SettingsStore(path).update(last_model="模型\udcff\\")
    assert SettingsStore(path).values.last_model == "模型\udcff\\"
    assert "模型" in path.read_text(encoding="utf-8")


def _refuse(*_: object, **__: object) -> None:
    raise PermissionError(errno.EACCES, "Permission denied")


def test_bytes_that_are_no_text_are_damage_too(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(b'{"theme": "\xff\xfe"}')
    assert SettingsStore(path).values == Settings()


def test_one_bad_value_costs_only_itself(path: Path) -> None:
    _write(path, {"version": VERSION, "theme": "dark", "top_p": 7})
    store = SettingsStore(path)
    assert (store.values.theme, store.values.top_p) == ("dark", Settings().top_p)
    assert len(store.notes) == 1
    assert "top_p" in store.notes[0]


def test_keys_of_a_newer_version_are_kept(path: Path) -> None:
    _write(path, {"version": VERSION, "from_the_future": [1]})
    SettingsStore(path).update(theme="light")
    assert json.loads(path.read_text(encoding="utf-8"))["from_the_future"] == [1]


def test_a_file_of_a_newer_version_is_read_and_never_written(path: Path) -> None:
    _write(path, {"version": VERSION + 1, "theme": "dark", "font_percent": "as large as it gets"})
    content = path.read_bytes()
    store = SettingsStore(path)
    assert store.is_read_only
    assert "newer version" in store.notes[0]
    assert (store.values.theme, store.values.font_percent) == ("dark", 100)
    store.update(theme="light")
    assert store.values.theme == "light"
    assert path.read_bytes() == content
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_an_old_file_is_upgraded_step_by_step(path: Path) -> None:
    def rename(raw: dict[str, Any]) -> dict[str, Any]:
        return {"theme": raw["colours"]}

    def darken(raw: dict[str, Any]) -> dict[str, Any]:
        return {"theme": raw["theme"].replace("night", "dark")}

    _write(path, {"version": 1, "colours": "night"})
    store = SettingsStore(path, upgrades={1: rename, 2: darken}, version=3)
    assert store.values.theme == "dark"
    assert store.notes == []


def test_an_unwritable_place_is_a_note_not_a_crash(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("not a folder")
    store = SettingsStore(blocker / "settings.json")
    store.update(theme="dark")
    assert store.values.theme == "dark"
    assert "could not be saved" in store.notes[-1]


def test_a_command_beside_the_window_is_not_undone(path: Path) -> None:
    window = SettingsStore(path)
    window.update(theme="dark")
    SettingsStore(path).update(library_dir="/new", theme="light")
    window.update(temperature=1.5)
    values = SettingsStore(path).values
    assert (values.library_dir, values.theme, values.temperature) == ("/new", "light", 1.5)
    window.update(theme="system")  # the last word on one setting counts
    assert SettingsStore(path).values.theme == "system"
    assert SettingsStore(path).values.library_dir == "/new"
