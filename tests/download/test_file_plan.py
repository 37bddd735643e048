"""Only what is needed, shards together."""

from __future__ import annotations

import pytest

from app.core.errors import InvalidSourceError, UsageError
from app.download.file_plan import choose, list_choices
from app.hub.repository import RemoteFile, Repository


def _repository(*paths: str) -> Repository:
    files = tuple(RemoteFile(path, 10, path, True) for path in paths)
    return Repository("org/name", "0" * 40, files, gated=False, license="", downloads=0)


def _names(*paths: str) -> list[list[str]]:
    return [[file.path for file in plan.files] for plan in list_choices(_repository(*paths))]


def test_safetensors_make_other_weights_needless() -> None:
    texts = ["config.json", "tokenizer.json", "chat_template.jinja", "merges.txt"]
    weights = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    index = "model.safetensors.index.json"
    more = ["pytorch_model.bin", "consolidated.safetensors", "README.md", "modeling.py", "a.gguf"]
    more += ["original/config.json", "onnx/model.onnx", ".gitattributes", "tf_model.h5"]
    assert _names(*texts, index, *weights, *more) == [[*texts, index, *weights]]


def test_pytorch_weights_where_there_are_no_others() -> None:
    assert _names("config.json", "pytorch_model.bin", "training_args.bin") == [
        ["config.json", "pytorch_model.bin"]
    ]


def test_shards_of_a_gguf_belong_together() -> None:
    shards = [f"Q8_0/M-Q8_0-0000{number}-of-00002.gguf" for number in (1, 2)]
    names = ("M-Q4_K_M.gguf", *shards, "mmproj-M-F16.gguf", "M.imatrix.gguf")
    assert _names(*names) == [["M-Q4_K_M.gguf"], shards]
    plan = choose(_repository(*names), "Q8_0")
    assert [file.path for file in plan.files] == shards
    assert (plan.main, plan.num_bytes) == (shards[0], 20)
    assert choose(_repository(*names), shards[1]) == plan


@pytest.mark.parametrize("wanted", ["Q4_K_M", "q4_k_m", "M-Q4_K_M", "M-Q4_K_M.gguf"])
def test_names_of_a_quantization(wanted: str) -> None:
    repository = _repository("M-Q4_K_M.gguf", "M-IQ4_K_M.gguf", "M-Q4_K_S.gguf")
    assert choose(repository, wanted).main == "M-Q4_K_M.gguf"


def test_a_name_of_several_is_refused_with_them() -> None:
    repository = _repository("a-Q4_0.gguf", "b-Q4_0.gguf", "b-Q8_0.gguf")
    with pytest.raises(UsageError, match=r"several files .* it has a-Q4_0, b-Q4_0\.$"):
        choose(repository, "Q4_0")


def test_one_file_of_a_folder_is_not_a_model() -> None:
    repository = _repository("config.json", "model.safetensors")
    with pytest.raises(UsageError, match="`deepinfer pull org/name` fetches all"):
        choose(repository, "model.safetensors")


def test_a_repository_without_weights() -> None:
    with pytest.raises(InvalidSourceError, match="no weights that this program reads"):
        list_choices(_repository("README.md", "adapter.pt"))
