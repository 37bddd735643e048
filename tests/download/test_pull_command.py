"""`deepinfer pull`: judged, fetched, verified, and taken by `convert` as it lies."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from huggingface_hub import constants, try_to_load_from_cache

from app.cli.main import main
from app.converter.sources.detect import open_source
from app.core.paths import home_dir
from app.core.room import SPARE_BYTES
from tests.gguf_factory import TinyModel, to_gguf_tensors, write_gguf
from tests.hub.fake_hub import COMMIT, FakeHub
from tests.hub.pulling import TOKEN, run
from tests.tiny_models import create_tiny_model, tokenizer_files

GGUF, FOLDER = "org/Tiny-GGUF", "org/Tiny"


@pytest.fixture
def ggufs(tmp_path: Path) -> dict[str, bytes]:
    """Two quantizations of a tiny model."""
    written = tmp_path / "written.gguf"
    model = TinyModel()
    write_gguf(written, model, to_gguf_tensors(model, model.weights()))
    content = written.read_bytes()
    return {"Tiny-Q8_0.gguf": content, "Tiny-Q4_0.gguf": content + bytes(32)}


@pytest.fixture
def hub(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ggufs: dict[str, bytes]
) -> Iterator[FakeHub]:
    """A folder, and a repository of quantizations; the cache is empty."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    with FakeHub().running() as hub:
        hub.add(GGUF, {"README.md": b"read", **ggufs}, cardData={"license": "mit"})
        yield hub


def _pull(hub: FakeHub, *arguments: str) -> int:
    """In this process; the address names the hub."""
    return main(["pull", f"{hub.endpoint}/{arguments[0]}", *arguments[1:]])


def test_several_quantizations_are_a_choice(
    hub: FakeHub, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _pull(hub, GGUF) == 2
    shown = capsys.readouterr()
    for name, size in (("Tiny-Q8_0", "B"), ("Tiny-Q4_0", "B")):
        command = f"deepinfer pull {hub.endpoint}/{GGUF}:{name}.gguf"
        row = next(line for line in shown.out.splitlines() if line.endswith(command))
        assert size in row
        assert "tokens" in row
    assert shown.err == (
        f"deepinfer: {GGUF} has 2 models to choose from; name one, or take --auto.\n"
    )


def test_auto_takes_the_largest_that_fits(hub: FakeHub, capsys: pytest.CaptureFixture[str]) -> None:
    assert _pull(hub, GGUF, "--auto", "--json") == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["files"][0]["path"] == "Tiny-Q4_0.gguf"  # 32 bytes larger
    assert len(hub.sent("Tiny-Q8_0.gguf")) == 1, "the verdict is read from the smallest"


def test_auto_refuses_what_does_not_run(hub: FakeHub, capsys: pytest.CaptureFixture[str]) -> None:
    config = b'{"architectures": ["MambaForCausalLM"], "model_type": "mamba"}'
    hub.add(FOLDER, {"config.json": config, "model.safetensors": b"weights"})
    assert _pull(hub, FOLDER, "--auto") == 1
    assert "MambaForCausalLM is not supported" in capsys.readouterr().err


def test_room_for_the_conversion_is_counted(
    hub: FakeHub,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    size = len(hub.repos[GGUF]["Tiny-Q8_0.gguf"].content)
    monkeypatch.setattr("app.core.room.free_bytes", lambda _folder: SPARE_BYTES + size + 1000)
    assert _pull(hub, f"{GGUF}:Q8_0") == 1
    assert "for the files + " in (message := capsys.readouterr().err.splitlines()[-1])
    assert "for its conversion)" in message
    # Who names a folder of his own may convert elsewhere.
    assert _pull(hub, f"{GGUF}:Q8_0", "--to", str(tmp_path / "plain")) == 0


def test_a_choice_is_a_document_too(hub: FakeHub, capsys: pytest.CaptureFixture[str]) -> None:
    assert _pull(hub, GGUF, "--json") == 2
    choices = json.loads(capsys.readouterr().out)["choices"]
    assert [choice["file"] for choice in choices] == ["Tiny-Q4_0.gguf", "Tiny-Q8_0.gguf"]
    assert choices[0]["verdict"]["status"] == "convert"
    assert choices[0]["fit"][0]["grid"] == "exact"
    # The command that is printed is understood.
    assert main([*choices[1]["command"].split()[1:], "--json"]) == 0


def test_a_gguf_arrives_and_is_converted(
    hub: FakeHub, ggufs: dict[str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _pull(hub, f"{GGUF}:q8_0", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    content = ggufs["Tiny-Q8_0.gguf"]
    assert document["repo"] == GGUF
    assert document["revision"] == COMMIT
    digest = hashlib.sha256(content).hexdigest()
    assert document["files"] == [
        {"path": "Tiny-Q8_0.gguf", "bytes": len(content), "sha256": digest}
    ]
    assert document["resumed_bytes"] == 0
    assert document["seconds"] > 0
    cached = try_to_load_from_cache(GGUF, "Tiny-Q8_0.gguf")
    assert cached == document["path"], "others find it in the standard cache"
    assert main(["convert", document["path"], "-o", str(tmp_path / "native")]) == 0


def test_a_second_pull_fetches_nothing(hub: FakeHub, capsys: pytest.CaptureFixture[str]) -> None:
    assert _pull(hub, f"{GGUF}:Q8_0", "--json") == 0
    first = json.loads(capsys.readouterr().out)
    num_answers = len(hub.sent("Q8_0.gguf"))
    assert _pull(hub, f"{GGUF}:Tiny-Q8_0.gguf", "--json") == 0
    second = json.loads(capsys.readouterr().out)
    assert second["files"] == first["files"]
    assert second["resumed_bytes"] == first["files"][0]["bytes"]
    # One more: the start of the file, for the verdict.
    assert len(hub.sent("Q8_0.gguf")) == num_answers + 1


def test_bytes_that_the_cache_has_are_linked(hub: FakeHub, tmp_path: Path) -> None:
    assert _pull(hub, f"{GGUF}:Q8_0") == 0
    snapshots = next((tmp_path / "cache").rglob("snapshots"))
    shutil.rmtree(snapshots)
    num_answers = len(hub.sent("Q8_0.gguf"))
    assert _pull(hub, f"{GGUF}:Q8_0") == 0
    assert len(hub.sent("Q8_0.gguf")) == num_answers + 1, "the start, for the verdict"
    assert (snapshots / COMMIT / "Tiny-Q8_0.gguf").is_symlink()


def test_without_links_a_file_lies_once(
    hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_SYMLINKS", True)
    assert _pull(hub, f"{GGUF}:Q8_0") == 0
    cached = try_to_load_from_cache(GGUF, "Tiny-Q8_0.gguf")
    large = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert [path for path in large if path.stat().st_size > 10_000] == [Path(str(cached))]


def test_a_folder_brings_what_is_needed(
    hub: FakeHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "source"
    model = create_tiny_model("qwen3")
    model.save_pretrained(source)
    names = {path.name for path in source.iterdir()}
    files = {path.name: path.read_bytes() for path in source.iterdir()}
    more = {"pytorch_model.bin": b"twice", "README.md": b"read", "onnx/model.onnx": b"no"}
    hub.add(FOLDER, files | more, gated="auto")
    assert _pull(hub, FOLDER, "--to", str(tmp_path / "plain"), "--json") == 0
    shown = capsys.readouterr()
    assert "No licence is named; 7 downloads last month; gated, so its terms" in shown.err
    assert json.loads(shown.out)["path"] == str(tmp_path / "plain")
    assert {path.name for path in (tmp_path / "plain").iterdir()} == names
    for name, content in files.items():
        assert (tmp_path / "plain" / name).read_bytes() == content


def test_a_folder_in_the_cache_is_converted(
    hub: FakeHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "source"
    create_tiny_model("qwen3").save_pretrained(folder)
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    texts = {name: text.encode() for name, text in tokenizer_files().items()}
    hub.add(FOLDER, files | texts)
    assert _pull(hub, FOLDER, "--json") == 0
    path = Path(json.loads(capsys.readouterr().out)["path"])
    assert (path / "config.json").is_symlink()
    with closing(open_source(path)) as source:
        assert source.name == "Tiny", "not the commit, which is the folder's name"
    assert main(["convert", str(path), "-o", str(tmp_path / "native"), "--grid", "dense"]) == 0


def test_a_foreign_file_in_the_folder_is_left_alone(
    hub: FakeHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "plain" / "Tiny-Q8_0.gguf"
    mine.parent.mkdir()
    mine.write_bytes(b"mine")
    assert _pull(hub, f"{GGUF}:Q8_0", "--to", str(mine.parent)) == 2
    assert "is there already, and it is not the file of" in capsys.readouterr().err
    assert mine.read_bytes() == b"mine"


def test_what_does_not_run_is_not_fetched(hub: FakeHub, capsys: pytest.CaptureFixture[str]) -> None:
    config = b'{"architectures": ["MambaForCausalLM"], "model_type": "mamba"}'
    hub.add(FOLDER, {"config.json": config, "model.safetensors": b"weights"})
    assert _pull(hub, FOLDER) == 1
    message = capsys.readouterr().err
    assert message == (
        "deepinfer: Nothing was fetched: The architecture MambaForCausalLM is not supported.\n"
    )
    assert hub.sent("model.safetensors") == []


def test_a_file_beyond_plain_http_is_refused(
    hub: FakeHub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(constants, "MAX_HTTP_DOWNLOAD_SIZE", 10_000)
    assert _pull(hub, f"{GGUF}:Q8_0") == 1
    assert "Tiny-Q8_0.gguf is larger than 9.8 KiB" in capsys.readouterr().err


def test_a_small_disk_is_refused_with_numbers(
    hub: FakeHub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    usage = shutil.disk_usage("/")._replace(free=1 << 20)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage)
    assert _pull(hub, f"{GGUF}:Q8_0") == 1
    message = capsys.readouterr().err.splitlines()[-1]
    assert message.startswith("deepinfer: The download needs ")
    assert message.endswith("has 1.0 MiB free.")
    assert [request.sent for request in hub.sent("Q8_0.gguf")] == [
        len(hub.repos[GGUF]["Tiny-Q8_0.gguf"].content)
    ], "the start of the file for the verdict, nothing else"


def test_silence_is_called_a_stall(
    hub: FakeHub,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_DOWNLOAD_TIMEOUT", 2)
    monkeypatch.setattr("app.download.progress.STALLED_AFTER_S", 0.5)
    create_tiny_model("qwen3").save_pretrained(tmp_path / "source")
    hub.add(FOLDER, {path.name: path.read_bytes() for path in (tmp_path / "source").iterdir()})
    hub.faults.silences = [5_000]
    assert _pull(hub, FOLDER) == 0
    shown = capsys.readouterr().err
    assert re.search(r"^stalled: .* no byte for \d s; after 2 s the", shown, re.MULTILINE)
    assert re.search(r"^downloading: 100% ", shown, re.MULTILINE)


def test_the_token_stays_with_its_host_and_out_of_the_log(hub: FakeHub, tmp_path: Path) -> None:
    done = run(hub, tmp_path / "hf", "pull", f"{GGUF}:Q8_0", "--json")
    assert done.returncode == 0, done.stderr
    by_host: dict[str, set[str | None]] = {}
    for request in hub.requests:
        by_host.setdefault(f"http://{request.host}", set()).add(request.authorization)
    assert by_host == {hub.endpoint: {f"Bearer {TOKEN}"}, hub.store: {None}}
    texts = [done.stdout, done.stderr]
    texts += [path.read_text(encoding="utf-8") for path in home_dir().rglob("*.log")]
    assert not any(TOKEN in text for text in texts)
    assert not any("agent" in request.path for request in hub.requests), "no telemetry"


def test_another_hub_that_is_typed_gets_no_token(
    hub: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert _pull(hub, f"{GGUF}:Q8_0") == 0
    assert {request.authorization for request in hub.requests} == {None}


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        (
            "two words",
            "two words is not the name of a repository (org/name); `deepinfer search two words` "
            "looks for one.",
        ),
        (f"{GGUF}:Q5_K", "'Q5_K' names nothing in org/Tiny-GGUF; it has Tiny-Q4_0, Tiny-Q8_0."),
        (f"{GGUF}:Tiny", "'Tiny' names nothing in org/Tiny-GGUF; it has Tiny-Q4_0, Tiny-Q8_0."),
    ],
)
def test_what_cannot_be_meant(
    hub: FakeHub, capsys: pytest.CaptureFixture[str], reference: str, message: str
) -> None:
    address = reference if " " in reference else f"{hub.endpoint}/{reference}"
    assert main(["pull", address]) == 2
    assert capsys.readouterr().err == f"deepinfer: {message}\n"
