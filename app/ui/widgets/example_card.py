"""How a program asks the port: to be copied as it stands."""

from __future__ import annotations

from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from app.ui.theme import ui_font
from app.ui.widgets.card import Card
from app.ui.widgets.code_segment import CodeSegment
from app.ui.widgets.tab_strip import TabStrip, TextTab

_PYTHON = """\
{imports}from openai import OpenAI

client = OpenAI(base_url="{url}", api_key={key})
stream = client.chat.completions.create(
    model="{model}",
    messages=[{{"role": "user", "content": "Say hello in three languages."}}],
    stream=True,
)
for chunk in stream:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="")
"""
_CURL = """\
curl {url}/chat/completions \\
  -H "Content-Type: application/json" \\{auth}
  -d '{{"model": "{model}", "messages": [{{"role": "user", "content": "Say hello."}}]}}'
"""
_AUTH = '\n  -H "Authorization: Bearer $DEEPINFER_KEY" \\'
_LANGUAGES = {"python": "Python", "bash": "curl"}


class ExampleCard(Card):
    """The key itself never stands in an example: it would be pasted somewhere."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._texts = dict.fromkeys(_LANGUAGES, "")
        self._language = "python"
        self.code = CodeSegment()
        self.tabs = TabStrip(self.tr("Languages"), QHBoxLayout())
        self._build()

    def show_example(self, base_url: str, model: str, *, wants_key: bool) -> None:
        """Shows the example for this port and model."""
        key = 'os.environ["DEEPINFER_KEY"]' if wants_key else '"none"'
        imports = "import os\n\n" if wants_key else ""
        where = {"url": base_url, "model": model}
        self._texts["python"] = _PYTHON.format(**where, key=key, imports=imports)
        self._texts["bash"] = _CURL.format(**where, auth=_AUTH if wants_key else "")
        self._update()

    def _on_tab_clicked(self, position: int) -> None:
        self._language = list(_LANGUAGES)[position]
        self._update()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._update()

    def _update(self) -> None:
        """Only where it is seen: colours take an import, which the first paint must not wait
        for.
        """
        if not self.isVisible():
            return
        text = self._texts[self._language].rstrip("\n")
        if text != self.code.code:
            self.code.set_code(text, self._language, is_closed=True)

    def _build(self) -> None:
        title = QLabel(self.tr("Try it"))
        title.setFont(ui_font(1.1, bold=True))
        head = QHBoxLayout()
        head.addWidget(title, 1)
        head.addWidget(self.tabs)
        self.tabs.set_spacing(self.rows.spacing())
        for name in _LANGUAGES.values():
            self.tabs.add(TextTab(name))
        self.tabs.select(0)
        self.tabs.chosen.connect(self._on_tab_clicked)
        self.code.edit.setAccessibleName(self.tr("Example"))  # before it is seen
        self.rows.addLayout(head)
        self.rows.addWidget(self.code)
