"""Layers behind a decoder's last, which predict several tokens at once: inference needs none.

DeepSeek-V3 and GLM number them on (`model.layers.61` beside num_hidden_layers 61); Qwen keeps them
apart (`mtp.layers.0`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from app.core.sentence import Sentence

# transformers 5 has a name of its own for it.
_COUNTS = ("num_nextn_predict_layers", "num_mtp_layers")
_APART = "mtp."


def draft_tensors(config: Mapping[str, Any], names: Collection[str], prefix: str) -> set[str]:
    """The `names` that belong to such layers, of which `config` says how many there may be.

    `prefix` stands before the number of a layer: `model.layers.`, `blk.`.
    """
    count = next((config[key] for key in _COUNTS if isinstance(config.get(key), int)), 0)
    first = config["num_hidden_layers"]
    layer = re.compile(rf"{re.escape(prefix)}(\d+)\..+")
    found = {name: layer.fullmatch(name) for name in names}
    numbered = {n for n, match in found.items() if match and 0 <= int(match[1]) - first < count}
    return numbered | {name for name in names if name.startswith(_APART)}


def draft_notes(found: Collection[str]) -> tuple[str, ...]:
    """A sentence for the report where there are any."""
    return (
        (Sentence("The layers that predict several tokens at once are left out."),) if found else ()
    )
