"""The ratchet: how strong each claim's check has been; a check that becomes weaker needs a reason that is read.

`ratchet.jsonl` beside the record has one line for each claim and each change of its check, and is only ever added to.
The last line of a claim says what the record says.  Making the record anew therefore forgives nothing.
"""

import ast
import hashlib
import inspect
import json
import sys
from functools import cache
from pathlib import Path

from attnsep.checks import text_of
from attnsep.files import read, why

FIELDS = ("id", "cases", "tolerance", "smallest_failing", "level", "source", "mark", "check")


SAME = ("level", "source", "mark", "check")  # of these every change needs a reason


WORDS = ("statement", "assumes", "control", "expect")  # what a claim says of itself


GONE = "gone"  # the level of a claim that is no more; its line says why


OUTSIDE = ("framework", "sampled")  # what all checks share has tests of its own


def ratchet_path():
    """Return where the ratchet lies."""
    return Path(__file__).with_name("ratchet.jsonl")


def read_ratchet():
    """Return the ratchet's lines, the oldest first.

    Returns
    -------
    list of dict
        With the keys of FIELDS and ``reason``, which is None where nothing became weaker.

    Raises
    ------
    ValueError
        If a line is no such object.
    """
    path = ratchet_path()
    try:
        lines = [json.loads(line) for line in read(path).splitlines()]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{path}: is no ratchet ({why(error)})") from None
    for number, line in enumerate(lines, start=1):
        if not isinstance(line, dict) or line.keys() != {*FIELDS, "reason"}:
            raise ValueError(f"{path}, line {number}: must have exactly the keys {', '.join(FIELDS)}, reason")
    return lines


def ratchet_text(lines):
    """Return the ratchet as text, one line for each object."""
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def _weaker(old, new):
    """Return what makes a claim's new line weaker than its old one, or another claim, in words.

    Examples
    --------
    >>> old = dict.fromkeys(FIELDS) | {"cases": 8, "tolerance": 1e-15, "smallest_failing": 1e-12}
    >>> _weaker(old, old | {"cases": 9, "tolerance": 0.0, "smallest_failing": 1e-13})
    []
    >>> _weaker(old, old | {"cases": 7, "smallest_failing": 1e-3})
    ['cases: 7 after 8', 'smallest_failing: 0.001 after 1e-12']
    """
    if GONE in (new["level"], old["level"]):
        found = ["level"]
    else:
        coarse = new["smallest_failing"] is None and old["smallest_failing"] is not None
        found = ["cases"] if new["cases"] < old["cases"] else []
        found += ["tolerance"] if new["tolerance"] > old["tolerance"] else []
        found += ["smallest_failing"] if coarse or _above(new["smallest_failing"], old["smallest_failing"]) else []
        found += [name for name in SAME if new[name] != old[name]]
    return [f"{name}: {new[name]} after {old[name]}" for name in found]


def _shorter(old, new):
    """Return where a check no longer goes as far as it did.

    Examples
    --------
    >>> _shorter({"n": [2.0, 200.0], "d": [4.0, 8.0]}, {"n": [2.0, 190.0], "d": [3.0, 9.0]})
    ['n goes from 2 to 190, after 2 to 200']
    """
    return [
        f"{name} goes from {new[name][0]:g} to {new[name][1]:g}, after {low:g} to {high:g}"
        for name, (low, high) in old.items()
        if name in new and (new[name][0] > low or new[name][1] < high)
    ]


def _changed(old, new):
    """Return what of a check is another one, given the digests of its parts as `part_digests` returns them.

    Examples
    --------
    >>> _changed("statement=1 control=2 bound=3", "statement=4 control=2 bound=3")
    ['another statement, and the code of the check is as it was']
    >>> _changed("statement=1 control=2 bound=3", "statement=1 control=5 bound=6 LIMIT=7")
    ['another control, and other code: LIMIT, bound']
    >>> _changed("statement=1 bound=3", "statement=1 bound=4")
    ['other code: bound; the words of statement and control are as they were']
    """
    old, new = (dict(part.split("=") for part in parts.split()) for parts in (old, new))
    differ = [name for name in {**new, **old} if old.get(name) != new.get(name)]
    words, code = [name for name in WORDS if name in differ], sorted({*differ} - {*WORDS})
    if not differ:
        return []
    if not words:
        return [f"other code: {', '.join(code)}; the words of statement and control are as they were"]
    rest = f"other code: {', '.join(code)}" if code else "the code of the check is as it was"
    return [f"another {' and '.join(words)}, and {rest}"]


def _above(new, old):
    return new is not None and old is not None and new > old


def problems(lines, record):
    """Return one sentence for each line without the reason that it needs, and where ratchet and record differ.

    Parameters
    ----------
    lines : sequence of dict
        As from `read_ratchet`.
    record : dict of str to dict
        As from `read_record`.
    """
    last, found = {}, []
    for line in lines:
        if line["id"] in last and not line["reason"]:
            found += [
                f"{line['id']}: {what}, and the ratchet gives no reason" for what in _weaker(last[line["id"]], line)
            ]
        last[line["id"]] = line
    for id, line in _lines_of(record, last).items():
        wrong = FIELDS if id not in last else [name for name in FIELDS if line[name] != last[id][name]]
        if wrong:
            found.append(f"{id}: record and ratchet differ in {', '.join(wrong)}")
    return found


def extended(lines, record, reasons, before):
    """Return the ratchet with a line for each claim that the record shows changed, and what is refused.

    Parameters
    ----------
    lines, record
        As for `problems`.
    reasons : dict of str to str
        By claim id, why a weaker check or another one is right.
    before : dict of str to dict
        The record until now: a check that goes less far than it did needs a reason, too, and it says what changed.

    Returns
    -------
    lines : list of dict
        The old ones, and the new ones behind them.
    refused : list of str
        One sentence for each change that needs a reason and has none.
    """
    last, added, refused = {line["id"]: line for line in lines}, [], []
    for id, line in _lines_of(record, last).items():
        if id in last and line == {name: last[id][name] for name in FIELDS}:
            continue
        worse = _weaker(last[id], line) if id in last else []
        if id in record and id in before:
            worse += _shorter(before[id]["reached"], record[id]["reached"])
            worse += _changed(before[id]["parts"], record[id]["parts"])
        if worse and not reasons.get(id):
            refused.append(f"{id}: {'; '.join(worse)}")
        added.append(line | {"reason": reasons.get(id) if worse else None})
    unknown = reasons.keys() - last.keys() - record.keys()
    return [*lines, *added], refused + [f"{id}: has a reason, but is no claim" for id in sorted(unknown)]


def _lines_of(record, last):
    """Return what the last line of each claim should say; one that the ratchet has and the record lacks is gone."""
    gone = {id: dict.fromkeys(FIELDS) | {"id": id, "level": GONE} for id in last if id not in record}
    return {id: {name: row.get(name) for name in FIELDS} for id, row in record.items()} | gone


def reasons_from(texts):
    """Return {id: reason} from texts that name claims, a colon, and the reason.

    Examples
    --------
    >>> reasons_from(["tensor-trick column-law: two cases were the same"])["column-law"]
    'two cases were the same'
    """
    found = {}
    for text in texts:
        ids, _, reason = text.partition(":")
        if not ids.split() or not reason.strip():
            raise ValueError(f"reason = {text_of(text)}: must be ids of claims, a colon, and why")
        found |= dict.fromkeys(ids.split(), reason.strip())
    return found


# What a check is


def digest(claim):
    """Return a digest of what a claim's check is.

    It covers the statement, what it assumes, what its control breaks, and the text of the check with all functions and
    constants of the claims' modules that it uses.  So another claim's check in its place, a check that always holds, or
    a helper that lets more pass is noticed, also where cases and margins stay.
    """
    return _digest((tuple(getattr(claim, name) for name in WORDS), _texts(claim)))[:16]


def part_digests(claim):
    """Return a digest of each part of what a claim's check is, so that one can say which of them changed.

    Returns
    -------
    str
        ``name=digest`` for each of WORDS, and for each function and constant that the check uses.
    """
    parts = [*((name, getattr(claim, name)) for name in WORDS), *_texts(claim)]
    return " ".join(f"{name}={_digest(text)[:8]}" for name, text in parts)


def _digest(what):
    return hashlib.sha256(repr(what).encode("utf-8")).hexdigest()


def _texts(claim):
    """Return (name, text) of each function and constant of a claim's check, whichever module has it."""
    return sorted((name, text) for (_, name), text in _used(claim.cases.__module__, claim.cases.__name__).items())


def parts(claim):
    """Return the statements of the claims' modules that a check consists of: pairs of module and syntax tree."""
    used = _used(claim.cases.__module__, claim.cases.__name__)
    return [(module, node) for module, name in used for _, _, node in _top(module)[0].get(name, [])]


def _used(module, name):
    """Return {(module, name): text} of what a function uses, itself included, at the tops of the claims' modules."""
    if name not in _top(module)[0]:  # a check that is no function at the top of its module stands for the whole of it
        return {(module, name): _bare(inspect.getsource(sys.modules[module]).splitlines())}
    found, left = {}, [(module, name)]
    while left:
        module, name = left.pop()
        pieces, imported = _top(module)
        if name in imported:
            left.append(imported[name])
        elif name in pieces and (module, name) not in found:
            found[module, name] = "".join(text for text, _, _ in pieces[name])
            left += [(module, used) for _, names, _ in pieces[name] for used in names]
    return found


@cache
def _top(module):
    """Return {name: its pieces, each a text, the names it uses and its tree} for a module's top, and its imports."""
    source = inspect.getsource(sys.modules[module])
    lines, pieces, imported = source.splitlines(), {}, {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("attnsep.claims."):
            if node.module.rpartition(".")[2] not in OUTSIDE:
                imported |= {alias.asname or alias.name: (node.module, alias.name) for alias in node.names}
        else:
            for name in dict.fromkeys(_names_of(node)):
                pieces.setdefault(name, []).append((_text(lines, node), _names_in(node), node))
    return pieces, imported


def _names_of(node):
    """Return the names that a statement at the top of a module gives a meaning."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
    return [part.id for target in targets if target is not None for part in ast.walk(target) if hasattr(part, "id")]


def _text(lines, node):
    """Return a statement's text without decorators, docstring, comments on lines of their own, and white space."""
    kept = lines[node.lineno - 1 : node.end_lineno]
    if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
        first = node.body[0]
        kept = kept[: first.lineno - node.lineno] + kept[first.end_lineno - node.lineno + 1 :]
    return _bare(kept)


def _bare(lines):
    return "".join("".join(line.split()) for line in lines if not line.lstrip().startswith("#"))


def _names_in(node):
    parts = (node.args, *node.body) if isinstance(node, ast.FunctionDef) else (node,)
    return sorted({name.id for part in parts for name in ast.walk(part) if isinstance(name, ast.Name)})
