"""What the user can choose: every setting declared once; the window shows what is declared here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from enum import StrEnum
from typing import Any

from app.core.sentence import Sentence
from app.core.translation import QT_TRANSLATE_NOOP


class Topic(StrEnum):
    """A page of the settings; `NONE` is not shown: the window keeps it for itself."""

    NONE = ""
    APPEARANCE = "appearance"
    MODELS = "models"
    REPLIES = "replies"
    DOWNLOADS = "downloads"


def _setting(
    default: Any,
    label: str,
    help_text: str,
    topic: Topic,
    *,
    least: float | None = None,
    most: float | None = None,
    choices: Mapping[str, str] | None = None,
    unit: str = "",
    zero_means: str = "",
    is_long: bool = False,
) -> Any:
    """`choices` gives each value its label, `zero_means` what 0 is called; `is_long` is a text of
    many lines. Texts are marked for translation and shown by `app.ui.pages.settings_page`."""
    metadata = {
        "label": label,
        "help": help_text,
        "topic": topic,
        "least": least,
        "most": most,
        "choices": choices or {},
        "unit": unit,
        "zero_means": zero_means,
        "is_long": is_long,
    }
    return field(default=default, metadata=metadata)


def _hidden(default: Any, help_text: str) -> Any:
    return _setting(default, "", help_text, Topic.NONE)


@dataclass(frozen=True, slots=True)
class Settings:
    """Every setting with its default, range and help; some are the start of a new conversation."""

    theme: str = _setting(
        "system",
        QT_TRANSLATE_NOOP("Settings", "Theme"),
        QT_TRANSLATE_NOOP("Settings", "Light, dark, or as the system has it."),
        Topic.APPEARANCE,
        choices={
            "system": QT_TRANSLATE_NOOP("Settings", "Follow the system"),
            "light": QT_TRANSLATE_NOOP("Settings", "Light"),
            "dark": QT_TRANSLATE_NOOP("Settings", "Dark"),
        },
    )
    accent: str = _setting(
        "indigo",
        QT_TRANSLATE_NOOP("Settings", "Accent"),
        QT_TRANSLATE_NOOP("Settings", "The colour of what is chosen, pressed or linked."),
        Topic.APPEARANCE,
        choices={
            "indigo": QT_TRANSLATE_NOOP("Settings", "Indigo"),
            "blue": QT_TRANSLATE_NOOP("Settings", "Blue"),
            "teal": QT_TRANSLATE_NOOP("Settings", "Teal"),
            "green": QT_TRANSLATE_NOOP("Settings", "Green"),
            "orange": QT_TRANSLATE_NOOP("Settings", "Orange"),
            "pink": QT_TRANSLATE_NOOP("Settings", "Pink"),
            "graphite": QT_TRANSLATE_NOOP("Settings", "Graphite"),
        },
    )
    language: str = _setting(
        "system",
        QT_TRANSLATE_NOOP("Settings", "Language"),
        QT_TRANSLATE_NOOP("Settings", "Of the whole window, at once."),
        Topic.APPEARANCE,
        choices={
            "system": QT_TRANSLATE_NOOP("Settings", "Follow the system"),
            "en": "English",
            "zh_CN": "简体中文",
        },
    )
    font_percent: int = _setting(
        100,
        QT_TRANSLATE_NOOP("Settings", "Text size"),
        QT_TRANSLATE_NOOP("Settings", "Of the whole window; Ctrl+= and Ctrl+- change it, too."),
        Topic.APPEARANCE,
        least=70,
        most=200,
        unit="%",
    )
    device: str = _setting(
        "auto",
        QT_TRANSLATE_NOOP("Settings", "Run models on"),
        QT_TRANSLATE_NOOP(
            "Settings", "Automatic takes the card when the model fits, and says why when not."
        ),
        Topic.MODELS,
        choices={
            "auto": QT_TRANSLATE_NOOP("Settings", "Automatic"),
            "cuda": QT_TRANSLATE_NOOP("Settings", "NVIDIA card"),
            "cpu": QT_TRANSLATE_NOOP("Settings", "Processor"),
            "reference": QT_TRANSLATE_NOOP("Settings", "Reference (slow, exact)"),
        },
    )
    max_model_len: int = _setting(
        0,
        QT_TRANSLATE_NOOP("Settings", "Context"),
        QT_TRANSLATE_NOOP("Settings", "Longest conversation; it costs memory for the KV cache."),
        Topic.MODELS,
        least=0,
        most=1 << 24,
        unit=QT_TRANSLATE_NOOP("Settings", "tokens"),
        zero_means=QT_TRANSLATE_NOOP("Settings", "as much as fits"),
    )
    kv_dtype: str = _setting(
        "fp16",
        QT_TRANSLATE_NOOP("Settings", "KV cache"),
        QT_TRANSLATE_NOOP("Settings", "8-bit takes half the memory, so that more context fits."),
        Topic.MODELS,
        choices={
            "fp16": QT_TRANSLATE_NOOP("Settings", "16-bit"),
            "int8": QT_TRANSLATE_NOOP("Settings", "8-bit"),
            "fp32": QT_TRANSLATE_NOOP("Settings", "32-bit"),
        },
    )
    activations: str = _setting(
        "int8",
        QT_TRANSLATE_NOOP("Settings", "Arithmetic of the processor"),
        QT_TRANSLATE_NOOP(
            "Settings", "What weights are multiplied with: 8-bit is fast, 32-bit exact."
        ),
        Topic.MODELS,
        choices={
            "int8": QT_TRANSLATE_NOOP("Settings", "8-bit"),
            "fp32": QT_TRANSLATE_NOOP("Settings", "32-bit"),
        },
    )
    idle_unload_min: int = _setting(
        10,
        QT_TRANSLATE_NOOP("Settings", "Unload a model that nobody uses"),
        QT_TRANSLATE_NOOP(
            "Settings", "Its memory is free then; the next message loads it again by itself."
        ),
        Topic.MODELS,
        least=0,
        most=10_000,
        unit=QT_TRANSLATE_NOOP("Settings", "minutes"),
        zero_means=QT_TRANSLATE_NOOP("Settings", "never"),
    )
    keeps_kv: bool = _setting(
        True,
        QT_TRANSLATE_NOOP("Settings", "Keep what a model has read"),
        QT_TRANSLATE_NOOP(
            "Settings",
            "KV caches of conversations lie on the disk, at most 2 GiB, so that a long one goes on "
            "at once after a restart.",
        ),
        Topic.MODELS,
    )
    system_prompt: str = _setting(
        "",
        QT_TRANSLATE_NOOP("Settings", "System prompt"),
        QT_TRANSLATE_NOOP("Settings", "Of a new conversation."),
        Topic.REPLIES,
        is_long=True,
    )
    temperature: float = _setting(
        0.7,
        QT_TRANSLATE_NOOP("Settings", "Temperature"),
        QT_TRANSLATE_NOOP("Settings", "Randomness; 0 always takes the likeliest token."),
        Topic.REPLIES,
        least=0.0,
        most=5.0,
    )
    top_k: int = _setting(
        0,
        QT_TRANSLATE_NOOP("Settings", "Top-k"),
        QT_TRANSLATE_NOOP("Settings", "Keep this many of the likeliest tokens."),
        Topic.REPLIES,
        least=0,
        most=1 << 20,
        zero_means=QT_TRANSLATE_NOOP("Settings", "all"),
    )
    top_p: float = _setting(
        0.95,
        QT_TRANSLATE_NOOP("Settings", "Top-p"),
        QT_TRANSLATE_NOOP("Settings", "Keep the likeliest tokens up to this probability."),
        Topic.REPLIES,
        least=0.0,
        most=1.0,
    )
    min_p: float = _setting(
        0.0,
        QT_TRANSLATE_NOOP("Settings", "Min-p"),
        QT_TRANSLATE_NOOP("Settings", "Drop tokens below this part of the likeliest."),
        Topic.REPLIES,
        least=0.0,
        most=1.0,
    )
    repetition_penalty: float = _setting(
        1.0,
        QT_TRANSLATE_NOOP("Settings", "Repetition penalty"),
        QT_TRANSLATE_NOOP("Settings", "Above 1 avoids tokens already seen."),
        Topic.REPLIES,
        least=0.1,
        most=5.0,
    )
    overflow: str = _setting(
        "drop_oldest",
        QT_TRANSLATE_NOOP("Settings", "When a conversation is longer than the context"),
        QT_TRANSLATE_NOOP(
            "Settings", "A line in the conversation shows from where on the model reads it."
        ),
        Topic.REPLIES,
        choices={
            "drop_oldest": QT_TRANSLATE_NOOP("Settings", "Leave out the oldest turns"),
            "stop": QT_TRANSLATE_NOOP("Settings", "Refuse to answer"),
        },
    )
    max_tokens: int = _setting(
        0,
        QT_TRANSLATE_NOOP("Settings", "Longest reply"),
        QT_TRANSLATE_NOOP("Settings", "A reply ends there, whatever it was about to say."),
        Topic.REPLIES,
        least=0,
        most=1 << 24,
        unit=QT_TRANSLATE_NOOP("Settings", "tokens"),
        zero_means=QT_TRANSLATE_NOOP("Settings", "to the end of the context"),
    )
    hub_endpoint: str = _setting(
        "",
        QT_TRANSLATE_NOOP("Settings", "Address of the hub"),
        QT_TRANSLATE_NOOP(
            "Settings", "Empty: HF_ENDPOINT where it is set, else https://huggingface.co."
        ),
        Topic.DOWNLOADS,
    )
    hub_mirrors: str = _setting(
        "",
        QT_TRANSLATE_NOOP("Settings", "Further addresses"),
        QT_TRANSLATE_NOOP(
            "Settings",
            "Asked in this order when the hub does not answer; they get no token of it. "
            "With blanks between them.",
        ),
        Topic.DOWNLOADS,
    )
    download_threads: int = _setting(
        4,
        QT_TRANSLATE_NOOP("Settings", "Files at once"),
        QT_TRANSLATE_NOOP("Settings", "So many files of one model are fetched side by side."),
        Topic.DOWNLOADS,
        least=1,
        most=16,
    )
    hub_home: str = _setting(
        "",
        QT_TRANSLATE_NOOP("Settings", "Folder of Hugging Face"),
        QT_TRANSLATE_NOOP(
            "Settings",
            "Downloads go into its cache, which other programs share. Empty: HF_HOME where it is "
            "set, else the usual one. From the next start on.",
        ),
        Topic.DOWNLOADS,
    )
    hub_proxy: str = _setting(
        "",
        QT_TRANSLATE_NOOP("Settings", "Proxy"),
        QT_TRANSLATE_NOOP(
            "Settings",
            "http://host:port; empty: HTTPS_PROXY where it is set. From the next start on.",
        ),
        Topic.DOWNLOADS,
    )
    last_model: str = _hidden("", "The model to load at the start: a folder or a library name.")
    library_dir: str = _hidden("", "Where the library was moved to; '' is the program's folder.")
    source_folders: str = _hidden("", "Folders whose models the library lists, too, one a line.")
    server_port: int = _setting(
        8231, "", "Where the OpenAI port is opened.", Topic.NONE, least=1, most=65535
    )
    server_allow_lan: bool = _hidden(False, "Whether other machines reach the port, with a key.")
    server_autostart: bool = _hidden(False, "Whether the port opens with the program.")
    server_keeps_running: bool = _hidden(
        False, "Whether closing the window leaves an open port in the tray."
    )
    remote_url: str = _hidden("", "Base URL of the remote server that was used last.")
    remote_model: str = _hidden("", "The model of it; '' is its first.")
    uses_remote: bool = _hidden(False, "Whether the remote server answers the chat at the start.")
    window_geometry: str = _hidden("", "Size and place of the window, base64.")


def find_problem(declared: Field[Any], value: object) -> str:
    """What is wrong with a value of this setting, as the end of a sentence; empty for nothing."""
    expected = type(declared.default)
    is_number = expected is float and isinstance(value, int) and not isinstance(value, bool)
    if type(value) is not expected and not is_number:
        return Sentence(
            "must be of type {type}, not {value!r}", type=expected.__name__, value=value
        )
    meta = declared.metadata
    if meta["choices"] and value not in meta["choices"]:
        return Sentence(
            "must be one of {choices}, not {value!r}",
            choices=", ".join(meta["choices"]),
            value=value,
        )
    if meta["least"] is not None and not meta["least"] <= value <= meta["most"]:
        return Sentence(
            "must be between {least} and {most}, not {value!r}",
            least=meta["least"],
            most=meta["most"],
            value=value,
        )
    return ""


SETTING_FIELDS: Mapping[str, Field[Any]] = {
    declared.name: declared for declared in fields(Settings)
}
