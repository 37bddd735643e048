"""PyTorch's .bin folders: torch writes them, we read them without it."""

from __future__ import annotations

import io
import json
import os
import pickle
import sys
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from app.converter.pipeline import convert
from app.converter.sources.detect import open_source
from app.converter.sources.pickle_file import read_pickle_file
from app.core.errors import AppError, InvalidSourceError, UnsupportedError
from tests.converter.test_dense_source import hf_tensors, load, write_folder
from tests.gguf_factory import TinyModel

_MODEL = TinyModel("qwen2")
_UP = "model.layers.0.mlp.up_proj.weight"


def torch_state(dtype: str = "float32") -> dict[str, Any]:
    import torch

    tensors = {name: torch.from_numpy(array) for name, array in hf_tensors(_MODEL).items()}
    return {name: tensor.to(getattr(torch, dtype)) for name, tensor in tensors.items()}


def write_bin_folder(path: Path, state: dict[str, Any], num_files: int = 1) -> Path:
    import torch

    folder = write_folder(path, _MODEL, {})
    (folder / "model.safetensors").unlink()
    if num_files == 1:
        torch.save(state, folder / "pytorch_model.bin")
        return folder
    files = {name: f"pytorch_model-{i % num_files:05d}.bin" for i, name in enumerate(state)}
    for file in set(files.values()):
        torch.save({n: t for n, t in state.items() if files[n] == file}, folder / file)
    index = json.dumps({"weight_map": files})
    (folder / "pytorch_model.bin.index.json").write_text(index, encoding="utf-8")
    return folder


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("num_files", [1, 3])
def test_every_bit_and_the_dtype_are_kept(dtype: str, num_files: int, tmp_path: Path) -> None:
    folder = write_bin_folder(tmp_path / "hf", torch_state(dtype), num_files)
    assert convert(folder, tmp_path / "out", grid="dense").lossless
    wanted = hf_tensors(_MODEL, np.dtype(getattr(ml_dtypes, dtype, dtype)))
    for name, weight in load(tmp_path / "out").items():
        np.testing.assert_array_equal(weight, wanted[name].astype(np.float32), err_msg=name)


def test_views_are_made_contiguous(tmp_path: Path) -> None:
    """One storage for several tensors, transposed, sliced, expanded and reversed in steps."""
    import torch

    base = torch.arange(48, dtype=torch.float32).reshape(6, 8)
    views = {
        "whole": base,
        "transposed": base.t(),
        "columns": base[:, 2:5],
        "rows": base[1:4],
        "every_second": base[::2, ::3],
        "expanded": base[2:3].expand(5, 8),
        "column": base[:, 3],
        "scalar": base[4, 4],
        "empty": base[:0],
    }
    torch.save(views, tmp_path / "v.bin")
    found = read_pickle_file(tmp_path / "v.bin")
    for name, view in views.items():
        assert found[name].shape == tuple(view.shape)
        if view.numel():
            np.testing.assert_array_equal(found[name].load(), view.numpy(), err_msg=name)
    assert {found[name].path for name in views} == {tmp_path / "v.bin"}


def test_strided_weights_convert(tmp_path: Path) -> None:
    state = torch_state()
    state[_UP] = state[_UP].t().contiguous().t()
    assert not state[_UP].is_contiguous()
    convert(write_bin_folder(tmp_path / "hf", state), tmp_path / "out", grid="dense")
    np.testing.assert_array_equal(load(tmp_path / "out")[_UP], hf_tensors(_MODEL)[_UP])


def test_a_module_with_its_metadata_and_big_tables(tmp_path: Path) -> None:
    """state_dict() is an OrderedDict with attributes; 300 tensors need long memo indices."""
    import torch

    module = torch.nn.ModuleList([torch.nn.Linear(3, 2) for _ in range(150)])
    torch.save(module.state_dict(), tmp_path / "m.bin")
    found = read_pickle_file(tmp_path / "m.bin")
    assert len(found) == 300
    np.testing.assert_array_equal(found["149.weight"].load(), module[149].weight.detach().numpy())


def test_torch_is_not_needed(tmp_path: Path) -> None:
    import subprocess

    folder = write_bin_folder(tmp_path / "hf", torch_state())
    script = (
        "import sys; sys.modules['torch'] = None\n"
        "from pathlib import Path\n"
        "from app.converter.pipeline import convert\n"
        f"convert(Path({str(folder)!r}), Path({str(tmp_path / 'out')!r}), grid='dense')\n"
    )
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", script], check=True, cwd=root, timeout=120)
    np.testing.assert_array_equal(load(tmp_path / "out")[_UP], hf_tensors(_MODEL)[_UP])


class _Bomb:
    """What a hostile file does on load."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("echo it ran",)


def write_archive(path: Path, pickled: bytes, members: dict[str, bytes] | None = None) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/data.pkl", pickled)
        for name, content in (members or {}).items():
            archive.writestr(f"a/{name}", content)
    return path


def _text(word: bytes) -> bytes:
    return b"X" + len(word).to_bytes(4, "little") + word


def storage_pickle(arguments: bytes) -> bytes:
    """A dictionary {"w": _rebuild_tensor_v2(float storage "0" of 4, `arguments`)}."""
    kind, key, location = (_text(word) for word in (b"storage", b"0", b"cpu"))
    storage = b"(" + kind + b"ctorch\nFloatStorage\n" + key + location + b"K\x04tQ"
    rebuild = b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + arguments
    return b"\x80\x02}" + _text(b"w") + rebuild + b"tRs."


_DATA = {"data/0": np.arange(4, dtype=np.float32).tobytes()}
_SIZE_4_STEP_1 = b"K\x00K\x04\x85K\x01\x85\x89}"


def test_the_handmade_pickle_is_read(tmp_path: Path) -> None:
    path = write_archive(tmp_path / "a.bin", storage_pickle(_SIZE_4_STEP_1), _DATA)
    np.testing.assert_array_equal(read_pickle_file(path)["w"].load(), [0, 1, 2, 3])


@pytest.mark.parametrize(
    ("pickled", "error", "reason"),
    [
        (pickle.dumps(_Bomb(), 2), UnsupportedError, r"asks for (posix|nt)\.system"),
        (pickle.dumps({"w": _Bomb()}, 2), UnsupportedError, r"asks for (posix|nt)\.system"),
        (pickle.dumps({"w": np.zeros(3)}, 2), UnsupportedError, r"asks for numpy"),
        (pickle.dumps({"w": {1, 2}}, 4), UnsupportedError, "opcode FRAME"),
        (pickle.dumps([1, 2], 2), UnsupportedError, "opcode EMPTY_LIST"),
        (pickle.dumps(OrderedDict(a=3), 2), UnsupportedError, "holds 'a', which is no tensor"),
        (pickle.dumps(7, 2), UnsupportedError, "no dictionary of tensors"),
        (b"\x80\x02cbuiltins\neval\n.", UnsupportedError, r"asks for builtins\.eval"),
        (b"\x80\x02ctorch.storage\nUntypedStorage\n.", UnsupportedError, "UntypedStorage"),
        (storage_pickle(b"K\x00K\x05\x85K\x01\x85"), InvalidSourceError, "beyond its storage"),
        (storage_pickle(b"K\x01K\x04\x85K\x01\x85"), InvalidSourceError, "beyond its storage"),
        (storage_pickle(b"K\x00K\x04\x85K\x02\x85"), InvalidSourceError, "beyond its storage"),
        (storage_pickle(b"J\xff\xff\xff\xffK\x01\x85K\x01\x85"), InvalidSourceError, "beyond"),
        (storage_pickle(b"K\x04K\x04\x85J\xff\xff\xff\xff\x85"), InvalidSourceError, "beyond"),
        (storage_pickle(b"K\x00K\x04\x85"), InvalidSourceError, "damaged"),
        (b"\x80\x02h\x05.", InvalidSourceError, "damaged"),
        (b"\x80\x02tR.", InvalidSourceError, "damaged"),
        (b"\x80\x02}", InvalidSourceError, "damaged"),
        (b"", InvalidSourceError, "damaged"),
    ],
)
def test_hostile_and_damaged_pickles(
    pickled: bytes,
    error: type[AppError],
    reason: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    path = write_archive(tmp_path / "a.bin", pickled, _DATA)
    with pytest.raises(error, match=reason):
        read_pickle_file(path)
    assert "it ran" not in capfd.readouterr().out


def test_the_bomb_is_armed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pickle.loads(pickle.dumps(_Bomb(), 2))
    assert "it ran" in capfd.readouterr().out


def _compress(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/data.pkl", storage_pickle(_SIZE_4_STEP_1))
        archive.writestr("a/data/0", _DATA["data/0"])


def _legacy(path: Path) -> None:
    import torch

    torch.save({"w": torch.zeros(3)}, path, _use_new_zipfile_serialization=False)


@pytest.mark.parametrize(
    ("write", "error", "reason"),
    [
        (_compress, UnsupportedError, "compressed tensors"),
        (_legacy, UnsupportedError, "before version 1.6"),
        (lambda path: path.write_bytes(b"PK\x03\x04 cut"), InvalidSourceError, "cut off"),
        (lambda path: path.write_bytes(b""), InvalidSourceError, "no PyTorch file"),
        (lambda path: zipfile.ZipFile(path, "w").close(), InvalidSourceError, "no usable data.pkl"),
        (
            lambda path: write_archive(path, b"\x80\x02}.", {"byteorder": b"big"}),
            UnsupportedError,
            "big-endian",
        ),
        (
            lambda path: write_archive(path, storage_pickle(_SIZE_4_STEP_1)),
            InvalidSourceError,
            "beyond its storage",
        ),
    ],
)
def test_files_that_are_refused(
    write: Callable[[Path], Any], error: type[AppError], reason: str, tmp_path: Path
) -> None:
    write(tmp_path / "a.bin")
    with pytest.raises(error, match=reason):
        read_pickle_file(tmp_path / "a.bin")


def test_a_truncated_file(tmp_path: Path) -> None:
    folder = write_bin_folder(tmp_path / "hf", torch_state())
    path = folder / "pytorch_model.bin"
    content = path.read_bytes()
    for length in range(0, len(content), len(content) // 20):
        path.write_bytes(content[:length])
        with pytest.raises(InvalidSourceError):
            open_source(folder)


def test_random_changes_never_escape(tmp_path: Path) -> None:
    """Whatever is flipped in the pickle: tensors within the file, or one sentence."""
    import torch

    torch.save({"w": torch.arange(6.0).reshape(2, 3), "v": torch.zeros(4)}, tmp_path / "a.bin")
    with zipfile.ZipFile(tmp_path / "a.bin") as archive:
        names = {info.filename.partition("/")[2]: info.filename for info in archive.infolist()}
        pickled = bytearray(archive.read(names["data.pkl"]))
        data = {n: archive.read(names[n]) for n in names if n.startswith("data/")}
    rng = np.random.default_rng(0)
    for _ in range(400):
        changed = bytearray(pickled)
        for place in rng.integers(0, len(changed), rng.integers(1, 4)):
            changed[place] = rng.integers(0, 256)
        path = write_archive(tmp_path / "b.bin", bytes(changed), data)
        try:
            found = read_pickle_file(path)
        except AppError:
            continue
        for tensor in found.values():
            assert tensor.offset + tensor.num_bytes <= path.stat().st_size or tensor.strides
            tensor.load()


def test_memory_stays_bounded_whatever_the_memo_says(tmp_path: Path) -> None:
    """LONG_BINPUT with the index 2 ** 32 - 1 makes other unpicklers allocate that many slots."""
    pickled = io.BytesIO()
    pickled.write(b"\x80\x02}r\xff\xff\xff\xff.")
    path = write_archive(tmp_path / "a.bin", pickled.getvalue())
    assert read_pickle_file(path) == {}
