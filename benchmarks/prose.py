"""Invented text: sentences, lines of source code and lines of command output, drawn from pools made once; and ids.

Real transcripts are mostly ASCII with a large vocabulary and the odd dash, arrow or accent; that is `ascii`. Python
keeps a string with a single emoji at four bytes a character, so `unicode`, with CJK and emoji in nearly every string,
is the hard case for everything that copies or scans text.
"""

import base64
import random
from collections.abc import Iterator
from itertools import accumulate, islice, pairwise

VOCABULARY = 6_000
POOL = 12_000

ONSETS = [*"bcdfghjklmnprstvwyz", "br", "ch", "cl", "dr", "fl", "gr", "pl", "pr", "qu", "sh", "sl", "st", "th", "tr"]
NUCLEI = [*"aeiou", "ai", "ea", "io", "ou"]
CODAS = ["", "", "", "l", "m", "n", "nd", "r", "rk", "s", "st", "t", "x"]
HAN = [chr(point) for point in range(0x4E00, 0x4E00 + 3_000)]
KANA = [chr(point) for point in range(0x3042, 0x3090)]
FOREIGN = [a + b for a, b in pairwise(HAN)] + [a + b + a for a, b in pairwise(KANA)]
EMOJI = [chr(point) for point in range(0x1F600, 0x1F640)] + [chr(point) for point in range(0x1F680, 0x1F6A5)]
SPARSE_MARKS = ["\u2014", "\u2192", "\u2713", "\u2026", "caf\u00e9", "na\u00efve", "\u2502", "\u201cso\u201d"]

CODE = [
    "",
    "{i}def {a}_{b}(self, {c}: str, {d}: int = {n}) -> {E} | None:",
    "{i}    return {a}.{b}({c}, {d}_{e}={n})",
    "{i}if {a} is None or {b}.{c} > {n}:",
    '{i}    raise {E}Error(f"{a} {b} {{{c}}} {d}")',
    "{i}for {a}, {b} in enumerate({c}_{d}):",
    '{i}    {a}[{b}] = {c}.get("{d}", {n})',
    '{i}const {a}{E} = await {b}.{c}({{ {d}: "{e}", {b}: {n} }});',
    "{i}export function {a}{E}({b}: {E}): Promise<{E}[]> {{",
    "{i}}}",
    "{i}# {a} {b} {c} {d} {e}",
    '{i}"{a}_{b}": {{"{c}": "{d}", "{e}": [{n}, {m}]}},',
    '{i}assert {a}_{b}({c}) == "{d} {e}"',
    "{i}let mut {a}_{b} = {E}::new(&{c}, {n})?;",
    '{i}<div className="{a}-{b} {c}" data-{d}={{{e}}}>{{{a}.{b}}}</div>',
    "from {a}.{b}.{c} import {E}, {d}_{e}",
]
OUTPUT = [
    "{a}/{b}/{c}.py:{n}: {d} {e} {a}",
    "tests/test_{a}_{b}.py::test_{c}_{d} PASSED                              [{m:3d}%]",
    "-rw-r--r--  1 {a} {b}  {n} Feb 11 20:{m:02d} {c}_{d}.json",
    "  {m:2d}) {a} {b} {c}: expected {n}, got {m}",
    "[info] {E}.{a} {b} in {m}ms ({c}={n})",
    "warning: unused variable `{a}_{b}` in {c}/{d}.rs:{n}:{m}",
    " M src/{a}/{b}_{c}.ts",
    "{n:08x}{m:08x} {a}: {b} {c} {d} {e}",
    "    at {E}.{a} (/app/node_modules/{b}/{c}.js:{n}:{m})",
    "",
]


class Prose:
    def __init__(self, rng: random.Random, *, is_unicode: bool) -> None:
        self.rng = rng
        self._random = rng.random
        self.is_unicode = is_unicode
        self.words = _vocabulary(rng)
        weights = list(accumulate(1 / (rank + 2.7) for rank in range(len(self.words))))
        stream = iter(rng.choices(self.words, cum_weights=weights, k=POOL * 26))
        decorate = _dense if is_unicode else _sparse
        self.sentences = [decorate(rng, _sentence(rng, stream), 0.03) for _ in range(POOL)]
        self.code_lines = [decorate(rng, _filled(rng, CODE, stream), 0.006) for _ in range(POOL)]
        self.output_lines = [decorate(rng, _filled(rng, OUTPUT, stream), 0.02) for _ in range(POOL)]
        self._noise = base64.b64encode(rng.randbytes(60_000)).decode()

    def uuid(self) -> str:
        digits = f"{self.rng.getrandbits(128):032x}"
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"

    def identifier(self, prefix: str) -> str:
        return prefix + base64.b64encode(self.rng.randbytes(18), b"Zz").decode()[:22]

    def word(self) -> str:
        return self.words[int(self._random() ** 2 * VOCABULARY)]

    def sentence(self) -> str:
        return self.sentences[int(self._random() * POOL)]

    def paragraph(self, sentences: int) -> str:
        """Hardly ever the same twice: people repeat a word or two, not what they have to say."""
        return " ".join([self.word().title(), self.word(), *self._run(self.sentences, sentences)])

    def code(self, lines: int) -> list[str]:
        return self._run(self.code_lines, lines)

    def output(self, lines: int) -> str:
        return "\n".join(self._run(self.output_lines, lines))

    def markdown(self, sentences: int) -> str:
        if sentences < 6:
            return self.paragraph(sentences)
        half = sentences // 2
        parts = [self.paragraph(2), f"## {self.sentence()}"]
        parts.append("\n".join(f"- **{self.word()}**: {line}" for line in self._run(self.sentences, half)))
        parts.append("```\n" + "\n".join(self.code(half)) + "\n```")
        parts.append(self.paragraph(max(1, half - 2)))
        return "\n\n".join(parts)

    def signature(self, length: int) -> str:
        start = int(self._random() * (len(self._noise) - length))
        return self._noise[start : start + length]

    def _run(self, pool: list[str], length: int) -> list[str]:
        start = int(self._random() * (POOL - length))
        return pool[start : start + length]


def _vocabulary(rng: random.Random) -> list[str]:
    words: dict[str, None] = {}
    while len(words) < VOCABULARY:
        # Frequent words are short in every language.
        syllables = 1 if len(words) < 150 else 2 if len(words) < 1_500 else rng.choice((2, 3, 3, 4))
        word = "".join(rng.choice(ONSETS) + rng.choice(NUCLEI) + rng.choice(CODAS) for _ in range(syllables))
        words[word] = None
    return list(words)


def _sentence(rng: random.Random, stream: Iterator[str]) -> str:
    words = list(islice(stream, rng.randint(5, 16)))
    shape = rng.random()
    if shape < 0.2:
        words[2] = f"`{words[2]}_{words[3]}`"
    elif shape < 0.3:
        words[-1] = f"src/{words[-1]}/{words[0]}.py:{len(words) * 37}"
    text = " ".join(words)
    return text[0].upper() + text[1:] + (":" if shape > 0.9 else ".")


def _filled(rng: random.Random, templates: list[str], stream: Iterator[str]) -> str:
    a, b, c, d, e = islice(stream, 5)
    bits = rng.getrandbits(32)
    template = templates[bits % len(templates)]
    indent = "    " * (bits >> 30)
    return template.format(i=indent, a=a, b=b, c=c, d=d, e=e, E=e.title(), n=bits >> 18, m=bits >> 8 & 63)


def _sparse(rng: random.Random, text: str, share: float) -> str:
    return f"{text} {rng.choice(SPARSE_MARKS)}" if rng.random() < share else text


def _dense(rng: random.Random, text: str, _share: float) -> str:
    if not text:
        return text
    words = text.split(" ")
    bits = rng.getrandbits(48)
    for index in range(len(words) - 1, len(words) // 3, -2):
        words[index] = FOREIGN[(bits >> index % 32) % len(FOREIGN)]
    return " ".join(words) + EMOJI[bits % len(EMOJI)]
