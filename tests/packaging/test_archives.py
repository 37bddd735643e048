"""What is published, unpacked and read by others' tools."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest
from bundling.archives import make_app_dir, write_checksums, write_tar, write_zip
from bundling.installer import SCRIPT, definitions

from app.gui import create_application


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A program with a library and a link to it."""
    folder = tmp_path / "dist" / "DeepInfer"
    inner = folder / "_internal"
    inner.mkdir(parents=True)
    for name in ("deepinfer", "deepinfer-desktop"):
        (folder / name).write_text(f'#!/bin/sh\necho {name} "$@"\n')
        (folder / name).chmod(0o755)
    (inner / "LICENSE").write_text("terms\n" * 500)
    (inner / "model.gguf").write_bytes(b"GGUF" + bytes(5000))
    (inner / "link.so").symlink_to("model.gguf")
    return folder


def test_the_zip_is_portable(bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    first, second = (write_zip(bundle, tmp_path / name) for name in ("a.zip", "b.zip"))
    assert first.read_bytes() == second.read_bytes()
    with zipfile.ZipFile(first) as archive:
        assert archive.testzip() is None
        assert "DeepInfer/portable.txt" in archive.namelist()
        assert archive.read("DeepInfer/_internal/LICENSE") == b"terms\n" * 500
        assert archive.getinfo("DeepInfer/_internal/model.gguf").compress_type == zipfile.ZIP_STORED


@pytest.fixture
def app_dir(bundle: Path, tmp_path: Path) -> Path:
    """In a place with everything that a shell takes amiss."""
    icon = tmp_path / "256.png"
    icon.write_bytes(b"png")
    return make_app_dir(bundle, icon, tmp_path / 'a "b" $c 用户' / "DeepInfer")


def test_the_tar_keeps_links_and_modes(app_dir: Path, tmp_path: Path) -> None:
    target = write_tar(app_dir, tmp_path / "x.tar.gz")
    with tarfile.open(target) as archive:
        owners = {(member.uname, member.uid) for member in archive.getmembers()}
        archive.extractall(tmp_path / "unpacked", filter="data")
    assert owners == {("root", 0)}
    folder = tmp_path / "unpacked" / "DeepInfer"
    said = subprocess.run([folder / "AppRun", "a b"], capture_output=True, text=True, check=True)
    assert said.stdout == "deepinfer-desktop a b\n"
    assert (folder / "usr/lib/DeepInfer/_internal/link.so").is_symlink()


def _run_install(app_dir: Path, home: Path, *words: str) -> None:
    env = {"HOME": str(home), "PATH": os.environ["PATH"]}
    subprocess.run([app_dir / "install.sh", *words], env=env, check=True, capture_output=True)


def test_it_installs_for_one_user_and_leaves_without_a_trace(app_dir: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    _run_install(app_dir, home)
    said = subprocess.run(
        [home / ".local/bin/deepinfer", "x"], capture_output=True, text=True, check=True
    )
    assert said.stdout == "deepinfer x\n"
    entry = home / ".local/share/applications/deepinfer.desktop"
    line = next(one for one in entry.read_text().splitlines() if one.startswith("Exec="))
    # Values are unescaped as strings first, then as words in quotation marks.
    words = line.removeprefix("Exec=").replace("\\\\", "\\")
    quoted = re.match(r'"((?:[^"\\]|\\.)*)" %f$', words)
    assert quoted is not None
    program = re.sub(r"\\(.)", r"\1", quoted.group(1))
    assert Path(program) == app_dir / "usr/lib/DeepInfer/deepinfer-desktop"
    _run_install(app_dir, home, "--remove")
    left = [path for path in home.rglob("deepinfer*") if path.is_file() or path.is_symlink()]
    assert left == []


def test_the_desktop_entry_is_valid_and_opens_gguf(app_dir: Path) -> None:
    entry = app_dir / "deepinfer.desktop"
    if tool := shutil.which("desktop-file-validate"):
        said = subprocess.run([tool, entry], capture_output=True, text=True, check=False)
        assert (said.returncode, said.stdout) == (0, "")
    space = "{http://www.freedesktop.org/standards/shared-mime-info}"
    tree = ElementTree.parse(app_dir / "usr/share/mime/packages/deepinfer.xml")
    kind = tree.find(f"{space}mime-type")
    assert kind is not None
    assert f"MimeType={kind.get('type')};" in entry.read_text(encoding="utf-8")
    assert f"StartupWMClass={create_application().applicationName()}" in entry.read_text("utf-8")
    pattern = kind.find(f"{space}glob")
    assert pattern is not None
    assert pattern.get("pattern") == "*.gguf"


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="sha256sum is not here")
def test_sha256sum_checks_the_sums(tmp_path: Path) -> None:
    files = [tmp_path / "b.zip", tmp_path / "a.exe"]
    for path in files:
        path.write_text(path.name)
    write_checksums(files, tmp_path / "SHA256SUMS")
    command = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    files[0].write_text("other")
    assert subprocess.run(command, cwd=tmp_path, check=False, capture_output=True).returncode


def test_what_the_installer_is_told(bundle: Path, tmp_path: Path) -> None:
    told = definitions(bundle, tmp_path / "app.ico", "1.2.3rc1", tmp_path / "setup.exe")
    assert (told["VERSION"], told["NUMBERS"], told["SIZE_KB"]) == ("1.2.3rc1", "1.2.3.0", "8")
    assert told["SOURCE"] == str(bundle)
    script = SCRIPT.read_text(encoding="utf-8")
    assert [name for name in told if f"${{{name}}}" not in script] == []


def test_the_uninstaller_removes_nothing_but_the_program() -> None:
    script = SCRIPT.read_text(encoding="utf-8")
    recursive = [line.split()[-1] for line in script.splitlines() if "RMDir /r" in line]
    assert recursive == ['"$INSTDIR\\_internal"']
    assert "RequestExecutionLevel user" in script
    assert "HKLM" not in script


def test_no_jump_counts_instructions() -> None:
    """A macro is several: a jump over one of them lands within, and did what nobody asked for."""
    script = SCRIPT.read_text(encoding="utf-8")
    assert re.findall(r"^ *(?:If|StrCmp|IntCmp|Goto).*\s[+-]\d.*$", script, re.MULTILINE) == []
