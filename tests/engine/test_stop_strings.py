"""Nothing of a stop string is shown, however the text is cut into pieces."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from app.engine.stop_strings import StopStringMatcher


def _stream(stops: list[str], pieces: list[str]) -> tuple[str, str | None]:
    matcher = StopStringMatcher(stops)
    shown = "".join(matcher.add(piece) for piece in pieces)
    return shown + matcher.flush(), matcher.matched


def _read_whole(stops: list[str], text: str) -> tuple[str, str | None]:
    """The definition, character by character."""
    for end in range(1, len(text) + 1):
        complete = [stop for stop in stops if stop and text[:end].endswith(stop)]
        if complete:
            longest = max(complete, key=len)
            return text[: end - len(longest)], longest
    return text, None


_TEXTS = st.text(alphabet="ab\n你", max_size=12)


@given(st.lists(st.text(alphabet="ab\n你", max_size=4), max_size=4), st.lists(_TEXTS, max_size=6))
def test_any_cut_into_pieces_gives_what_the_definition_gives(
    stops: list[str], pieces: list[str]
) -> None:
    assert _stream(stops, pieces) == _read_whole(stops, "".join(pieces))


@given(
    st.lists(st.text(alphabet="ab", min_size=1, max_size=4), max_size=3),
    st.lists(_TEXTS, max_size=6),
)
def test_text_is_shown_as_soon_as_it_cannot_begin_a_stop_string(
    stops: list[str], pieces: list[str]
) -> None:
    matcher = StopStringMatcher(stops)
    seen = shown = ""
    for piece in pieces:
        seen += piece
        shown += matcher.add(piece)
        held = seen[len(shown) :]
        assert matcher.is_stopped or not held or any(stop.startswith(held) for stop in stops)


def test_a_stop_string_spread_over_tokens_is_not_shown() -> None:
    matcher = StopStringMatcher(["\nUser:", "###"])
    assert [matcher.add(piece) for piece in ("Hi", "!\n", "Us", "er", ": more")] == [
        "Hi",
        "!",
        "",
        "",
        "",
    ]
    assert matcher.matched == "\nUser:"
    assert matcher.add("more") == ""
    assert matcher.flush() == ""


def test_a_false_start_is_shown_when_it_turns_out_to_be_one() -> None:
    matcher = StopStringMatcher(["###"])
    assert [matcher.add(piece) for piece in ("a#", "#", "b#")] == ["a", "", "##b"]
    assert not matcher.is_stopped
    assert matcher.flush() == "#"


def test_without_stop_strings_all_text_passes_at_once() -> None:
    matcher = StopStringMatcher([""])
    assert matcher.add("anything") == "anything"
    assert not matcher.is_stopped
