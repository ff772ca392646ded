"""Switch off one part of the engine at a time, and see that the tests notice.

The package and the tests are copied to a temporary folder. Each mutation replaces one text of one
module there, and a kernel is compiled again. Then suites of fast tests run against the copy until
one fails. ::

    python tests/mutations.py               all mutations: some minutes
    python tests/mutations.py look          those with "look" in their names
    python tests/mutations.py --list        their names, and which of them fit the engine
    python tests/mutations.py --suite fuzz  by one suite only
    python tests/mutations.py --suite same  faults in rows, gotos, keys and registers, found by
                                            `make same` beside this checkout, and after how long
    python tests/mutations.py --every-suite by every suite, even if one has failed

The exit status is 1 if a mutation survives all suites. If an old text is not found exactly once,
nothing is run and the exit status is 2: the engine has changed, so change the entry below.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from tqdm import tqdm

ROOT = Path(__file__).resolve().parent.parent
COPIED = ("cfgguide", "grammars", "tests", "conftest.py", "pyproject.toml", "build_kernels.py")
CRASHES = "tests/fuzz/crashes"
#: What takes the least time stands first, since the first failure ends a run.
SUITES = {
    "tests": [
        "tests/start_here",
        "tests/exactness/test_probes.py",
        "tests/engine/lexer/test_scanner.py",
        "tests/engine/index/test_machines.py",
        "tests/engine/liveness/test_liveness.py",
        "tests/automata/test_dfa.py",
        "tests/automata/test_partition.py",
        "tests/engine/machine/test_indentation.py",
        "tests/grammar/test_grammar.py",
        "tests/engine/masks/test_walk.py",
        "tests/engine/masks/test_token_classes.py",
        "tests/engine/machine/test_short_stacks.py",
        "tests/guide/test_budget.py",
        "tests/schema/solver",
        "tests/schema/test_different.py",
        "tests/engine/monitors/test_monitors.py",
        "tests/engine/byte_machine/test_scalars.py",
        "tests/engine/byte_machine/test_shared_masks.py",
        "tests/schema/test_pushdown.py",
        "tests/schema/test_json_schema.py",
        "tests/exactness/test_oracle.py",
    ],
    "fuzz": ["tests/fuzz/test_fuzz.py"],
}
MINUTES = 5  # for one suite; a mutation after which nothing ends is noticed too
FIRST_MINUTES = 30  # for one suite without a mutation: the kernels are compiled first


SAME = "same"  # a suite of its own: see `found_beside`
SAME_SECONDS = 300


class Mutation(NamedTuple):
    """A part of the engine, and how it is switched off.

    Those with `kinds` are also looked for by the suite `same`, among inputs of these kinds.
    """

    what: str
    module: str
    old: str
    new: str
    kinds: str = ""


MUTATIONS = [
    Mutation(
        "the order of the terminals of a set",
        "engine/lexer/scanner",
        "        for member in members:\n            hosts = ",
        "        for member in sorted(members, key=repr):\n            hosts = ",
    ),
    Mutation(
        "retyping of keywords",
        "grammar/lark_frontend",
        "            retyped[terminal.name] = tuple(string.name for string in matched)\n",
        "",
    ),
    Mutation(
        "the first alternative that matches wins",
        "engine/lexer/scanner",
        "            if is_matched:\n                break\n",
        "",
    ),
    Mutation(
        "fall-back to the last match, in the recogniser",
        "engine/machine/recognizer",
        "        if self._match[state] == NO_MATCH:\n            return []\n",
        "        if self._match[state] == NO_MATCH or (\n"
        "            byte_class is not None and self.lookahead.step(state, (), byte_class)\n"
        "        ):\n            return []\n",
    ),
    Mutation(
        "fall-back to the last match, in the walk",
        "engine/masks/kernels",
        "        if terminal_id < 0 or not _ends_before(",
        "        if terminal_id < 0 or work.frame_n[depth] > 0 or not _ends_before(",
    ),
    Mutation(
        "a fall-back only where the longer lexeme fails",
        "engine/lexer/lookahead",
        "            if equivalence_class == 0 or equivalence_class in obligations\n",
        "            if True\n",
    ),
    Mutation(
        "running the reductions, instead of reading the row",
        "engine/liveness/stack_summaries",
        "                if action > 0:\n                    after = ",
        "                if action < 0:\n                    self._add(pair, ACCEPTED)\n"
        "                elif action > 0:\n                    after = ",
    ),
    Mutation(
        "liveness",
        "engine/masks/lr_masks",
        "        return answer.is_live\n",
        "        return True\n",
    ),
    Mutation(
        "liveness by what the vocabulary can spell",
        "engine/vocabulary/vocabulary",
        "Spelling.of(self.tokens)",
        "Spelling.of_all_bytes()",
    ),
    Mutation(
        "masks kept under as much of the stack as was read",
        "engine/masks/lr_masks",
        "return Mask(max(inspected), bitmask, reads, walked)",
        "return Mask(1, bitmask, reads, walked)",
    ),
    Mutation(
        "ignored lexemes",
        "engine/machine/recognizer",
        "            return ((stack, moved),)\n",
        "            return ()\n",
    ),
    Mutation(
        "look-behind",
        "automata/nfa",
        "    return truths[index] != is_negated\n",
        "    return True\n",
    ),
    Mutation(
        "negation of look-behind",
        "automata/nfa",
        "    return truths[index] != is_negated\n",
        "    return truths[index]\n",
    ),
    Mutation(
        "look-behind over the text before the lexeme, in the recogniser",
        "engine/machine/recognizer",
        "            context = self._contexts[context, byte_class]\n",
        "            context = 0\n",
    ),
    Mutation(
        "look-behind over the text before the lexeme, in the walk",
        "engine/masks/kernels",
        "        if has_contexts:\n",
        "        if False:\n",
    ),
    Mutation(
        "look-ahead",
        "automata/nfa",
        "        self.nfa.assertions[ask] = (self._aheads[body_key], is_negated)\n",
        "",
    ),
    Mutation(
        "negation of look-ahead",
        "automata/nfa",
        "            if answers[question] == is_negated:\n",
        "            if not answers[question]:\n",
    ),
    Mutation(
        "obligations that turn out false, in the recogniser",
        "engine/lexer/lookahead",
        "            return [NO_OBLIGATIONS] if is_match else []",
        "            return [NO_OBLIGATIONS]",
    ),
    Mutation(
        "obligations that turn out false, in the walk",
        "engine/masks/kernels",
        "            if task > 0:\n                return REFUSED\n",
        "            if False:\n                return REFUSED\n",
    ),
    Mutation(
        "obligations at the end of the text",
        "engine/lexer/lookahead",
        "        return not obligations or obligations[0] > 0\n",
        "        return True\n",
    ),
    Mutation(
        "parse states that act alike",
        "grammar/lr/table",
        "kind = (label, state == self.end_state, *does)",
        "kind = (label, state == self.end_state)",
    ),
    Mutation(
        "lazy quantifiers",
        "automata/nfa",
        "            return [enter, leave] if node.is_greedy else [leave, enter]\n",
        "            return [enter, leave]\n",
    ),
    Mutation(
        "the order of the sides of a choice",
        "automata/nfa",
        "self.sequence(branch, following, flags) for branch in node.branches]",
        "self.sequence(branch, following, flags) for branch in reversed(node.branches)]",
    ),
    Mutation(
        "an empty round ends a repetition",
        "automata/nfa",
        "        elif nfa.rounds.get(current) in open_rounds:\n",
        "        elif False:\n",
    ),
    Mutation(
        "flags of a group",
        "automata/nfa",
        "self.sequence(node.body, following, node.flags_inside(flags))\n",
        "self.sequence(node.body, following, flags)\n",
    ),
    Mutation(
        "what re cannot join is refused",
        "engine/liveness/stages",
        "        lark_frontend.check_joined(compiled)\n",
        "        pass\n",
    ),
    Mutation(
        "what is owed when a lexeme ends, in what is always live",
        "engine/lexer/lexeme_ends",
        "        rows = resolves[scanner.equivalence_classes[ending]]\n",
        "        rows = resolves[scanner.equivalence_classes[ending]] | True\n",
    ),
    Mutation(
        "assertions that a byte leaves open, in what is always live",
        "engine/lexer/lexeme_ends",
        "np.where(is_answered, after, DEAD)",
        "after",
    ),
    Mutation(
        "obligations that a byte resolves, in what is always live",
        "engine/masks/kernels",
        "after != 0 if obligation > 0 else tables.match[after] < 0",
        "after != 0 and obligation > 0",
    ),
    Mutation(
        "what ends a lexeme that could go on, in what is always live",
        "engine/masks/kernels",
        "tables.transitions[state, byte_class] != 0 or not tables.is_letter[byte_class]",
        "not tables.is_letter[byte_class]",
    ),
    Mutation(
        "conflicts in what is always live",
        "grammar/lark_parts",
        "            for terminal in members(automaton.contested(state))\n",
        "            for terminal in []\n",
    ),
    Mutation(
        "rules without a text in what is always live",
        "engine/liveness/always_live",
        "        if derives[table.left_sides].all():\n",
        "        if derives[table.left_sides].any():\n",
    ),
    Mutation(
        "columns in effects",
        "engine/masks/effect_kernels",
        "    _put(space, kind + 1)\n    return _item(space, begin)\n",
        "    _item(space, begin)\n    return column\n",
    ),
    Mutation(
        "what is owed after a lexeme, in effects",
        "engine/masks/effect_kernels",
        "        debt = _both(space, debt, _debt(space, equivalence_class))\n",
        "        debt = space.first\n",
    ),
    Mutation(
        "as what a lexeme ended, in effects",
        "engine/masks/effect_kernels",
        "    ended = _ended(space, terminal_id, alternatives, column, contexts)\n",
        "    ended = _ended(space, 0, alternatives, column, contexts)\n",
    ),
    Mutation(
        "what obligations come to, in effects",
        "engine/masks/effect_kernels",
        "        for place in range(len(space.owed)):\n",
        "        for place in range(0):\n",
    ),
    Mutation(
        "proofs that states decide nothing",
        "engine/machine/short_stacks",
        "        return self._equivalence.holds(states, (lowest,), terminals)\n",
        "        return True\n",
    ),
    Mutation(
        "reductions that are certain",
        "grammar/lr/state_actions",
        "        return found[0] if len(found) == 1 else None\n",
        "        return found[0] if found else None\n",
    ),
    Mutation(
        "reductions below what is known, in proofs",
        "grammar/lr/equivalence",
        "            return 0 if one == other else terminals\n",
        "            return 0\n",
    ),
    Mutation(
        "lexemes that may end or go on, read plainly",
        "engine/machine/reading",
        "            elif self._is_assertion[target] or (\n"
        "                self._match[state] >= 0\n",
        "            elif self._is_assertion[target] or (\n                False\n",
    ),
    Mutation(
        "outcomes are numbered anew when the token classes are made",
        "guide/budget",
        "        if self._n_remembered != reach.n_remembered or walk.trie is not reach.trie:\n",
        "        if self._n_remembered != reach.n_remembered:\n",
    ),
    Mutation(
        "the ending that a mask rested on is kept for a shortened stack",
        "guide/budget",
        "        if before is not None and not step.is_end:\n",
        "        if False:\n",
    ),
    Mutation(
        "schemas: names that have come are not allowed again",
        "schema/members",
        "            return self._possible & ~state\n",
        "            return self._possible\n",
    ),
    Mutation(
        "schemas: the most characters of a string in its shared mask",
        "engine/byte_machine/shared_masks",
        "        return found if most < 0 else found & self._masks.of_at_most(most)\n",
        "        return found\n",
    ),
    Mutation(
        "schemas: masks that differ in what follows a string are told apart",
        "engine/byte_machine/byte_walker",
        '        return hashlib.sha256(header + b"".join(parts)).digest()\n',
        "        return hashlib.sha256(header).digest()\n",
    ),
    Mutation(
        "schemas: the names that begin like a text",
        "engine/byte_machine/byte_kernels",
        "            states[state, N_BELOW] = end - text\n",
        "            states[state, N_BELOW] = len(starts) - 1 - text\n",
    ),
    Mutation(
        "schemas: a name of which another one is a beginning",
        "engine/byte_machine/byte_kernels",
        "            edges[n_edges, 0], edges[n_edges, 1] = QUOTE, operations[text]\n",
        "            edges[n_edges, 0], edges[n_edges, 1] = QUOTE, operations[text - 1]\n",
    ),
    Mutation(
        "monitors: a text goes on as one of the texts that may come",
        "engine/masks/place_masks",
        " if texts.begins(text + added) for each in ids]\n",
        " if added for each in ids]\n",
    ),
    Mutation(
        "schemas: the least characters of a string",
        "engine/byte_machine/scalars",
        "(bounds[0] <= n and (bounds[1] is None or n <= bounds[1]))\n",
        "(bounds[1] is None or n <= bounds[1])\n",
    ),
    Mutation(
        "schemas: kinds of characters stay only where each state leads on",
        "automata/staying",
        "                        found = with_target\n",
        "                        pass\n",
    ),
    Mutation(
        "grammars: a subtree is taken whole if nothing in it changes the context",
        "engine/masks/kernels",
        "    return stays & tables.context_stays[work.frame_context[depth]]\n",
        "    return stays\n",
    ),
    Mutation(
        "grammars: a comment forgets the column of its line",
        "engine/masks/kernels",
        "        return 0  # any byte but a blank makes the column unknown\n",
        "        return stays\n",
    ),
    Mutation(
        "schemas: how many characters a subtree has that is taken whole",
        "engine/byte_machine/byte_kernels",
        "                if (met & KINDS) | stays != stays or met >> N_BITS > stays >> N_BITS:\n",
        "                if (met & KINDS) | stays != stays:\n",
    ),
    Mutation(
        "schemas: the fewest characters of a string in its shared mask",
        "engine/byte_machine/shared_masks",
        "                ended &= ~self._masks.of_at_most(least - 1)\n",
        "                ended &= ~self._masks.of_at_most(least - 2)\n",
    ),
    Mutation(
        "schemas: which groups of names are possible where most is taken whole",
        "engine/byte_machine/scalars",
        "            if [each == DEAD for each in after] == [each == DEAD for each in state]\n",
        "            if True\n",
    ),
    Mutation(
        "schemas: listed names are exceptions from shared masks",
        "engine/byte_machine/byte_kernels",
        "                if target == 0 or not states[target, IS_NAMED]:\n",
        "                if True:\n",
    ),
    Mutation(
        "schemas: items that have come before",
        "engine/byte_machine/seen_parts",
        "        is_repeated = part is not None and part in used\n",
        "        is_repeated = False\n",
    ),
    Mutation(
        "schemas: different strings, the bounds count",
        "schema/unique",
        "    return n_texts(automaton, strings.bounds, _MANY + 1) > _MANY\n",
        "    return True\n",
    ),
    Mutation(
        "schemas: different strings, their rests",
        "schema/repeated_parts",
        " | self._repeating(rests, is_free=takes_more)\n",
        "\n",
    ),
    Mutation(
        "schemas: different names, what begins one that has come",
        "schema/repeated_parts",
        "            token_ids += shared.writing(begun) + shared.escaping(begun)\n",
        "            token_ids += shared.escaping(begun)\n",
    ),
    Mutation(
        "schemas: different scalars, what one token repeats",
        "schema/scalar_tokens",
        "            if len({*values}) < len(values):\n",
        "            if False:\n",
    ),
    Mutation(
        "schemas: different scalars, beginnings of which all have come",
        "schema/repeated_parts",
        "            repeated += tokens.leaving(scalars.exhausted(used, begun))\n",
        "",
    ),
    Mutation(
        "schemas: different objects, names of a pattern that may have come",
        "schema/completions",
        "                if tag >= members.n_listed:  # other names may have come\n",
        "                if False:\n",
    ),
    Mutation(
        "solver: verdicts on more conditions",
        "schema/solver/mutual_answers",
        "if any(asked & each == asked for each in sets) else",
        "if any(asked & each for each in sets) else",
    ),
    Mutation(
        "budgets: a mask within one is a part of the mask",
        "guide/budget",
        "        mask &= allowed\n",
        "",
    ),
    Mutation(
        "automata: moves are told apart by the states that they lead to",
        "automata/partition_kernels",
        "                _split(moves)\n",
        "",
    ),
    Mutation(
        "schemas: more than one branch may hold",
        "schema/solver/values",
        "    if len(possible) > 1:\n        if not",
        "    if False:\n        if not",
    ),
    Mutation(
        "schemas: exactly one branch holds",
        "schema/solver/truth",
        "sum(found[other] for other in node.one_of) != 1:\n",
        "not any(found[other] for other in node.one_of):\n",
    ),
    Mutation(
        "schemas: how many properties there may be, in plans",
        "schema/solver/plans",
        "            yield [(Counts(*node.bounds_of(self.kind)),)]\n",
        "            pass\n",
    ),
    Mutation(
        "schemas: how many items meet what an array contains",
        "schema/solver/arrays",
        "            min(n + (node in matched), cap(node.n_contains))\n",
        "            min(n + 1, cap(node.n_contains))\n",
    ),
    Mutation(
        "schemas: arrays that are not counted",
        "schema/solver/counts",
        "            return Count(0, False)\n        bounds = ",
        "            return Count(0, True)\n        bounds = ",
    ),
    Mutation(
        "schemas: properties that have to come, counted",
        "schema/solver/counts",
        "prod(count.n + (name not in required) for",
        "prod(count.n + 1 for",
    ),
    Mutation(
        "protocol: what a text remembers is removed from the mask of its key",
        "schema/repeated_parts",
        "        suspects = self._suspects(configuration)\n",
        "        return subset\n",
    ),
    Mutation(
        "protocol: a text that has had all its tokens is left",
        "engine/byte_machine/byte_machine",
        "limits is None or not limits.is_exhausted(configuration):\n            return subset",
        "True:\n            return subset",
        "messages",
    ),
    Mutation(
        "protocol: what is relevant to a monitor is a part of the key",
        "engine/monitors/watched_masks",
        "            parts.append((state, obligations, indentation, text, place.relevant))\n",
        "            parts.append((state, obligations, indentation, text, None))\n",
        "monitors",
    ),
    Mutation(
        "protocol: a monitor's machine is live where the monitor says so",
        "engine/monitors/watched_machine",
        "any(map(self.recognizer.is_possible, configuration.hypotheses)) and super()",
        "super()",
    ),
    # One fault each in what makes masks: rows, gotos, keys of memos and registers.
    Mutation(
        "LR machine: one row",
        "engine/masks/arrays",
        "    empty = Tables(",
        '    if "action" in fields:\n'
        '        fields["action"] = fields["action"].copy()\n'
        '        fields["action"][len(fields["action"]) // 2] = 0\n'
        "    empty = Tables(",
        "grammars,earley",
    ),
    Mutation(
        "LR machine: one goto",
        "engine/masks/arrays",
        "    empty = Tables(",
        '    if "goto" in fields:\n'
        '        fields["goto"] = fields["goto"].copy()\n'
        '        known = np.argwhere(fields["goto"] >= 0)\n'
        '        fields["goto"][tuple(known[-1])] = fields["goto"][tuple(known[0])]\n'
        "    empty = Tables(",
        "grammars,earley",
    ),
    Mutation(
        "LR machine: a key that has only the top of the stack",
        "engine/masks/lr_masks",
        "return Mask(max(inspected), bitmask, reads, walked)",
        "return Mask(min(max(inspected), 1), bitmask, reads, walked)",
        "grammars,earley",
    ),
    Mutation(
        "indentation: a key without the column of a line that has begun",
        "engine/masks/lr_keys",
        "        column,\n        level,\n",
        "        0,\n        level,\n",
        "indented",
    ),
    Mutation(
        "indentation: a register, the number of open brackets",
        "engine/machine/indentation_reader",
        "            plain = plain._replace(level=level)\n",
        "            plain = plain._replace(level=0)\n",
        "indented",
    ),
    Mutation(
        "byte machine: the row of one state",
        "engine/byte_machine/automaton",
        "        row[MAP], row[STAYS] = number, kinds\n",
        "        row[MAP], row[STAYS] = number if state != 40 else 0, kinds\n",
        "schemas,messages",
    ),
    Mutation(
        "byte machine: what follows with one tag",
        "engine/byte_machine/automaton",
        "                state = self.make_follow(frame, tag)\n",
        "                state = self.make_follow(frame, tag if frame != 4 else 0)\n",
        "schemas,messages",
    ),
    Mutation(
        "byte machine: a key with one frame less",
        "engine/byte_machine/byte_machine",
        "        return (self.state, *islice(self.stack, mask.depth))\n",
        "        return (self.state, *islice(self.stack, max(mask.depth - 1, 0)))\n",
        "schemas,messages",
    ),
    Mutation(
        "schemas: a register, the items that have come",
        "engine/byte_machine/seen_parts",
        "            used |= {part}\n",
        "            used = frozenset({part})\n",
        "schemas",
    ),
    Mutation(
        "schemas: a register, the number of properties",
        "schema/solver/objects",
        "            n_named = min(n_named + 1, self._cap)\n",
        "            n_named = min(n_named + 1, 1)\n",
        "schemas",
    ),
    Mutation(
        "text machine: the row of one state",
        "engine/byte_machine/scalars",
        "            found.append(language.after_text(each, text))\n",
        "            found.append(DEAD if each == 4 else language.after_text(each, text))\n",
        "patterns",
    ),
    Mutation(
        "text machine: a key that forgets how far the bounds of counts are",
        "engine/byte_machine/lone_pushdown",
        "        return self.state(self.lexemes.near(self._keys[state], n))\n",
        "        return self.state(self.lexemes.near(self._keys[state], 1))\n",
        "patterns",
    ),
    Mutation(
        "text machine: a register, the character that has begun",
        "engine/byte_machine/scalars",
        "            return place, key\n",
        "            return len(data), key\n",
        "patterns",
    ),
    Mutation(
        "monitors: a register, the text of a lexeme",
        "engine/machine/places",
        'asked(monitor, "shifted", name, text.decode("utf-8", "surrogateescape"))',
        'asked(monitor, "shifted", name, text[:1].decode("utf-8", "surrogateescape"))',
        "monitors",
    ),
]


def misfit(mutation: Mutation) -> str | None:
    """Return why a mutation cannot be applied to the engine, or None if it can."""
    name = f"cfgguide/{mutation.module}.py"
    if not (ROOT / name).is_file():
        return f"there is no {name}"
    n_found = (ROOT / name).read_text(encoding="utf-8").count(mutation.old)
    return None if n_found == 1 else f"{n_found} times in {name}, not once:\n{mutation.old}"


def apply(mutation: Mutation, folder: Path) -> None:
    """Change the copy in a folder."""
    path = folder / "cfgguide" / f"{mutation.module}.py"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(mutation.old, mutation.new), encoding="utf-8")
    subprocess.run([sys.executable, "build_kernels.py"], cwd=folder, check=True)


def restore(mutation: Mutation, folder: Path) -> None:
    """Undo the change; a kernel is again the one that the checkout has compiled."""
    name = f"cfgguide/{mutation.module}.py"
    shutil.copy2(ROOT / name, folder / name)
    copy_compiled(folder)
    for path in (folder / CRASHES).glob("*"):  # what the fuzzer wrote, and would try again
        path.unlink()
    shutil.copytree(ROOT / CRASHES, folder / CRASHES, dirs_exist_ok=True)


def first_failure(suite: str, folder: Path, *, minutes: int = MINUTES) -> str | None:
    """Run a suite on the copy, and return what failed first."""
    environment = os.environ | {
        "COLUMNS": "150",
        "PYTHONPATH": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
        "CFGGUIDE_FUZZ_SECONDS_TO_SHRINK": "0",
    }
    command = [sys.executable, "-m", "pytest", *SUITES[suite], "-m", "not slow", "-x", "-q"]
    command += ["-p", "no:cacheprovider", "--tb=no"]
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True,
            timeout=60 * minutes,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"more than {minutes} minutes"
    if done.returncode == 0:
        return None
    lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return lines[0].partition(" ")[2] if lines else f"exit status {done.returncode}"


def found_beside(folder: Path, kinds: str, seconds: int) -> str | None:
    """Compare the copy with this checkout, and return the first difference and when it came."""
    environment = os.environ | {"PYTHONPATH": f"{folder}:{folder / 'tests'}"}
    command = [sys.executable, "-m", "same", "--before", str(ROOT), "--seconds", str(seconds)]
    command += ["--stop-at-first", "--shrink", "0"] + (["--only", kinds] if kinds else [])
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode == 0:
        return None
    lines = done.stdout.splitlines()
    found = [line for line in lines if line.startswith("the first difference")]
    return "; ".join([*found, *lines[2:3]]) if found else (done.stdout + done.stderr)[-300:]


def copy_to(folder: Path) -> None:
    """Copy what the tests need."""
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            shutil.copy2(ROOT / name, folder / name)
    copy_compiled(folder)


def copy_compiled(folder: Path) -> None:
    """Copy the compiled kernels, and the digests of what they were compiled from."""
    for path in [*ROOT.glob("cfgguide/**/*.so"), *ROOT.glob("build/kernels.json")]:
        copy = folder / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.unlink(missing_ok=True)  # one that runs must not change
        shutil.copy2(path, copy)


def notices(mutation: Mutation, suites: list[str], folder: Path, *, every: bool) -> dict[str, str]:
    """Return the suites that notice a mutation and their first failures: one, or `every` suite."""
    apply(mutation, folder)
    found: dict[str, str] = {}
    try:
        for suite in suites:
            if suite == SAME:
                failure = found_beside(folder, mutation.kinds, SAME_SECONDS)
            else:
                failure = first_failure(suite, folder)
            if failure:
                found[suite] = failure
                if not every:
                    break
    finally:
        restore(mutation, folder)
    return found


def check_by(suites: list[str], chosen: list[Mutation], *, every: bool) -> int:
    """Run the suites against all chosen mutations, and return how many survive."""
    n_survivors = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy_to(folder)
        for suite in suites:
            if suite == SAME:
                failure = found_beside(folder, "", SAME_SECONDS // 5)
            else:
                failure = first_failure(suite, folder, minutes=FIRST_MINUTES)
            if failure:
                raise SystemExit(f"the suite {suite!r} fails without a mutation: {failure}")
        for mutation in tqdm(chosen, disable=not sys.stderr.isatty()):
            fit = [suite for suite in suites if suite != SAME or mutation.kinds]
            found = notices(mutation, fit, folder, every=every)
            n_survivors += not found
            sys.stdout.write(f"without {mutation.what}\n")
            for suite in fit if every else [*found] or fit:
                sys.stdout.write(f"    {suite:6} {found.get(suite, 'SURVIVED')}\n")
            sys.stdout.flush()
    return n_survivors


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", nargs="?", default="", help="part of the names of mutations")
    parser.add_argument("--suite", choices=[*SUITES, SAME], help="run this one only")
    parser.add_argument("--every-suite", action="store_true", help="do not stop at a failure")
    parser.add_argument("--list", action="store_true", help="show the names and run nothing")
    arguments = parser.parse_args()
    chosen = [mutation for mutation in MUTATIONS if arguments.name in mutation.what]
    if arguments.suite == SAME:
        chosen = [mutation for mutation in chosen if mutation.kinds]
    misfits = {mutation.what: why for mutation in chosen if (why := misfit(mutation))}
    if arguments.list:
        for mutation in chosen:
            old = " (DOES NOT FIT)" if mutation.what in misfits else ""
            sys.stdout.write(f"{mutation.what}: {mutation.module}{old}\n")
    for what, why in misfits.items():
        sys.stderr.write(f"the mutation {what!r} does not fit the engine: {why}\n")
    if misfits or arguments.list:
        return 2 if misfits else 0
    suites = [arguments.suite] if arguments.suite else [*SUITES, SAME]
    n_survivors = check_by(suites, chosen, every=arguments.every_suite)
    sys.stdout.write(f"{len(chosen)} mutations, {n_survivors} survived all suites\n")
    return 1 if n_survivors else 0


if __name__ == "__main__":
    sys.exit(main())
