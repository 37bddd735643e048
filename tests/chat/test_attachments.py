"""The text of attached files: encodings, PDFs, and what is no text."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from app.chat.attachments import Attachment, can_attach, read_attachment, with_attachments
from app.core.errors import UsageError

TEXT = "Grüße, 你好\nzweite Zeile\n"


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32", "gb18030"]
)
def test_encodings_are_recognised(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "一 note.txt"
    mark = b"\xfe\xff" if encoding == "utf-16-be" else b""
    path.write_bytes(mark + TEXT.replace("\n", "\r\n").encode(encoding))
    assert can_attach(path)
    assert read_attachment(path) == Attachment("一 note.txt", TEXT.strip())


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1252", "Grüße aus München, für 5 €"),
        ("cp1252", "Le café était créé déjà à Noël"),
        ("gb18030", "你好,世界。这是一个测试。"),
        ("gb18030", "朱镕基 囧 and much English around two or three words"),
    ],
)
def test_what_older_programs_wrote_is_read_as_it_was_meant(
    tmp_path: Path, encoding: str, text: str
) -> None:
    path = tmp_path / "note.txt"
    path.write_bytes(text.encode(encoding))
    assert read_attachment(path).text == text


def pdf(*pages: str, filter_name: str = "") -> bytes:
    """Pages with a line each, in a standard font; said to be in a filter that they are not in."""
    writer = PdfWriter()
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    for text in pages:
        page = writer.add_blank_page(200, 200)
        fonts = DictionaryObject({NameObject("/F1"): font})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        content = DecodedStreamObject()
        content.set_data(f"BT /F1 12 Tf 20 100 Td ({text}) Tj ET".encode())
        page[NameObject("/Contents")] = writer._add_object(content)
        if filter_name:
            content[NameObject("/Filter")] = NameObject(filter_name)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def test_a_pdf_in_aes_is_refused_where_nothing_decrypts_it(tmp_path: Path) -> None:
    writer = PdfWriter(io.BytesIO(pdf("a secret of few words")))
    writer.encrypt("", algorithm="AES-256")
    path = tmp_path / "encrypted.pdf"
    writer.write(path)
    without = "import sys; sys.modules.update(dict.fromkeys(('cryptography', 'Crypto')))\n"
    code = without + (
        "from pathlib import Path; from app.chat.attachments import read_attachment\n"
        "from app.core.errors import UsageError\n"
        "try: read_attachment(Path(sys.argv[1]))\n"
        "except UsageError as error: print(error.message)\n"
    )
    command = [sys.executable, "-c", code, str(path)]
    env = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    assert "encrypted.pdf cannot be read as a PDF" in done.stdout


def test_a_pdf_is_read_page_by_page(tmp_path: Path) -> None:
    path = tmp_path / "paper.PDF"
    path.write_bytes(pdf("first page", "second page"))
    assert can_attach(path)
    assert read_attachment(path).text.split("\n\n") == ["first page", "second page"]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("picture.png", b"\x89PNG\r\n\x1a\n\x00\x00", "is no text file"),
        ("empty.txt", b" \n", "holds no text"),
        ("empty.pdf", pdf(""), "only pictures"),
        ("broken.pdf", b"%PDF-1.4 and then nothing", "cannot be read as a PDF"),
        ("unknown.pdf", pdf("x", filter_name="/Unknown"), "cannot be read as a PDF"),
        ("short.pdf", pdf("x", filter_name="/Fl"), "cannot be read as a PDF"),
        ("none.pdf", b"", "cannot be read as a PDF"),
        ("cut.txt", b"\xff\xfe\x00", "no text in an encoding"),
    ],
)
def test_what_is_no_text_is_refused_in_a_sentence(
    tmp_path: Path, name: str, content: bytes, reason: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(UsageError, match=reason) as refusal:
        read_attachment(path)
    assert "\n" not in refusal.value.message


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    with path.open("wb") as file:
        file.truncate(65 << 20)
    with pytest.raises(UsageError, match=r"log\.txt has 65.*64.*can be attached"):
        read_attachment(path)


def test_the_model_reads_files_before_the_question() -> None:
    files = [Attachment("a.txt", "one"), Attachment("b.md", "two")]
    assert with_attachments("Compare!", files) == (
        "[a.txt]\n\none\n\n[end of a.txt]\n\n[b.md]\n\ntwo\n\n[end of b.md]\n\nCompare!"
    )
    assert with_attachments("", files[:1]) == "[a.txt]\n\none\n\n[end of a.txt]"
    assert with_attachments("Hi", []) == "Hi"
