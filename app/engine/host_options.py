"""What an engine's host does besides answering, and can be told while it runs."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from pathlib import Path

from app.engine.kv_archive import stored_format
from app.engine.kv_store import DEFAULT_LIMIT_BYTES, KVStore
from app.engine.loader import LoadedEngine

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HostOptions:
    """kv_dir: where conversations' KV caches are kept (`Request.cache_key`), at most
    `kv_limit_bytes` of them; None keeps none. Without `keeps_conversations` none are added there,
    and those of conversations that are forgotten go all the same. idle_unload_s: a model that
    nobody has used for so long gives its memory back, and the next request loads it again; None
    never.
    """

    kv_dir: Path | None = None
    keeps_conversations: bool = True
    kv_limit_bytes: int = DEFAULT_LIMIT_BYTES
    idle_unload_s: float | None = None

    def keeps_like(self, other: HostOptions) -> bool:
        """Whether both keep conversations in the same way."""
        return replace(self, idle_unload_s=None) == replace(other, idle_unload_s=None)

    def open_store(self, loaded: LoadedEngine) -> KVStore | None:
        """For conversations with this model; None where none are kept, or can be."""
        if self.kv_dir is None or not self.keeps_conversations:
            return None
        try:
            format = stored_format(loaded.model.model_dir, loaded.executor)
            return KVStore(self.kv_dir, format, self.kv_limit_bytes)
        except OSError as error:
            _logger.warning("Conversations are not kept on the disk: %s", error)
            return None
