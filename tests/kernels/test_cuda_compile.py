"""Every kernel compiles for every card as CuPy would compile it, and stays within its budget."""

from __future__ import annotations

import json
import re
import subprocess
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from kernels.cuda import nvrtc
from kernels.cuda.attention import AttentionVariant
from kernels.cuda.build import (
    ARCHITECTURES,
    PTX_TARGET,
    SOURCE_DIR,
    ModuleSource,
    compile_module,
    read_headers,
)
from kernels.cuda.delta_net import DeltaVariant
from kernels.cuda.gemm import GemmVariant
from kernels.cuda.gemv import GemvVariant, Scheme, ValueType
from kernels.cuda.latent import LatentVariant
from kernels.cuda.variants import iter_sources

pytestmark = pytest.mark.skipif(not nvrtc.is_installed(), reason="NVRTC has no wheel here")

U8 = ValueType.TWO_LEVEL_U8
W4 = GemvVariant(4)
SOURCES = {
    "gemv w4 g128": W4.source,
    "gemv w4 g128, 8 tokens": GemvVariant(4, tokens=8).source,
    "gemv w4 zero g128": GemvVariant(4, Scheme.ZERO).source,
    "gemv w4 affine g32 two-level": GemvVariant(4, Scheme.AFFINE, 32, U8, U8).source,
    "gemv w8 g16 two-level": GemvVariant(8, Scheme.SYM, 16, ValueType.TWO_LEVEL_I8).source,
    "gemv w3 g128": GemvVariant(3).source,
    "gemv w8 g128": GemvVariant(8).source,
    "gemv w4 g128, experts": GemvVariant(4, is_stack=True).source,
    "gemv w4 g128, experts, 8 tokens": GemvVariant(4, tokens=8, is_stack=True).source,
    "gemm w4 g128": GemmVariant(W4).source,
    "gemm w4 affine g32 two-level": GemmVariant(GemvVariant(4, Scheme.AFFINE, 32, U8, U8)).source,
    "arrange": ModuleSource("arrange.cu"),
    "attention 128": AttentionVariant(128).attention_source,
    "attention 128 int8": AttentionVariant(128, int8_kv=True).attention_source,
    "attention of chunks 128": AttentionVariant(128).chunk_source,
    "attention of chunks 256 int8": AttentionVariant(256, int8_kv=True).chunk_source,
    "rope 128": AttentionVariant(128).rope_source,
    "rows w4": ModuleSource("rows.cu", W4.source.macros),
    "sampling": ModuleSource("sampling.cu"),
    "copy": ModuleSource("copy.cu"),
    "norm": ModuleSource("norm.cu"),
    "router": ModuleSource("router.cu"),
    "delta net 128": DeltaVariant(128, 128, 4).source,
    "latent 512 + 64": LatentVariant(512, 64).rope_source,
    "latent attention 512 + 64": LatentVariant(512, 64).attention_source,
    "latent attention 512 + 64 int8": LatentVariant(512, 64, int8_kv=True).attention_source,
    "experts": ModuleSource("experts.cu"),
}
BUDGETS: dict[str, dict[str, float]] = json.loads((SOURCE_DIR / "budgets.json").read_text("utf-8"))
MAX_SHARED_BYTES = 99 << 10
NUM_PARTS = 8  # of all modules
# All of them; those but the first are slow tests, as the disassembler takes its time.
DISASSEMBLED = [
    "sm_86",
    *(pytest.param(each, marks=pytest.mark.slow) for each in ARCHITECTURES if each != "sm_86"),
]
# `$__` names the compiler's own functions: slow divisions, shuffles of divergent warps. Any other
# call, in code without a RET, is a jump.
OUT_OF_LINE = re.compile(r"\b(LDL|STL|RET)\b|CALL.*\$__")
GEMV = [name for name in SOURCES if name.startswith("gemv")]
GEMM = [name for name in SOURCES if name.startswith("gemm")]


@cache
def compiled(name: str, target: str) -> nvrtc.Compiled:
    return compile_module(SOURCES[name], target, ("--ptxas-options=-v",))


def numbers(pattern: str, log: str) -> list[int]:
    return [int(text) for text in re.findall(pattern, log)]


def test_every_source_has_a_budget() -> None:
    assert set(BUDGETS) == set(SOURCES)
    assert {source.file for source in SOURCES.values()} == {p.name for p in SOURCE_DIR.glob("*.cu")}


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("name", SOURCES)
def test_a_kernel_keeps_its_budget(name: str, architecture: str) -> None:
    log = compiled(name, architecture).log
    spilled = numbers(r"(\d+) bytes spill", log)
    assert spilled, log
    assert not any(spilled), log
    assert max(numbers(r"Used (\d+) registers", log)) <= BUDGETS[name]["registers"]
    assert max([0, *numbers(r"(\d+) bytes smem", log)]) <= MAX_SHARED_BYTES


@pytest.mark.slow
@pytest.mark.parametrize("part", range(NUM_PARTS))
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_no_common_form_spills_or_calls(architecture: str, part: int) -> None:
    """Of all that a bundle ships; in parts, so that none takes long on a busy machine."""
    for source in list(iter_sources())[part::NUM_PARTS]:
        module = compile_module(source, architecture, ("--ptxas-options=-v",))
        found = numbers(r"(\d+) bytes (?:spill|stack frame)", module.log)
        assert found, source
        assert not any(found), source
        assert max([0, *numbers(r"(\d+) bytes smem", module.log)]) <= MAX_SHARED_BYTES, source
        assert not has_compilers_functions(module.image), source


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_form_with_most_values_of_groups_spills_nothing(architecture: str) -> None:
    """Q3_K by eight tokens, at the limit of 128 registers."""
    source = GemvVariant(3, Scheme.SYM, 16, ValueType.TWO_LEVEL_I8, tokens=8).source
    log = compile_module(source, architecture, ("--ptxas-options=-v",)).log
    found = numbers(r"(\d+) bytes (?:spill|stack frame)", log)
    assert found
    assert not any(found)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_call_would_be_seen(architecture: str, tmp_path: Path) -> None:
    """A division of doubles is none of the card's instructions."""
    text = 'extern "C" __global__ void divide(double* x) { x[0] = x[1] / x[2]; }'
    image = nvrtc.compile_source("divide.cu", text, {}, architecture).image
    assert has_compilers_functions(image)
    assert [line for line in disassemble(image, tmp_path) if OUT_OF_LINE.search(line)]


def test_ptx_is_there_for_cards_to_come() -> None:
    assert b".target sm_80" in compiled("gemv w4 g128", PTX_TARGET).image


@pytest.mark.parametrize("architecture", DISASSEMBLED)
@pytest.mark.parametrize("name", GEMV)
def test_the_inner_loop_is_lean(name: str, architecture: str, tmp_path: Path) -> None:
    loop = inner_loop(disassemble(compiled(name, architecture).image, tmp_path))
    # A fragment of 16 x 16 weights is one tensor operation, and 8 weights of each lane; biases
    # are multiplied in smaller ones.
    weights = 8 * sum("HMMA.16816" in line for line in loop)
    assert 32 * len(loop) / weights <= BUDGETS[name]["instructions_per_32_weights"]
    code_loads = [line for line in loop if "LDG" in line and ".EF" in line]
    assert code_loads
    assert all(".128" in line for line in code_loads)


@pytest.mark.parametrize("architecture", DISASSEMBLED)
@pytest.mark.parametrize("name", GEMM)
def test_what_stands_beside_the_tensor_operations_of_a_chunk(
    name: str, architecture: str, tmp_path: Path
) -> None:
    loop = inner_loop(disassemble(compiled(name, architecture).image, tmp_path))
    num_products = sum("HMMA" in line for line in loop)
    assert len(loop) / num_products <= BUDGETS[name]["instructions_per_product"]
    assert any("LDGSTS" in line and ".128" in line for line in loop)
    assert not any(re.match(r"LDG\b.*\.128", line) for line in loop)


@pytest.mark.parametrize("architecture", DISASSEMBLED)
@pytest.mark.parametrize("name", SOURCES)
def test_nothing_is_called_or_spilled(name: str, architecture: str, tmp_path: Path) -> None:
    """Registers of barriers, too, which the compiler's own count of spills leaves out."""
    code = disassemble(compiled(name, architecture).image, tmp_path)
    assert not [line for line in code if OUT_OF_LINE.search(line)]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_host_sees_a_token_and_its_sequence_at_once(architecture: str, tmp_path: Path) -> None:
    code = disassemble(compiled("sampling", architecture).image, tmp_path)
    assert stores_for_the_host(code) == ["MEMBAR.SC.SYS", "STG.E.64.STRONG.SYS"] * 2


def test_two_stores_for_the_host_would_be_seen(tmp_path: Path) -> None:
    store = "*entry = static_cast<u64>(sequence) << 32 | static_cast<u32>(token);"
    apart = "volatile u32* half = reinterpret_cast<volatile u32*>(entry);\n"
    apart += "half[1] = sequence, half[0] = token;"
    headers = {**read_headers(), "state.cuh": read_headers()["state.cuh"].replace(store, apart)}
    text = (SOURCE_DIR / "sampling.cu").read_text("utf-8")
    options = ModuleSource("sampling.cu").options
    image = nvrtc.compile_source("sampling.cu", text, headers, "sm_86", options).image
    assert "STG.E.STRONG.SYS" in stores_for_the_host(disassemble(image, tmp_path))


def test_doubles_of_the_sampler_are_rounded_as_they_are_written() -> None:
    """Each by an instruction that names its rounding, which no compiler fuses with another."""
    ptx = compiled("sampling", PTX_TARGET).image.decode()
    found = set(re.findall(r"\b((?:mul|add|sub|fma|mad|div)[\w.]*\.f(?:32|64))\b", ptx))
    assert found == {"mul.rn.f64", "add.rn.f64", "fma.rn.f64"}


def has_compilers_functions(cubin: bytes) -> bool:
    """By their symbols: so many modules would take the disassembler an hour."""
    return b"$__" in cubin


def stores_for_the_host(code: list[str]) -> list[str]:
    """Instructions that are ordered for the whole system."""
    return [line.split()[0] for line in code if ".SYS" in line]


def disassemble(cubin: bytes, directory: Path) -> list[str]:
    """Instructions, and labels as `.L_x_1:`."""
    path = directory / "module.cubin"
    path.write_bytes(cubin)
    done = subprocess.run(
        [_nvdisasm(), "-c", str(path)], capture_output=True, text=True, check=True
    )
    pattern = re.compile(r"^(\.L\w+:)|/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;", re.MULTILINE)
    return [label or code for label, code in pattern.findall(done.stdout)]


def inner_loop(code: list[str]) -> list[str]:
    """From a label to a jump back to it, no other such pair between: most tensor operations."""
    starts = {line[:-1]: index for index, line in enumerate(code) if line.startswith(".L")}
    spans = []
    for index, line in enumerate(code):
        target = re.search(r"\bBRA\b.*?(\.L\w+)", line)
        if target and starts.get(target[1], index) < index:
            spans.append((starts[target[1]], index))
    innermost = [
        (first, last)
        for first, last in spans
        if not any(first < other[0] and other[1] < last for other in spans)
    ]
    loops = [
        [line for line in code[first : last + 1] if not line.startswith(".L")]
        for first, last in innermost
    ]
    return max(loops, key=lambda loop: sum("HMMA" in line for line in loop))


def _nvdisasm() -> str:
    spec = find_spec("nvidia.cu13")
    assert spec is not None
    assert spec.submodule_search_locations
    path = Path(next(iter(spec.submodule_search_locations))) / "bin" / "nvdisasm"
    path.chmod(0o755)
    return str(path)
