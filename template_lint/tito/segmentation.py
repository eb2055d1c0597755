"""Other token sequences for the same bytes: what a model may sample where the tokenizer would have cut otherwise.

A tokenizer maps each text to one, canonical, sequence of ids. A model samples ids, and any sequence of vocabulary
pieces that joins to the same bytes reads as the same text. The lattice of these sequences has a node at every byte and
an edge for every piece that starts there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from template_lint.tito.pieces import Pieces, pieces_of
from template_lint.tokenization import Tokenization

# Drawing at random would miss some of a few, so up to this many times ``count`` are listed and then chosen from.
_FEW = 4
# Rounds of drawing what is still missing.
_ROUNDS = 40


def bytes_of(tokenization: Tokenization, token_id: int) -> bytes | None:
    """The bytes that an ordinary token stands for.

    None for special tokens, for other added tokens (but those of white space), and for ids that no token has.
    Raises CannotCheckError (``no-bytes``) for tokenizers other than byte-level and SentencePiece ones.
    """
    return pieces_of(tokenization).splittable(token_id)


def alternatives(tokenization: Tokenization, ids: Sequence[int], *, seed: int, count: int) -> list[list[int]]:
    """Up to ``count`` distinct token sequences, none of them ``ids``, that decode to the same text as ``ids``.

    Special and other added tokens (but those of white space) stay where they are and are never produced. Pieces are
    taken across would-be merges and down to single bytes. Of every four, one re-splits the text at one place, one at a
    few, one at many, and one is made of shortest pieces (single bytes where the vocabulary has them) or re-splits one
    place more. Fewer are returned where fewer exist (or, with luck against it, where drawing finds no more). The same
    arguments give the same answer on every machine. Raises CannotCheckError as bytes_of() does.
    """
    own = list(ids)
    few = _FEW * count + 1
    lattice = _Lattice(pieces_of(tokenization), own, limit=few + 1)
    text = tokenization.decode(own)
    random = Random(seed)
    if lattice.paths[0] <= few:
        others = _of_same_text(tokenization, text, [path for path in lattice.every_path() if path != own])
        return sorted(others, key=lambda _: random.random())[:count]
    seen = {tuple(own)}
    found: list[list[int]] = []
    drawn = 0
    for _ in range(_ROUNDS):
        if len(found) == count:
            break
        batch = []
        for _ in range(count - len(found)):
            candidate = lattice.draw(random, drawn)
            drawn += 1
            if tuple(candidate) not in seen:
                seen.add(tuple(candidate))
                batch.append(candidate)
        found += _of_same_text(tokenization, text, batch)
    return found


def _of_same_text(tokenization: Tokenization, text: str, candidates: list[list[int]]) -> list[list[int]]:
    """Those that decode to ``text``: equal bytes may not, where byte-fallback tokens make up no whole characters."""
    decoded = tokenization.decode_batch(candidates)
    return [candidate for candidate, found in zip(candidates, decoded, strict=True) if found == text]


class _Lattice:
    """All ways to cut the bytes of ``ids``. An atomic token is one edge, whatever its bytes.

    ``edges``: by byte position, the (end, id) that lead on to the end of the text; ``paths``: in how many ways, at
    most ``limit``; ``starts``: the positions of ``ids``, and the end of the text.
    """

    def __init__(self, pieces: Pieces, ids: list[int], *, limit: int) -> None:
        self.ids = ids
        self.starts: list[int] = []
        self.edges: list[list[tuple[int, int]]] = []
        run: list[int] = []
        for token_id in ids:
            if pieces.splittable(token_id) is not None:
                run.append(token_id)
                continue
            self._add_run(pieces, run)
            run = []
            self.starts.append(len(self.edges))
            self.edges.append([(len(self.edges) + 1, token_id)])
        self._add_run(pieces, run)
        self.starts.append(len(self.edges))
        self.index_of_start = {start: index for index, start in enumerate(self.starts)}
        self.paths = self._count_paths(limit)
        self.forks = [index for index, start in enumerate(self.starts[:-1]) if len(self.edges[start]) > 1]

    def _add_run(self, pieces: Pieces, run: list[int]) -> None:
        base = len(self.edges)
        data = b"".join([pieces.surfaces[token_id] for token_id in run])
        for start in range(len(data)):
            self.edges.append([(base + end, token_id) for end, token_id in pieces.starting_at(data, start)])
        for token_id in run:
            self.starts.append(base)
            base += len(pieces.surfaces[token_id])

    def _count_paths(self, limit: int) -> list[int]:
        """Drop edges that lead nowhere and count the ways to the end from each position."""
        paths = [0] * len(self.edges) + [1]
        for position in range(len(self.edges) - 1, -1, -1):
            self.edges[position] = kept = [edge for edge in self.edges[position] if paths[edge[0]]]
            paths[position] = min(limit, sum([paths[end] for end, _ in kept]))
        return paths

    def every_path(self) -> Iterator[list[int]]:
        """All token sequences, the given one among them."""
        pending: list[tuple[int, list[int]]] = [(0, [])]
        while pending:
            position, path = pending.pop()
            if position == len(self.edges):
                yield path
            pending += [(end, [*path, token_id]) for end, token_id in reversed(self._leaving(position))]

    def _leaving(self, position: int) -> list[tuple[int, int]]:
        return self.edges[position] if position < len(self.edges) else []

    def draw(self, random: Random, number: int) -> list[int]:
        """One token sequence; ``number`` says how far it may be from the given one."""
        if number == 1:
            return self._shortest_pieces()
        if number % 4 == 2:
            return self._resplit(random, sorted(self._some_forks(random, 2 + int(random.random() * 3))))
        if number % 4 == 3:
            share = 0.2 + 0.8 * random.random()
            return self._resplit(random, [index for index in self.forks if random.random() < share])
        return self._resplit(random, self._some_forks(random, 1))

    def _some_forks(self, random: Random, count: int) -> list[int]:
        return [self.forks[int(random.random() * len(self.forks))] for _ in range(count)]

    def _resplit(self, random: Random, at: list[int]) -> list[int]:
        """Leave the given sequence at the tokens ``at`` (ascending), each time until it cuts at the same byte again."""
        ids, edges, starts, index_of_start = self.ids, self.edges, self.starts, self.index_of_start
        path: list[int] = []
        index = 0
        for fork in at:
            if fork < index:
                continue
            path += ids[index:fork]
            position, own = starts[fork], ids[fork]
            others = [edge for edge in edges[position] if edge[1] != own]
            position, token_id = others[int(random.random() * len(others))]
            path.append(token_id)
            while position not in index_of_start:
                leaving = edges[position]
                position, token_id = leaving[int(random.random() * len(leaving))]
                path.append(token_id)
            index = index_of_start[position]
        return path + ids[index:]

    def _shortest_pieces(self) -> list[int]:
        path: list[int] = []
        position = 0
        while position < len(self.edges):
            position, token_id = min(self.edges[position])
            path.append(token_id)
        return path
