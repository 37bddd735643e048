"""Reads a Hugging Face configuration and remembers which keys were looked at, so that none is ignored silently."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from app.core.errors import UnsupportedError

# Keys of any configuration that change nothing about inference: provenance, training, generation defaults
# (those live in generation_config.json), and the base class's serialised defaults.
_NEUTRAL_KEYS = frozenset(
    """
    architectures model_type torch_dtype dtype transformers_version use_cache initializer_range attention_dropout
    hidden_dropout resid_pdrop embd_pdrop dropout pad_token_id unk_token_id sep_token_id cls_token_id mask_token_id
    decoder_start_token_id forced_bos_token_id forced_eos_token_id pretraining_tp auto_map quantization_config
    compression_config quantization unsloth_version unsloth_fixed unsloth_template tokenizer_class processor_class
    name_or_path finetuning_task task_specific_params problem_type id2label label2id num_labels prefix torchscript
    use_bfloat16 tf_legacy_loss output_hidden_states output_attentions output_scores return_dict
    return_dict_in_generate is_encoder_decoder is_decoder add_cross_attention tie_encoder_decoder pruned_heads
    chunk_size_feed_forward cross_attention_hidden_size encoder_no_repeat_ngram_size no_repeat_ngram_size
    bad_words_ids begin_suppress_tokens suppress_tokens exponential_decay_length_penalty remove_invalid_values
    do_sample early_stopping num_beams num_beam_groups diversity_penalty num_return_sequences length_penalty
    max_length min_length temperature top_k top_p typical_p repetition_penalty mtp_num_layers
    """.split()
)
_REQUIRED: Any = object()


class ConfigReader:
    """Typed access to one configuration; `finish` refuses every meaningful key that nobody read."""

    def __init__(self, config: Mapping[str, Any], where: str = "config.json") -> None:
        self._config = config
        self._where = where
        self._read: set[str] = set()

    def value(self, name: str, default: Any = _REQUIRED) -> Any:
        """The raw value; null counts as absent. Raises UnsupportedError when it is absent and has no default."""
        self._read.add(name)
        found = self._config.get(name)
        if found is not None:
            return found
        if default is _REQUIRED:
            raise UnsupportedError(f"{self._where} has no {name}.")
        return default

    def integer(self, name: str, default: int | None = _REQUIRED) -> Any:
        """An int; floats with an integral value are accepted, as some writers produce them."""
        found = self.value(name, default)
        if isinstance(found, float) and found.is_integer():
            return int(found)
        if found is not default and (not isinstance(found, int) or isinstance(found, bool)):
            raise self._ill_typed(name, "an integer", found)
        return found

    def number(self, name: str, default: float | None = _REQUIRED) -> Any:
        """An int or float, as float."""
        found = self.value(name, default)
        if found is None:
            return None
        if isinstance(found, bool) or not isinstance(found, int | float):
            raise self._ill_typed(name, "a number", found)
        return float(found)

    def flag(self, name: str, default: bool = _REQUIRED) -> bool:
        """A bool."""
        found = self.value(name, default)
        if not isinstance(found, bool):
            raise self._ill_typed(name, "true or false", found)
        return found

    def text(self, name: str, default: str = _REQUIRED) -> str:
        """A str."""
        found = self.value(name, default)
        if not isinstance(found, str):
            raise self._ill_typed(name, "a string", found)
        return found

    def token_ids(self, name: str) -> tuple[int, ...]:
        """One id, a list of ids, or nothing."""
        found = self.value(name, [])
        ids = found if isinstance(found, list) else [found]
        if not all(isinstance(token_id, int) and not isinstance(token_id, bool) for token_id in ids):
            raise self._ill_typed(name, "a token id or a list of them", found)
        return tuple(ids)

    def numbers(self, name: str) -> tuple[float, ...]:
        """A list of numbers, or nothing."""
        found = self.value(name, [])
        if not isinstance(found, list) or not all(isinstance(item, int | float) for item in found):
            raise self._ill_typed(name, "a list of numbers", found)
        return tuple(float(item) for item in found)

    def table(self, name: str) -> dict[str, Any] | None:
        """A nested object, or nothing."""
        found = self.value(name, None)
        if found is not None and not isinstance(found, dict):
            raise self._ill_typed(name, "an object", found)
        return found

    def finish(self, ignored: Iterable[str] = ()) -> None:
        """Raises UnsupportedError naming the keys that nobody read and that are not switched off."""
        known = self._read | _NEUTRAL_KEYS | set(ignored)
        unknown = sorted(
            name
            for name, value in self._config.items()
            if name not in known and not name.startswith("_") and value not in (None, False, "", [], {})
        )
        if unknown:
            listed = ", ".join(f"{name}={self._config[name]!r}"[:80] for name in unknown[:5])
            raise UnsupportedError(f"{self._where} sets {listed}, which this model family does not know.")

    def _ill_typed(self, name: str, wanted: str, found: object) -> UnsupportedError:
        return UnsupportedError(f"{self._where}: {name} must be {wanted}, not {str(found)[:60]!r}.")
