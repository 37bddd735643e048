"""The starter model with fewer layers: real weights, at a size that fibers can run."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

from app.checkpoint.manifest import MANIFEST_NAME, Manifest
from app.checkpoint.tensor_file import hash_file


def cut_layers(source: Path, target: Path, num_layers: int) -> Path:
    """A native checkpoint of the first layers of another; embedding, norm and head stay."""
    target.mkdir()
    manifest = Manifest.from_text((source / MANIFEST_NAME).read_text("utf-8"))
    config = json.loads((source / "config.json").read_text("utf-8"))
    dropped = {f"layers.{index}." for index in range(num_layers, config["num_hidden_layers"])}
    dropped_files = {f"layer_{name[7:-1].zfill(2)}.safetensors" for name in dropped}
    for name in manifest.files.keys() - dropped_files:
        shutil.copy(source / name, target)
    config_text = json.dumps({**config, "num_hidden_layers": num_layers})
    (target / "config.json").write_text(config_text, "utf-8")
    kept = replace(
        manifest,
        linears={
            name: record
            for name, record in manifest.linears.items()
            if not name.startswith(tuple(dropped))
        },
        files={name: hash_file(target / name) for name in manifest.files.keys() - dropped_files},
    )
    (target / MANIFEST_NAME).write_text(kept.to_text(), "utf-8")
    return target
