"""What rooms without Qt say can be said in every language of the window, each sentence of it."""

from __future__ import annotations

import ast
import re
import string
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from PySide6.QtCore import QTranslator
from PySide6.QtWidgets import QApplication

from app.converter.sources.detect import open_source
from app.core.device import describe_machine, fall_back
from app.core.errors import AppError, ResourceError, UnsupportedError
from app.core.sentence import Sentence
from app.engine.memory_plan import ExecutorCosts, plan_memory
from app.spec.registry import create_spec
from app.ui.language import TRANSLATED
from app.ui.sentences import CONTEXT, shown
from tests.engine.test_memory_plan import CONFIG

sys.path.insert(0, str(Path(__file__).parents[2] / "packaging"))

from bundling import sentences, translations

# Of an error's arguments, those that no sentence shows.
_UNSAID = {"detail", "free_port", "wait_s", "shortage"}
_CATALOGUES = [translations.FOLDER / f"deepinfer_{language}.ts" for language in TRANSLATED]
# An attribute that holds a sentence of another room, in the window's code.
_SAID = {"message", "problem", "busy", "device_note", "notes", "unchecked"}
_SAID |= {"unverified"}
# Where one is not shown but looked into, or handed to what shows it.
_REMOTE_ADDRESS = ("empty_chat.py", "model.device_note")
_ELSEWHERE = {"find_links", "show_banner", "bool", "setVisible", "len"}


@cache
def calls() -> list[tuple[str, ast.Call]]:
    """(where, call) of each sentence."""
    return [
        (f"{path.relative_to(sentences.ROOT)}:{call.lineno}", call)
        for path in sentences.sentence_files()
        for call in sentences.iter_sentences(ast.parse(path.read_text(encoding="utf-8")))
    ]


def fields(template: str) -> list[tuple[str, str, str]]:
    """(name, format, conversion) of each place."""
    parts = string.Formatter().parse(template)
    return sorted((name, form or "", kind or "") for _, name, form, kind in parts if name)


def test_no_sentence_is_put_together_where_it_is_raised() -> None:
    """An f-string or a sum cannot be looked up; a name or a call holds a Sentence made before."""
    glued = {
        where
        for where, call in calls()
        for part in ast.walk(call.args[0])
        if isinstance(part, ast.JoinedStr | ast.BinOp)
    }
    assert glued == set()


def test_every_place_of_a_template_has_its_value_and_no_value_is_lost() -> None:
    wrong = []
    for where, call in calls():
        named = [keyword.arg for keyword in call.keywords]
        template = getattr(call.args[0], "value", None)
        if not isinstance(template, str) or None in named:
            continue
        is_error = isinstance(call.func, ast.Name) and call.func.id != "Sentence"
        given = {name for name in named if not (is_error and name in _UNSAID)}
        places = {name for name, _, _ in fields(template)} if given else set()
        if places != given or (not given and "{" in template) or len(call.args) != 1:
            wrong.append(where)
    assert wrong == []


@pytest.mark.parametrize("catalogue", _CATALOGUES, ids=lambda path: path.stem)
def test_every_template_is_translated_with_the_same_places(catalogue: Path) -> None:
    found = {
        message.findtext("source"): message.findtext("translation") or ""
        for context in ET.parse(catalogue).getroot().iter("context")
        for message in context.iter("message")
        if context.findtext("name") == CONTEXT
    }
    assert set(sentences.iter_templates()) == set(found)
    for template, translation in found.items():
        assert template is not None
        assert fields(translation) == fields(template), template
        values = {name: _value(form) for name, form, _ in fields(template)}
        assert template.format(**values)
        assert translation.format(**values)


def _value(form: str) -> object:
    """What a place of this format takes."""
    return 7 if re.fullmatch(r"#?[0-9]*[dxX]?,?", form) and form else 0.5 if form else "name"


@pytest.fixture
def chinese(qapp: QApplication) -> Iterator[None]:
    translator = QTranslator(qapp)
    assert translator.load("deepinfer_zh_CN", str(translations.FOLDER))
    qapp.installTranslator(translator)
    yield
    qapp.removeTranslator(translator)


@pytest.mark.usefixtures("chinese")
def test_sentences_within_sentences_are_translated_and_other_texts_left_alone() -> None:
    reason = Sentence("{what} is not UTF-8", what=Sentence("the value of {key!r}", key="a.b"))
    sentence = Sentence("{file}: {fault}.", file="m.gguf", fault=reason)
    assert shown(sentence) == "m.gguf：'a.b' 的值不是 UTF-8。"
    assert shown("the version") == "the version"
    assert shown(Sentence("{text} of nobody {n}", text="a", n=1)) == "a of nobody 1"


@pytest.mark.usefixtures("qapp")
def test_without_a_translation_it_is_the_english_one() -> None:
    sentence = Sentence("{name} is damaged: {problem}", name="m", problem=Sentence("the version"))
    assert shown(sentence) == sentence == "m is damaged: the version"


def assert_is_chinese(message: str, *names: str) -> None:
    """Nothing but names is left of English."""
    text = shown(message)
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, "")
    assert re.search(r"[\u4e00-\u9fff]", text), text
    assert re.findall(r"[A-Za-z]{2,}", text) == [], text


def refused(path: Path) -> AppError:
    with pytest.raises(AppError) as caught:
        open_source(path)
    return caught.value


@pytest.mark.usefixtures("chinese")
def test_real_refusals_of_files_have_no_english_left(tmp_path: Path) -> None:
    damaged = tmp_path / "cut.gguf"
    damaged.write_bytes(b"GGUF\x03\x00\x00\x00" + b"\xff" * 16)
    assert_is_chinese(refused(damaged).message, "cut.gguf", "MiB", "GGUF")
    empty = tmp_path / "empty.gguf"
    empty.write_bytes(b"")
    assert_is_chinese(refused(empty).message, "empty.gguf")
    assert_is_chinese(refused(tmp_path / "nothing").message, str(tmp_path / "nothing"))
    folder = tmp_path / "strange"
    folder.mkdir()
    (folder / "config.json").write_text('{"architectures": ["Nobody"]}', encoding="utf-8")
    (folder / "model.safetensors").write_bytes(b"\x02\0\0\0\0\0\0\0{}")
    (folder / "tokenizer.json").write_text("{}", encoding="utf-8")
    assert_is_chinese(refused(folder).message, "Nobody", "strange")


@pytest.mark.usefixtures("chinese")
def test_a_model_that_does_not_fit_and_one_that_is_refused_are_told_in_chinese() -> None:
    spec = create_spec(CONFIG)
    with pytest.raises(ResourceError) as too_large:
        plan_memory(spec, ExecutorCosts(40 << 30, "fp16"), 8 << 30, 8192)
    assert_is_chinese(too_large.value.message, "GiB", "token")
    with pytest.raises(UnsupportedError) as unknown:
        create_spec({**CONFIG, "architectures": ["ReformerForCausalLM"]})
    assert_is_chinese(unknown.value.message, "ReformerForCausalLM", "config.json", "model_type")
    with pytest.raises(UnsupportedError) as strange:
        create_spec({**CONFIG, "hidden_size": [4096]})
    assert_is_chinese(strange.value.message, "config.json", "hidden_size")
    note = fall_back(ResourceError("The NVIDIA driver cannot start (code {code}).", code=999)).note
    assert_is_chinese(note, "NVIDIA", describe_machine().cpu_name)


def test_what_the_window_shows_of_other_rooms_is_translated_there() -> None:
    """Names of attributes that hold sentences, wherever the window's code reads one."""
    bare = [
        (path.name, ast.unparse(node))
        for path in sorted((sentences.ROOT / "app" / "ui").rglob("*.py"))
        for node in _unshown(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert set(bare) <= {_REMOTE_ADDRESS}


def _unshown(tree: ast.AST) -> Iterator[ast.Attribute]:
    covered: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            name = node.func.id if isinstance(node.func, ast.Name) else name
            is_mapped = name == "map" and ast.unparse(node.args[0]) == "shown"
            if name in {"shown", *_ELSEWHERE} or is_mapped:
                covered |= {part for argument in node.args for part in ast.walk(argument)}
        elif isinstance(node, ast.If | ast.IfExp):
            covered |= set(ast.walk(node.test))
        elif isinstance(node, ast.Compare | ast.BoolOp):
            covered |= set(ast.walk(node))
        elif isinstance(node, ast.For | ast.comprehension):
            covered |= set(ast.walk(node.iter))  # each is shown by itself
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in _SAID and node not in covered:
            owner = ast.unparse(node.value)
            if owner != "self" and not owner.startswith("self."):  # widgets of that name
                yield node
