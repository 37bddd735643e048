"""Two hundred varied texts to compare tokenizers on: written by hand, then random ones."""

from __future__ import annotations

import random

_WRITTEN = (
    "", " ", "  ", "   ", "\n", "\n\n", "\n \n\n \n\n\n", "\t", "\t\t", "\r\n", " \t \n x",
    "    \n    \n  \t \n x", "Hello, world!", " Hello", "  Hello  world ", "hello   world",
    "HELLO hello Hello hELLO", "aaaaaaaaaaaaaaaaaaaaaaaa", "I'm you're WE'VE he'd It'S she'll",
    "can't won't CAN'T'LL", "a'b'c ''' \"\"\"", "naïve café Ångström façade", "0", "7", "42",
    "2024", " 2024", "a  2", "x\n  7", "1 2  3", "1234567890", "3.14159", "1,000,000",
    "2024-05-01T12:30:00Z", "\t5", "  10", "v1.2.3-rc4", "0x1F 0b101 1e-9", "100km 5€ £3 ¥9",
    "²³½ ١٢٣ १२३ Ⅷ ①", "line 1\nline 2\n\n3", "def f(x):\n    return x**2\n\n\tif x:\n\t\tpass\n",
    "int main(void) { return 0; } // ok\r\n",
    "for (int i = 0; i < 10; ++i) {\n  a[i] += b[i] * 2;\n}",
    "SELECT * FROM t WHERE id IN (1, 2, 3);", "const f = async ({a, b}) => `${a}-${b}`;",
    "#include <stdio.h>", "C++ C# F# .NET node.js", "a_b __init__ --flag -x",
    "{\"key\": [1, 2.5, null], \"s\": \"\\u00e9\"}", "<div class='a'>&nbsp;</div>",
    "https://example.com/a?b=c&d=%20e#f", "/usr/local/bin C:\\Users\\me\\file.txt",
    "user@example.org", "$$\\int_0^1 x^2\\,dx = \\frac{1}{3}$$", "--- *** ___ ``` ~~~",
    "!?!?...;;;:::", "#hash @at $dollar %pc ^ & * ( )", "**bold** _it_ `code` [a](b)",
    "你好，世界！今天是2024年。", "中文和English混排,没有空格", "日本語とカタカナ、ひらがな。",
    "東京タワー333メートル", "한국어 텍스트입니다 ㄱㄴ", "Привет, мир! Ёжик", "Ελληνικά κείμενα",
    "مرحبا بالعالم", "שלום עולם", "हिन्दी में पाठ", "ภาษาไทยไม่มีช่องว่าง", "Tiếng Việt có dấu",
    "ქართული ენა", "አማርኛ", "தமிழ் மொழி", "\u3000全角　スペース", "😀", "😀😃😄", "👍🏽 👋🏿",
    "👩\u200d👩\u200d👧\u200d👦", "🏳️\u200d🌈 🇩🇪🇯🇵", "text😀text 😀 text", "❤️ ♥ ☺️ ©®™",
    "e\u0301 é ñ n\u0303", "a\u0300\u0301b", "ﬁ ﬂ Ａｂｃ", "𝔘𝔫𝔦 𝟙𝟚 𐐷", "\u200b\u200d\ufeffx",
    "x\u00a0y\u2003z\u2028w", "\x00\x01\x7f\x80\x9f", "\ue000\uffff", "▁under▁score ▁",
    "“quotes” ‘single’ — dash – en…", "<|im_start|>user\nhi<|im_end|>", "<|endoftext|>",
    "<repo_name>x<file_sep>", "< |im_end| >", "<|im_end", "<s>x</s> <unk>",
)  # fmt: skip
_ALPHABET = " \n\t.,!'0129aZéñß你好日本ー가힣ЖяΩאبक😀👩\u200d\u0301\u00a0<|>/_-"


def _random_texts(count: int) -> tuple[str, ...]:
    rng = random.Random(7)
    return tuple("".join(rng.choices(_ALPHABET, k=rng.randrange(4, 40))) for _ in range(count))


VARIED_TEXTS = _WRITTEN + _random_texts(200 - len(_WRITTEN))
