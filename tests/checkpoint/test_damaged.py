"""Every way a checkpoint can be damaged is one sentence that names the file and the fault."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

from app.checkpoint.manifest import Manifest, Provenance, SourceInfo
from app.checkpoint.reader import Checkpoint
from app.checkpoint.reference_quant import quantized_linear
from app.checkpoint.schemes import QuantScheme, ScaleDtype, Scheme, TensorPath
from app.checkpoint.writer import CheckpointWriter, PartLinear
from app.core.errors import CheckpointError

LAYER = "layer_00.safetensors"
NAME = "layers.0.mlp.up_proj"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    quant = QuantScheme(4, 32, Scheme.SYM, ScaleDtype.FP16)
    linear = quantized_linear(quant, np.zeros((4, 64), np.int8), np.ones((4, 2), np.float16))
    provenance = Provenance("blk.0.ffn_up.weight", "Q4_0", TensorPath.EXACT, 0.0)
    writer = CheckpointWriter()
    writer.begin(tmp_path)
    writer.write_part("layer_00", {NAME: PartLinear(linear, provenance)}, {})
    writer.write_part("norm", {}, {"norm": np.ones(64, np.float32)})
    writer.write_text("config.json", "{}")
    writer.finish("LlamaForCausalLM", SourceInfo("gguf", "x.gguf", 1), "deepinfer 0")
    return tmp_path


def refusal(folder: Path) -> str:
    """The one sentence that the folder is refused with."""
    with pytest.raises(CheckpointError) as caught:
        Checkpoint.open(folder)
    assert "\n" not in caught.value.message
    return caught.value.message


def _edit_manifest(folder: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    path = folder / "manifest.json"
    document = json.loads(path.read_text())
    edit(document)
    path.write_text(json.dumps(document))


def _replace(folder: Path, name: str, content: bytes) -> None:
    """Changes a file and makes the manifest's size and hash right: only the content is at fault."""
    (folder / name).write_bytes(content)
    record = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    _edit_manifest(folder, lambda m: m["files"].update({name: record}))


def test_no_manifest(folder: Path) -> None:
    (folder / "manifest.json").unlink()
    assert "not a native checkpoint: no manifest.json" in refusal(folder)


def test_no_folder(tmp_path: Path) -> None:
    assert "absent is not a native checkpoint" in refusal(tmp_path / "absent")


@pytest.mark.parametrize("text", ["", "{", "[]", '"x"', "[" * 100_000])
def test_manifest_that_is_not_a_json_object(folder: Path, text: str) -> None:
    (folder / "manifest.json").write_text(text)
    assert "manifest.json is not" in refusal(folder)


def test_manifest_that_is_not_text(folder: Path) -> None:
    (folder / "manifest.json").write_bytes(b"\xff\xfe{}")
    assert "manifest.json cannot be read" in refusal(folder)


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda m: m.update(version=2), "version 2; this program reads version 1"),
        (lambda m: m.pop("version"), r"manifest\.json: version is missing"),
        (lambda m: m.update(version="1"), "version is not a whole number"),
        (lambda m: m.update(version=True), "version is not a whole number"),
        (lambda m: m.update(backend="other"), "backend 'other'"),
        (lambda m: m.pop("architecture"), "architecture is missing"),
        (lambda m: m.update(linears=[]), "linears is not an object"),
        (
            lambda m: m["linears"][NAME].pop("bits"),
            r"linears\.layers\.0\.mlp\.up_proj\.bits is missing",
        ),
        (lambda m: m["linears"][NAME].update(bits=5), "5 bits are not a native width"),
        (lambda m: m["linears"][NAME].update(scheme="log"), "scheme 'log' is not known"),
        (lambda m: m["linears"][NAME].update(shape=[4]), "shape is not a pair"),
        (lambda m: m["linears"][NAME].update(shape=[4, 0]), "shape is not a pair"),
        (lambda m: m["linears"][NAME].update(rel_err="0"), "rel_err is not a finite number"),
        (
            lambda m: m["linears"][NAME].update(rel_err=float("nan")),
            "rel_err is not a finite number",
        ),
        (lambda m: m["linears"][NAME].update(path="dense"), "dtype is missing"),
        (
            lambda m: m["linears"][NAME].update(path="dense", dtype="int8"),
            "dtype 'int8' is not known",
        ),
        (lambda m: m["linears"][NAME].update(shape=[8, 64]), "packed has shape"),
        (lambda m: m["linears"][NAME].update(scheme="affine"), "array biases is missing"),
        (lambda m: m["linears"][NAME].update(scale_dtype="fp32"), "scales has dtype float16"),
        (
            lambda m: m["linears"][NAME].update(path="dense", dtype="float32"),
            "does not belong to its scheme",
        ),
        (
            lambda m: m["linears"].update({"lm_head": m["linears"][NAME]}),
            "records lm_head, which no file holds",
        ),
        (lambda m: m["linears"].pop(NAME), "up_proj is stored but manifest.json has no record"),
        (lambda m: m["files"][LAYER].update(bytes="9"), "bytes is not a whole number"),
        (lambda m: m["files"].update({"../x": m["files"][LAYER]}), "not a plain file name"),
        (lambda m: m["files"].pop("config.json"), r"does not list config\.json"),
        (
            lambda m: m["files"][LAYER].update(bytes=1),
            r"layer_00\.safetensors has \d+ bytes instead of 1",
        ),
        (lambda m: m["files"][LAYER].update(sha256="0" * 64), r"layer_00\.safetensors is damaged"),
    ],
)
def test_manifest_fields(
    folder: Path, edit: Callable[[dict[str, Any]], object], words: str
) -> None:
    _edit_manifest(folder, edit)
    assert re.search(words, refusal(folder))


def test_missing_file(folder: Path) -> None:
    (folder / LAYER).unlink()
    assert "layer_00.safetensors is missing" in refusal(folder)


def test_truncated_file(folder: Path) -> None:
    path = folder / LAYER
    path.write_bytes(path.read_bytes()[:-1])
    assert re.search(r"layer_00\.safetensors has \d+ bytes instead of", refusal(folder))


def test_flipped_bit_is_found_by_the_hash_only(folder: Path) -> None:
    path = folder / LAYER
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    assert "layer_00.safetensors is damaged: its sha256" in refusal(folder)
    Checkpoint.open(folder, verify=False).close()


def _safetensors(header: object, data: bytes = b"") -> bytes:
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


U8_2 = {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00",
        (1 << 62).to_bytes(8, "little") + b"{}",
        (2).to_bytes(8, "little") + b"{]",
        (2).to_bytes(8, "little") + b"\xff\xff",
        _safetensors([]),
        _safetensors({"a.weight": 3}),
        _safetensors({"a.weight": {**U8_2, "dtype": "Q9"}}, b"ab"),
        _safetensors({"a.weight": {**U8_2, "shape": [3]}}, b"ab"),
        _safetensors({"a.weight": {**U8_2, "shape": [-1, -2]}}, b"ab"),
        _safetensors({"a.weight": {**U8_2, "data_offsets": [1, 3]}}, b"abc"),
        _safetensors({"a.weight": U8_2, "b.weight": U8_2}, b"ab"),
        _safetensors({"a.weight": U8_2}, b"abc"),
        _safetensors({"a.weight": U8_2}, b"a"),
    ],
)
def test_unsound_safetensors(folder: Path, content: bytes) -> None:
    _replace(folder, "norm.safetensors", content)
    reasons = "cannot be opened|is not a sound safetensors file|holds tensors of the type Q9"
    assert re.search(rf"norm\.safetensors ({reasons})", refusal(folder))


def test_vector_of_integers(folder: Path) -> None:
    _replace(folder, "norm.safetensors", _safetensors({"norm.weight": U8_2}, b"ab"))
    assert "norm.safetensors: norm.weight is not an array of floats" in refusal(folder)


def test_perm_out_of_range_never_reaches_a_kernel(folder: Path) -> None:
    arrays = {"packed": np.zeros((4, 32), np.uint8), "scales": np.ones((4, 2), np.float16)}
    arrays["perm"] = np.full(64, 1 << 30, np.int32)
    path = folder / "other.safetensors"
    save_file({f"mlp.up_proj.{name}": array for name, array in arrays.items()}, path)
    _replace(folder, LAYER, path.read_bytes())
    with (
        Checkpoint.open(folder) as checkpoint,
        pytest.raises(CheckpointError, match="perm is not a permutation"),
    ):
        checkpoint.linear(NAME)


def test_config_that_is_not_an_object(folder: Path) -> None:
    _replace(folder, "config.json", b"[]")
    assert "config.json is not a JSON object" in refusal(folder)


def test_unknown_tensors_are_refused_by_name(folder: Path) -> None:
    with Checkpoint.open(folder) as checkpoint:
        with pytest.raises(CheckpointError, match="no linear lm_head"):
            checkpoint.linear("lm_head")
        with pytest.raises(CheckpointError, match=r"no vector layers\.0\.mlp\.up_proj"):
            checkpoint.vector(NAME)


def test_manifest_round_trip_is_stable(folder: Path) -> None:
    text = (folder / "manifest.json").read_text()
    assert Manifest.from_text(text).to_text() == text


@settings(
    deadline=None, max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    name=st.sampled_from(["manifest.json", LAYER, "norm.safetensors", "config.json"]),
    place=st.floats(0, 1, exclude_max=True),
    mask=st.integers(1, 255),
    cut=st.booleans(),
)
def test_any_damaged_byte_is_an_answer_not_a_crash(
    folder: Path, name: str, place: float, mask: int, cut: bool
) -> None:
    path = folder / name
    sound = path.read_bytes()
    at = int(place * len(sound))
    path.write_bytes(
        sound[:at] if cut else sound[:at] + bytes([sound[at] ^ mask]) + sound[at + 1 :]
    )
    try:
        with suppress(CheckpointError):  # a byte of data goes unnoticed unless hashes are checked
            _open_and_read(folder)
        if name != "manifest.json":
            assert name in refusal(folder)
    finally:
        path.write_bytes(sound)


def _open_and_read(folder: Path) -> None:
    with Checkpoint.open(folder, verify=False) as checkpoint:
        checkpoint.linear(NAME)
        checkpoint.vector("norm")
