"""Icons: line drawings in `resources/icons`, tinted with the theme's colours at any pixel ratio."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QBuffer, QByteArray, QEvent, QSize, Qt
from PySide6.QtGui import QGuiApplication, QIcon, QImageReader, QPixmap, QPixmapCache
from PySide6.QtWidgets import QLabel, QToolButton, QWidget

from app.core.paths import resources_dir
from app.ui.accessible import ButtonInterface
from app.ui.theme import current_tokens, set_role


@lru_cache(maxsize=64)
def _svg(name: str) -> str:
    return (resources_dir() / "icons" / f"{name}.svg").read_text(encoding="utf-8")


def render_icon(name: str, colour: str, size: int) -> QPixmap:
    """The icon `size` device-independent pixels wide, sharp on the densest screen."""
    ratio = QGuiApplication.instance().devicePixelRatio()  # type: ignore[union-attr]
    key, pixmap = f"icon {name} {colour} {size} {ratio}", QPixmap()
    if QPixmapCache.find(key, pixmap):  # each button is styled several times while it is made
        return pixmap
    data = QByteArray(_svg(name).replace("currentColor", colour).encode())
    buffer = QBuffer(data)
    reader = QImageReader(buffer, QByteArray(b"svg"))
    reader.setScaledSize(QSize(round(size * ratio), round(size * ratio)))
    pixmap = QPixmap.fromImageReader(reader)
    pixmap.setDevicePixelRatio(ratio)
    QPixmapCache.insert(key, pixmap)
    return pixmap


def create_icon(
    name: str, *, size: int = 20, tone: str = "muted", checked_tone: str = "accent"
) -> QIcon:
    """An icon in the colour of the token `tone`; `checked_tone` while its button is checked."""
    tokens = current_tokens()
    icon = QIcon()
    icon.addPixmap(
        render_icon(name, getattr(tokens, tone), size), QIcon.Mode.Normal, QIcon.State.Off
    )
    icon.addPixmap(
        render_icon(name, getattr(tokens, checked_tone), size), QIcon.Mode.Normal, QIcon.State.On
    )
    icon.addPixmap(
        render_icon(name, tokens.control_border, size), QIcon.Mode.Disabled, QIcon.State.Off
    )
    return icon


class IconButton(QToolButton):
    """A button that is an icon; `label` is its tool tip and what a screen reader says."""

    def __init__(
        self,
        icon_name: str,
        label: str,
        parent: QWidget | None = None,
        *,
        size: int = 20,
        tone: str = "muted",
        checked_tone: str = "accent",
    ) -> None:
        super().__init__(parent)
        self._icon_name, self._size = icon_name, size
        self._tone, self._checked_tone = tone, checked_tone
        self.setIconSize(QSize(size, size))
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.set_label(label)
        self._refresh()

    def set_label(self, label: str) -> None:
        """What the button does, for eyes and for screen readers."""
        self.setToolTip(label)
        self.setAccessibleName(label)

    def set_icon_name(self, icon_name: str) -> None:
        """Shows another icon."""
        self._icon_name = icon_name
        self._refresh()

    def set_kind(self, kind: str) -> None:
        """The role that the style sheet selects on."""
        set_role(self, "kind", kind)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange:
            self._refresh()

    def _create_icon(self) -> QIcon:
        tones = {"tone": self._tone, "checked_tone": self._checked_tone}
        return create_icon(self._icon_name, size=self._size, **tones)

    def _refresh(self) -> None:
        self.setIcon(self._create_icon())


class SwapButton(IconButton):
    """Checkable; while it is down, its label is that of the way back."""

    told_as = ButtonInterface


class IconLabel(QLabel):
    """A still icon that follows the theme; decoration only, so it has no accessible name."""

    def __init__(self, icon_name: str, *, size: int = 24, tone: str = "muted") -> None:
        super().__init__()
        self._icon_name, self._size, self._tone = icon_name, size, tone
        self.setFixedSize(size, size)
        self._refresh()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange:
            self._refresh()

    def _refresh(self) -> None:
        self.setPixmap(
            render_icon(self._icon_name, getattr(current_tokens(), self._tone), self._size)
        )
