"""The Settings page: every setting that the schema declares, a card per topic."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget

from app.core.settings import SETTING_FIELDS, Topic
from app.core.settings_store import SettingsStore
from app.ui.sentences import shown
from app.ui.theme import set_role, ui_font
from app.ui.widgets.card import Card
from app.ui.widgets.flow_layout import FlowLayout
from app.ui.widgets.page_column import PageColumn
from app.ui.widgets.setting_row import SettingRow
from app.ui.widgets.tab_strip import TabStrip, TextTab


class SettingsPage(QWidget):
    """What is changed is saved at once.

    Signals:
        changed(str): the name of a setting that the user changed.
    """

    changed = Signal(str)

    def __init__(self, settings: SettingsStore, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("page")
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self._settings = settings
        self.rows: dict[str, SettingRow] = {}
        self.cards = {topic: self._create_card(topic) for topic in Topic if topic}
        self.problem = QLabel()
        self.topics = TabStrip(self.tr("Topics"), FlowLayout(6))
        self.topics.chosen.connect(self._on_topic_chosen)
        self._column = PageColumn()
        self._build()
        self.show_topic(Topic.APPEARANCE)
        self.refresh()

    def refresh(self) -> None:
        """Shows what the settings are now."""
        for name, row in self.rows.items():
            row.set_value(getattr(self._settings.values, name))

    def show_topic(self, topic: Topic) -> None:
        """Brings a topic's card to the front."""
        for other, card in self.cards.items():
            card.setVisible(other is topic)
        self.topics.select(list(self.cards).index(topic))
        self._column.scroll_to_top()

    def take_over(self, old: SettingsPage) -> None:
        """Shows the topic that `old` shows."""
        self.show_topic(next(t for t, card in old.cards.items() if not card.isHidden()))
        self._column.take_over(old._column)

    def add_to_topic(self, topic: Topic, widget: QWidget) -> None:
        """Shows something that is no setting of the schema below those of a topic."""
        self.cards[topic].rows.insertWidget(self.cards[topic].rows.count() - 1, widget)

    def flush(self) -> None:
        """Saves at once what was typed a moment ago."""
        for row in self.rows.values():
            row.flush()

    def _on_topic_chosen(self, position: int) -> None:
        self.show_topic(list(self.cards)[position])

    def _on_row_changed(self, name: str, value: object) -> None:
        self._save({name: value})

    def _on_reset_clicked(self, topic: Topic) -> None:
        declared = [field for field in SETTING_FIELDS.values() if field.metadata["topic"] is topic]
        self._save({field.name: field.default for field in declared})
        self.refresh()

    def _save(self, changes: dict[str, object]) -> None:
        num_notes = len(self._settings.notes)
        self._settings.update(**changes)
        self.problem.setText("\n".join(map(shown, self._settings.notes[num_notes:])))
        self.problem.setVisible(bool(self.problem.text()))
        for name in changes:
            self.changed.emit(name)

    def _create_card(self, topic: Topic) -> Card:
        card = Card(self._title(topic))
        card.rows.setSpacing(18)
        for declared in SETTING_FIELDS.values():
            if declared.metadata["topic"] is topic:
                row = SettingRow(declared)
                row.changed.connect(self._on_row_changed)
                self.rows[declared.name] = row
                card.rows.addWidget(row)
        reset = QPushButton(self.tr("Reset to defaults"))
        set_role(reset, "kind", "link")
        reset.clicked.connect(lambda: self._on_reset_clicked(topic))
        card.rows.addWidget(reset, alignment=Qt.AlignmentFlag.AlignLeft)
        return card

    def _title(self, topic: Topic) -> str:
        return {
            Topic.APPEARANCE: self.tr("Appearance"),
            Topic.MODELS: self.tr("Models"),
            Topic.REPLIES: self.tr("New conversations"),
            Topic.DOWNLOADS: self.tr("Downloads"),
        }.get(topic, topic.value.capitalize())

    def _build(self) -> None:
        title = QLabel(self.tr("Settings"))
        title.setFont(ui_font(1.8, bold=True))
        set_role(self.problem, "tone", "danger")
        self.problem.setWordWrap(True)
        self.problem.hide()
        for topic in self.cards:
            self.topics.add(TextTab(self._title(topic)))
        rows = self._column.rows
        rows.addWidget(title)
        rows.addWidget(self.topics)
        rows.addWidget(self.problem)
        for card in self.cards.values():
            rows.addWidget(card)
        self._column.close_rows()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._column)
