"""Documents as they are sent."""

from __future__ import annotations

import json


def to_json_bytes(document: object) -> bytes:
    """Compact UTF-8. Half of a UTF-16 pair, which a model may spell in JSON, becomes `?`."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")
