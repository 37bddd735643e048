"""What an engine's host does besides answering, and can be told while it runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from app.engine.kv_archive import stored_format
from app.engine.kv_store import DEFAULT_LIMIT_BYTES, KVStore
from app.engine.loader import LoadedEngine


@dataclass(frozen=True, slots=True)
class HostOptions:
    """kv_dir: where conversations' KV caches are kept (`Request.cache_key`), at most
    `kv_limit_bytes` of them; None keeps none. idle_unload_s: a model that nobody has used for so
    long gives its memory back, and the next request loads it again; None never.
    """

    kv_dir: Path | None = None
    kv_limit_bytes: int = DEFAULT_LIMIT_BYTES
    idle_unload_s: float | None = None

    def keeps_like(self, other: HostOptions) -> bool:
        """Whether both keep conversations in the same way."""
        return (self.kv_dir, self.kv_limit_bytes) == (other.kv_dir, other.kv_limit_bytes)

    def open_store(self, loaded: LoadedEngine) -> KVStore | None:
        """For conversations with this model; None where none are kept."""
        if self.kv_dir is None:
            return None
        format = stored_format(loaded.model.model_dir, loaded.executor)
        return KVStore(self.kv_dir, format, self.kv_limit_bytes)
