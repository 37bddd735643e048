"""The native library as Python objects that own their handles. Arrays are NumPy, C-contiguous."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from ctypes import POINTER

import numpy as np
import numpy.typing as npt

from kernels.cpu.loader import check_code, check_handle, load
from kernels.cpu.structures import Config, Layer, LinearSource, Norm, Sampling

Floats = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]


def pointer(array: npt.NDArray[np.generic] | None) -> int | None:
    """The address of an aligned, C-contiguous array's first element; the caller keeps it alive.

    Raises ValueError for another layout, which the library would read wrongly.
    """
    if array is None:
        return None
    if not (array.flags.c_contiguous and array.flags.aligned):
        raise ValueError("The kernels need an aligned, C-contiguous array.")
    return array.ctypes.data


class Context:
    """Threads and an instruction set.

    `instruction_set` None is `DEEPINFER_CPU_ISA` or else the best of this machine. Raises
    NativeError for one the machine lacks.
    """

    def __init__(self, num_threads: int, instruction_set: str | None = None) -> None:
        wanted = (
            os.environ.get("DEEPINFER_CPU_ISA", "") if instruction_set is None else instruction_set
        )
        self._library = load()
        self.handle = check_handle(self._library.di_context_create(wanted.encode(), num_threads))
        self.num_threads = num_threads

    @property
    def instruction_set(self) -> str:
        """The name of the set that runs."""
        name: bytes = self._library.di_context_instruction_set(self.handle)
        return name.decode()

    def read(self, data: npt.NDArray[np.generic]) -> int:
        """The bitwise or of all 32-bit words of a contiguous array, read once with all threads.

        Its bytes are a multiple of 256.
        """
        words = ctypes.c_uint32()
        check_code(
            self._library.di_context_read(
                self.handle, pointer(data), data.nbytes, ctypes.byref(words)
            )
        )
        return words.value

    def close(self) -> None:
        """Ends the threads. Linears and models of this context come first."""
        self._library.di_context_destroy(self.handle)
        self.handle = 0


class NativeLinear:
    """A weight matrix packed for the kernels. The source's arrays are copied and may be dropped."""

    def __init__(self, context: Context, source: LinearSource) -> None:
        self._library = load()
        self._context = context
        self.out_features: int = source.out_features
        self.in_features: int = source.in_features
        self.handle = check_handle(
            self._library.di_linear_create(context.handle, ctypes.byref(source))
        )

    @property
    def num_bytes(self) -> int:
        """Bytes of codes, scales, bias and permutation, padding included."""
        return int(self._library.di_linear_bytes(self.handle))

    def apply(self, x: Floats, *, int8_activations: bool = False) -> Floats:
        """x float32 [n, in] -> x W^T + bias, float32 [n, out]; x in int8 steps of 32 if asked."""
        if x.dtype != np.float32 or x.ndim != 2 or x.shape[1] != self.in_features:
            raise ValueError(f"x must be float32 [n, {self.in_features}].")
        y = np.empty((len(x), self.out_features), np.float32)
        check_code(
            self._library.di_linear_apply(
                self._context.handle,
                self.handle,
                pointer(x),
                len(x),
                int(int8_activations),
                pointer(y),
            )
        )
        return y

    def row(self, index: int) -> Floats:
        """Row `index` of W, float32 [in], in stored column order."""
        out = np.empty(self.in_features, np.float32)
        check_code(
            self._library.di_linear_row(self._context.handle, self.handle, index, pointer(out))
        )
        return out

    def close(self) -> None:
        """Frees the matrix."""
        self._library.di_linear_destroy(self.handle)
        self.handle = 0


class NativeModel:
    """A decoder's plan, KV cache and workspace; context and linears must outlive it."""

    def __init__(
        self,
        context: Context,
        config: Config,
        layers: Sequence[Layer],
        embed_tokens: NativeLinear,
        norm: Norm,
        lm_head: NativeLinear,
    ) -> None:
        self._library = load()
        self._vocab_size: int = config.vocab_size
        handle = self._library.di_model_create(
            context.handle,
            ctypes.byref(config),
            (Layer * len(layers))(*layers),
            embed_tokens.handle,
            ctypes.byref(norm),
            lm_head.handle,
        )
        self._handle = check_handle(handle)

    def forward(
        self,
        token_ids: npt.NDArray[np.int32],
        slots: npt.NDArray[np.int32],
        positions: npt.NDArray[np.int32],
        wanted: npt.NDArray[np.uint8],
    ) -> Floats:
        """Runs n tokens, each of a slot and position; returns logits [sum(wanted), vocab_size].

        Tokens of one slot come in ascending position; what precedes them is in the cache.
        """
        logits = np.empty((int(wanted.sum()), self._vocab_size), np.float32)
        arrays = (token_ids, slots, positions, wanted, logits)
        check_code(
            self._library.di_model_forward(
                self._handle, len(token_ids), *(pointer(array) for array in arrays)
            )
        )
        return logits

    def sample(
        self,
        token_ids: npt.NDArray[np.int32],
        slots: npt.NDArray[np.int32],
        positions: npt.NDArray[np.int32],
        samplings: Sequence[Sampling | None],
    ) -> npt.NDArray[np.int32]:
        """As `forward`, but each row with a sampling gives a token id [n]; -1 without, and where
        logits are not finite."""
        pointers = [POINTER(Sampling)() if s is None else ctypes.pointer(s) for s in samplings]
        sampled = np.empty(len(token_ids), np.int32)
        check_code(
            self._library.di_model_sample(
                self._handle,
                len(token_ids),
                *(pointer(array) for array in (token_ids, slots, positions)),
                (POINTER(Sampling) * len(pointers))(*pointers),
                pointer(sampled),
            )
        )
        return sampled

    def map_pages(self, slot: int, pages: Sequence[int]) -> None:
        """The slot's position p lies in page `pages[p // 256]` from now on."""
        row = np.array(pages, np.int32)
        check_code(self._library.di_model_map(self._handle, slot, pointer(row), len(row)))

    @property
    def page_bytes(self) -> int:
        """Of a page with all layers."""
        return int(self._library.di_model_page_bytes(self._handle))

    def copy_page(self, source: int, target: int) -> None:
        """Within the cache."""
        check_code(self._library.di_model_copy_page(self._handle, source, target))

    def read_page(self, page: int) -> Bytes:
        """[page_bytes]."""
        data = np.empty(self.page_bytes, np.uint8)
        check_code(self._library.di_model_read_page(self._handle, page, pointer(data)))
        return data

    def write_page(self, page: int, data: Bytes) -> None:
        """Of [page_bytes]."""
        check_code(self._library.di_model_write_page(self._handle, page, pointer(data)))

    @property
    def state_bytes(self) -> int:
        """Of what linear layers know of a slot."""
        return int(self._library.di_model_state_bytes(self._handle))

    def read_state(self, slot: int) -> Bytes:
        """[state_bytes]."""
        data = np.empty(self.state_bytes, np.uint8)
        check_code(self._library.di_model_read_state(self._handle, slot, pointer(data)))
        return data

    def write_state(self, slot: int, data: Bytes) -> None:
        """Of [state_bytes]."""
        check_code(self._library.di_model_write_state(self._handle, slot, pointer(data)))

    @property
    def kv_bytes(self) -> int:
        """Bytes of the cache's pages allocated so far."""
        return int(self._library.di_model_kv_bytes(self._handle))

    @property
    def workspace_bytes(self) -> int:
        """Bytes of activations."""
        return int(self._library.di_model_workspace_bytes(self._handle))

    def close(self) -> None:
        """Frees cache and workspace."""
        self._library.di_model_destroy(self._handle)
        self._handle = 0


def sample(logits: Floats, sampling: Sampling) -> int:
    """The token that `sampling` draws from logits [n], which are overwritten; -1: not finite."""
    return int(load().di_sample(pointer(logits), len(logits), ctypes.byref(sampling)))
