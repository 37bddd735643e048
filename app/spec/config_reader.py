"""Reads a configuration and remembers which keys were looked at: none is ignored silently."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from app.core.errors import UnsupportedError
from app.core.sentence import Sentence

# Keys of any configuration that change nothing about inference: provenance, training, generation
# defaults (those live in generation_config.json), and the base class's serialised defaults.
# fmt: off
_NEUTRAL_KEYS = frozenset(
    {
        "add_cross_attention", "architectures", "attention_dropout", "auto_map", "bad_words_ids",
        "begin_suppress_tokens", "chunk_size_feed_forward", "cls_token_id", "compression_config",
        "cross_attention_hidden_size", "decoder_start_token_id", "diversity_penalty", "do_sample",
        "dropout", "dtype", "early_stopping", "embd_pdrop", "encoder_no_repeat_ngram_size",
        "exponential_decay_length_penalty", "finetuning_task", "forced_bos_token_id",
        "forced_eos_token_id", "hidden_dropout", "id2label", "initializer_range", "is_decoder",
        "is_encoder_decoder", "label2id", "length_penalty", "mask_token_id", "max_length",
        "min_length", "model_type", "mtp_num_layers", "name_or_path", "no_repeat_ngram_size",
        "num_beam_groups", "num_beams", "num_labels", "num_return_sequences", "output_attentions",
        "output_hidden_states", "output_scores", "pad_token_id", "prefix", "pretraining_tp",
        "problem_type", "processor_class", "pruned_heads", "quantization", "quantization_config",
        "remove_invalid_values", "repetition_penalty", "resid_pdrop", "return_dict",
        "return_dict_in_generate", "sep_token_id", "suppress_tokens", "task_specific_params",
        "temperature", "tf_legacy_loss", "tie_encoder_decoder", "tokenizer_class", "top_k", "top_p",
        "torch_dtype", "torchscript", "transformers_version", "typical_p", "unk_token_id",
        "unsloth_fixed", "unsloth_template", "unsloth_version", "use_bfloat16", "use_cache",
    }
)
# fmt: on
_REQUIRED: Any = object()


class ConfigReader:
    """Typed access to one configuration; `finish` refuses every meaningful key that nobody read."""

    def __init__(self, config: Mapping[str, Any], where: str = "config.json") -> None:
        self._config = config
        self._where = where
        self._read: set[str] = set()

    def value(self, name: str, default: Any = _REQUIRED) -> Any:
        """The raw value; null counts as absent, and absence without a default is refused."""
        self._read.add(name)
        found = self._config.get(name)
        if found is not None:
            return found
        if default is _REQUIRED:
            raise UnsupportedError("{where} has no {name}.", where=self._where, name=name)
        return default

    def integer(self, name: str, default: int | None = _REQUIRED) -> Any:
        """An int; floats with an integral value are accepted, as some writers produce them."""
        found = self.value(name, default)
        if isinstance(found, float) and found.is_integer():
            return int(found)
        if found is not default and (not isinstance(found, int) or isinstance(found, bool)):
            raise self._ill_typed(name, Sentence("an integer"), found)
        return found

    def number(self, name: str, default: float | None = _REQUIRED) -> Any:
        """An int or float, as float."""
        found = self.value(name, default)
        if found is None:
            return None
        if isinstance(found, bool) or not isinstance(found, int | float):
            raise self._ill_typed(name, Sentence("a number"), found)
        return float(found)

    def optional_number(self, name: str, default: float) -> float | None:
        """A number, whose default is not for null: that switches it off."""
        is_off = name in self._config and self._config[name] is None
        found = self.number(name, default)
        return None if is_off else float(found)

    def positive(self, name: str) -> float:
        """A number above 0."""
        found = self.number(name)
        if not found > 0:
            raise self._ill_typed(name, Sentence("a positive number"), found)
        return float(found)

    def count(self, name: str, default: int | None = _REQUIRED) -> Any:
        """An integer above 0: what others are divided by."""
        found = self.integer(name, default)
        if found is not None and found <= 0:
            raise UnsupportedError(
                "{name} must be a positive integer, not {value!r}.", name=name, value=found
            )
        return found

    def flag(self, name: str, default: bool = _REQUIRED) -> bool:
        """A bool."""
        found = self.value(name, default)
        if not isinstance(found, bool):
            raise self._ill_typed(name, Sentence("true or false"), found)
        return found

    def text(self, name: str, default: str = _REQUIRED) -> str:
        """A str."""
        found = self.value(name, default)
        if not isinstance(found, str):
            raise self._ill_typed(name, Sentence("a string"), found)
        return found

    def token_ids(self, name: str) -> tuple[int, ...]:
        """One id, a list of ids, or nothing."""
        found = self.value(name, [])
        ids = found if isinstance(found, list) else [found]
        if not all(
            isinstance(token_id, int) and not isinstance(token_id, bool) for token_id in ids
        ):
            raise self._ill_typed(name, Sentence("a token id or a list of them"), found)
        return tuple(ids)

    def numbers(self, name: str) -> tuple[float, ...]:
        """A list of numbers, or nothing."""
        found = self.value(name, [])
        if not isinstance(found, list) or not all(isinstance(item, int | float) for item in found):
            raise self._ill_typed(name, Sentence("a list of numbers"), found)
        return tuple(float(item) for item in found)

    def table(self, name: str) -> dict[str, Any] | None:
        """A nested object, or nothing."""
        found = self.value(name, None)
        if found is not None and not isinstance(found, dict):
            raise self._ill_typed(name, Sentence("an object"), found)
        return found

    def finish(self, ignored: Iterable[str] = ()) -> None:
        """Refuses by name the keys that nobody read and that are not switched off."""
        known = self._read | _NEUTRAL_KEYS | set(ignored)
        unknown = sorted(
            name
            for name, value in self._config.items()
            if name not in known
            and not name.startswith("_")
            and value not in (None, False, "", [], {})
        )
        if unknown:
            listed = ", ".join(f"{name}={self._config[name]!r}"[:80] for name in unknown[:5])
            raise UnsupportedError(
                "{where} sets {listed}, which this model family does not know.",
                where=self._where,
                listed=listed,
            )

    def _ill_typed(self, name: str, wanted: str, found: object) -> UnsupportedError:
        return UnsupportedError(
            "{where}: {name} must be {wanted}, not {found!r}.",
            where=self._where,
            name=name,
            wanted=wanted,
            found=str(found)[:60],
        )
