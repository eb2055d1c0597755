"""Texts on which two tokenizers are compared beside the prompts: what users and tools write, and catalogues do not."""

from __future__ import annotations

PROBES = (
    # Latin letters: case, elision, long words.
    "The quick brown fox jumps over the lazy dog.",
    "don't can't we'll they've I'm he's DON'T",
    "internationalization counterrevolutionaries",
    "HTTP JSON camelCase PascalCase snake_case SCREAMING_CASE kebab-case",
    # White space: runs, line ends, tabs, other spaces, ends of a text.
    " leading space",
    "trailing space ",
    "two  spaces   three    four",
    "\n",
    "\n\n",
    "line one\nline two\n\n\nline five",
    "carriage\r\nreturn\r",
    "tab\tand\t\ttabs",
    "no\u00a0break thin\u2009space ideographic\u3000space",
    "     indented\n        further\n    back",
    # Digits and numbers.
    "0 1 12 123 1234 12345 123456 1234567",
    "3.14159 -42 1e-7 0x1F 1,000,000 50%",
    "2024-02-29T23:59:60Z 192.168.0.1",
    "\u0661\u0662\u0663 \uff11\uff12\uff13 \u00bd \u2167",
    # Letters beyond ASCII, composed and decomposed, and what normalisers fold.
    "caf\u00e9 na\u00efve \u00c5ngstr\u00f6m stra\u00dfe",
    "cafe\u0301 A\u030angstro\u0308m",
    "\ufb01 \u2460 \u2122 \uff21\uff22\uff23 \u212b",
    "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440",
    "\u0393\u03b5\u03b9\u03ac \u03c3\u03bf\u03c5 \u03ba\u03cc\u03c3\u03bc\u03b5",
    "\u4f60\u597d\uff0c\u4e16\u754c\u3002\u4eca\u5929\u5929\u6c14\u5f88\u597d\u3002",
    "\u3053\u3093\u306b\u3061\u306f\u30ab\u30bf\u30ab\u30ca",
    "\uc548\ub155\ud558\uc138\uc694",
    "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645",
    "\u05e9\u05dc\u05d5\u05dd",
    "\u0928\u092e\u0938\u094d\u0924\u0947",
    "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35\u0e04\u0e23\u0e31\u0e1a",
    # Emoji: alone, joined, with skin tones, flags.
    "\U0001f600\U0001f680 \U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f44d\U0001f3fd \U0001f1f3\U0001f1f1",
    # Punctuation and signs.
    "Hello , world ! How are you ? It 's fine .",
    "\u201cquoted\u201d \u2018single\u2019 \u2014 dash \u2026 ellipsis",
    "!!! ??? ... --- === *** ### ((([[[{{{",
    "\u2211 \u222b \u221e \u2260 \u2264 \u00b1 \u20ac \u00a5 \u00a3",
    # Code, markup, data.
    'def f(x: int) -> str:\n    return f"{x!r}"\n',
    "for (int i = 0; i < n; ++i) { a[i] += b->c; }",
    '{"name": "lookup_tide", "arguments": {"port": "Vlissingen", "days": [1, 2], "deep": null}}',
    '<div class="a b">&amp; &lt;</div>\n<!-- comment -->',
    "SELECT * FROM t WHERE a = 'b' AND c <> 3;",
    "https://example.org/path?query=1&other=two#part",
    "```python\nprint('hi')\n```",
    "\\n \\t \\u00e9 C:\\new\\table",
    # What looks like control tokens.
    "<think> </think> <tool_call> </tool_call>",
    "<|im_start|>user<|im_end|>",
    "<s> </s> <unk> <pad> [INST] [/INST]",
)
"""Their order and content are fixed: a count of differing probes means the same in every report."""
