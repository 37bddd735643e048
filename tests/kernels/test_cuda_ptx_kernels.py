"""NVRTC's PTX of single kernels, on the fibers, against the same float64 as their sources.

Where functions of the C library become NVIDIA's own instructions, bits differ from the twins'.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from kernels.cuda import nvrtc
from kernels.cuda.source import ModuleSource
from tests.kernels import test_cuda_attention as attention
from tests.kernels import test_cuda_copy as copy
from tests.kernels import test_cuda_delta_net as delta_net
from tests.kernels import test_cuda_experts as experts
from tests.kernels import test_cuda_latent as latent
from tests.kernels import test_cuda_rows as rows
from tests.kernels.cuda_heads import TURNINGS
from tests.kernels.cuda_host import HostModule, Schedule
from tests.kernels.cuda_matrices import VARIANTS
from tests.kernels.test_cuda_ptx import ptx_module

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not nvrtc.is_installed(), reason="needs NVRTC and Linux's fibers"
)


@pytest.fixture
def translated(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The files that ran as PTX: the tests of these modules build it in place of the twins."""
    files: set[str] = set()

    def build(path: Path, macros: Any = ()) -> HostModule:
        files.add(path.name)
        return ptx_module(ModuleSource(path.name, tuple(dict(macros).items())))

    for module in (attention, copy, delta_net, experts, latent, rows):
        monkeypatch.setattr(module, "build_host_module", build)
    return files


def rest_is_slow(names: Any, count: int) -> list[Any]:
    """Each is translated and compiled by itself."""
    names = list(names)
    slow = (pytest.param(name, marks=pytest.mark.slow) for name in names[count:])
    return [*names[:count], *slow]


@pytest.mark.parametrize(
    "name", rest_is_slow(sorted(VARIANTS, key=lambda name: name != "w3-zero-g32"), 1)
)
def test_rows(translated: set[str], name: str) -> None:
    rows.test_rows_are_those_of_the_matrix(name)
    assert translated == {"rows.cu"}


@pytest.mark.parametrize("int8_kv", rest_is_slow((False, True), 1))
@pytest.mark.parametrize("name", TURNINGS)
def test_heads_of_few_rows_and_of_chunks(translated: set[str], name: str, int8_kv: bool) -> None:
    attention.test_heads_are_normed_turned_and_stored(name, int8_kv)
    assert translated == {"attention.cu", "rope.cu"}


@pytest.mark.parametrize("num_tokens", [1, 19])
@pytest.mark.parametrize("name", experts.ROUTERS)
def test_routers(translated: set[str], name: str, num_tokens: int) -> None:
    experts.test_the_router_chooses_and_weighs_as_float64(name, num_tokens)
    assert translated == {"router.cu"}


def test_sums_of_experts(translated: set[str]) -> None:
    experts.test_the_experts_add_up(1, has_shared=True)
    assert translated == {"experts.cu"}


def test_copies(translated: set[str]) -> None:
    copy.test_every_element_is_copied(Schedule.REVERSE)
    copy.test_every_element_is_read(Schedule.GREEDY)
    assert translated == {copy.SOURCE.file}


@pytest.mark.slow
def test_delta_nets(translated: set[str]) -> None:
    delta_net.test_a_sequence_in_pieces_equals_float64(delta_net.Net())
    assert translated == {"delta_net.cu"}


@pytest.mark.slow
@pytest.mark.parametrize("name", latent.CASES)
def test_latent_attention(translated: set[str], name: str) -> None:
    latent.test_attention_over_latent_vectors_equals_float64(name)
    assert translated == {"latent_attention.cu"}


@pytest.mark.slow
@pytest.mark.parametrize("int8_kv", [False, True], ids=["halfs", "int8"])
def test_latent_rows(translated: set[str], int8_kv: bool) -> None:
    latent.test_a_latent_row_is_normed_turned_and_stored(has_rope=True, int8_kv=int8_kv)
    assert translated == {"latent.cu"}
