"""A difference made small: the order, the vocabulary, the input, and then the text.

Each step leaves something out, and keeps what is left if the sides still differ in the same way.
"""

from __future__ import annotations

import json
import pickle
import re
import time
from collections.abc import Iterator
from typing import Any

from fuzz.schemas import smaller_values

from same.cases import Case, Desk
from same.run import Difference
from same.vocabularies import single_bytes

#: Of the texts of an input, how pieces are left out: lines, statements, alternatives, words, ...
_PIECES = (r"[^\n]*\n", r"[^;]*;", r" \| [^|\n]*", r"\([^()]*\)", r" ?[^\s]+", r"(?s:.)")
_N_DIFFER = 20  # tokens that only one side allows, and that are kept
_JSON = ("schema", "choice", "tag", "tools", "thinking", "parts", "python_names")


class Shrinking:
    """Makes one case small.

    Parameters
    ----------
    desk : Desk
        Asks both sides.
    what : str
        In what they have to differ.
    seconds : float
        By the clock.
    """

    def __init__(self, desk: Desk, what: str, seconds: float) -> None:
        self._desk, self._what = desk, what
        self._end = time.monotonic() + seconds

    def difference(self, case: Case) -> Difference | None:
        """Return the first difference of that kind."""
        found = self._desk.compared(case)
        every = [*found.differences, *found.defects]
        return next((each for each in every if each.what == self._what), None)

    def small(self, case: Case) -> Case | None:
        """Return a small case; None if the sides do not differ when they are asked again."""
        found = self.difference(case)
        if found is None:
            return None
        for smaller in (self._along_one_way, self._of_few_tokens):
            case = smaller(case)
        for smaller in (_smaller_inputs, _smaller_texts):
            case = self._shrunk(case, smaller)
        return case

    def _shrunk(self, case: Case, candidates: Any) -> Case:
        is_smaller = True
        while is_smaller:
            is_smaller = False
            for candidate in candidates(case):
                if time.monotonic() > self._end:
                    return case
                if self.difference(candidate) is not None:
                    case, is_smaller = candidate, True
                    break
        return case

    def _along_one_way(self, case: Case) -> Case:
        """Leave out all that is not on the way to where the sides differ, if they still do."""
        found = self.difference(case)
        assert found is not None
        if found.text is not None:
            smaller = case.with_(tape=case.tape[:1], texts=[found.text], order="visited")
            return smaller if self.difference(smaller) else case
        way = _way(case, found.place)
        for order in ("visited", case.order):
            smaller = case.with_(tape=way, texts=[], order=order)
            if self.difference(smaller) is not None:
                return smaller
        return self._shrunk(case.with_(texts=[]), _fewer_places)

    def _of_few_tokens(self, case: Case) -> Case:
        """Write with single bytes, or with those tokens that are used."""
        parts = case.vocabulary
        if isinstance(parts, str):
            parts = pickle.loads(self._desk.vocabularies[parts].path.read_bytes())
        few = self._with_what_differs(case)
        for candidate in (_in_bytes(few, parts), _in_used_tokens(few, parts)):
            if candidate is not None and self.difference(candidate) is not None:
                return candidate
        return case

    def _with_what_differs(self, case: Case) -> Case:
        """Ask about some tokens that only one side allows, so that they are used."""
        found = self.difference(case)
        answers = self._desk.answers(case, wants="tokens")
        if found is None or found.place < 0 or any("notes" not in each for each in answers):
            return case
        tape = [list(place) for place in case.tape]
        for number in (0, 4):  # of masks and budgets
            said = [answer["notes"][found.place][number] for answer in answers]
            sets = [set() if isinstance(each, str) else set(each) for each in said]
            tape[found.place][2] = [*tape[found.place][2], *sorted(sets[0] ^ sets[1])[:_N_DIFFER]]
        return case.with_(tape=tape)


def _way(case: Case, place: int) -> list[Any]:
    numbers = [place]
    while numbers[0] > 0:
        numbers.insert(0, case.tape[numbers[0]][0])
    return [[number - 1, *case.tape[each][1:]] for number, each in enumerate(numbers)]


def _fewer_places(case: Case) -> Iterator[Case]:
    """Yield the case without a place and all that come after it; the largest parts first."""
    after: dict[int, set[int]] = {number: {number} for number in range(len(case.tape))}
    for number in range(len(case.tape) - 1, 0, -1):
        after[case.tape[number][0]] |= after[number]
    for number in sorted(range(1, len(case.tape)), key=lambda each: -len(after[each])):
        kept = [each for each in range(len(case.tape)) if each not in after[number]]
        new = {-1: -1} | {each: place for place, each in enumerate(kept)}
        yield case.with_(tape=[[new[case.tape[e][0]], *case.tape[e][1:]] for e in kept])


def _in_bytes(case: Case, parts: dict[str, Any]) -> Case | None:
    """Return a case along one way, with a token for each byte."""
    tape: list[Any] = [[-1, -1, [], True]]
    for _, token, _, _ in case.tape[1:]:
        is_end = token in parts["eos_token_ids"]
        if parts["tokens"][token] is None and not is_end:
            return None
        for byte in [256] if is_end else parts["tokens"][token]:
            tape.append([len(tape) - 1, byte, [], True])
    if any(place[0] != number - 1 for number, place in enumerate(case.tape)):
        return None
    asked = {
        byte for _, _, tokens, _ in case.tape for t in tokens for byte in parts["tokens"][t] or b""
    }
    for place in tape:
        place[2] = sorted(asked)
    return case.with_(vocabulary=single_bytes(), tape=tape)


def _in_used_tokens(case: Case, parts: dict[str, Any]) -> Case:
    """Return a case whose vocabulary has the bytes, and the tokens that it uses."""
    few = single_bytes()
    used = {token for _, token, tokens, _ in case.tape for token in (token, *tokens) if token >= 0}
    new: dict[int, int] = dict.fromkeys(parts["eos_token_ids"], 256)
    names = {number: name for name, number in parts["special_tokens"].items()}
    for token in sorted(used - new.keys()):
        if token in names and names[token] in few["special_tokens"]:
            new[token] = few["special_tokens"][names[token]]
            continue
        if token in names:
            few["special_tokens"][names[token]] = len(few["tokens"])
        new[token] = len(few["tokens"])
        few["tokens"].append(parts["tokens"][token])
    tape = [
        [parent, new.get(token, -1), [new[each] for each in tokens], within]
        for parent, token, tokens, within in case.tape
    ]
    return case.with_(vocabulary=few, tape=tape)


def _smaller_inputs(case: Case) -> Iterator[Case]:
    text, options = case.source["text"], case.source["options"]
    for name in options if case.source["form"] in ("schema", "bundled", "thinking") else ():
        fewer = {each: value for each, value in options.items() if each != name}
        yield case.with_(source={**case.source, "options": fewer})
    if case.source["form"] == "bundled":
        return
    for smaller in _smaller_json(text) if case.source["form"] in _JSON else _smaller_text(text):
        yield case.with_(source={**case.source, "text": smaller})


def _smaller_json(text: str) -> Iterator[str]:
    for value in smaller_values(json.loads(text)):
        yield json.dumps(value)


def _smaller_text(text: str) -> Iterator[str]:
    for pattern in _PIECES:
        for match in re.finditer(pattern, text):
            yield text[: match.start()] + text[match.end() :]


def _smaller_texts(case: Case) -> Iterator[Case]:
    """Yield the case with tokens left out, in the middle and at the end."""
    for number, text in enumerate(case.texts):
        for place in range(len(text)):
            shorter = text[:place] + text[place + 1 :]
            yield case.with_(texts=[*case.texts[:number], shorter, *case.texts[number + 1 :]])
    if any(place[0] != number - 1 for number, place in enumerate(case.tape)):
        yield from _fewer_places(case)
        return
    for n in (8, 4, 2, 1):
        for start in range(1, len(case.tape) + 1 - n):
            kept = case.tape[:start] + case.tape[start + n :]
            yield case.with_(tape=[[number - 1, *each[1:]] for number, each in enumerate(kept)])
