"""Prove the statements of the book with Coq, and hold the book's words and Coq's against each other.

    make prove                  compile the proofs, list their axioms, compare both sides with the stored record
    make prove ACCEPT="labels"  somebody has read both sides of these: store them
    make prove-all              check the compiled proofs again with coqchk, break definitions and hypotheses, and
                                store what became of each in proofs/mutants.json

A theorem is tied to the statement of the book whose label stands in brackets in the comment before it, and a section of
Model.v to the definitions whose labels stand in it.  The record has digests of both sides, so neither changes alone.

Python's standard library is all that this needs.
"""

import argparse
import json
import re
import shutil
import sys
import tempfile
import textwrap
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from graphlib import TopologicalSorter
from itertools import chain, zip_longest
from os import cpu_count
from pathlib import Path

from attnsep.files import write
from attnsep.ledger.proofs import AXIOMS, digest, proofs_path, read_proofs
from tools import coq
from tools.blocks import blocks
from tools.coq_sources import DEFINITION, MODEL, PROOFS, THEOREM, TRUSTED, TYPE, code, read_sources, sections, theorems
from tools.files import CHAPTERS

NOT_RUN = 77  # exit status where Coq is missing
VERB = "make prove"
MUTANTS, ANSWERS, COVERAGE = PROOFS / "mutants.toml", PROOFS / "mutants.json", PROOFS / "coverage.toml"
WIDTH = 60  # of the left one of two columns
LONGEST = 600  # seconds that a file with a mutant may take
SURVIVED, BREAKS, NO_MUTANT = "survived", "breaks", "no mutant"


# Both sides


def read_book(folder=CHAPTERS):
    """Return {label: block} of all statements and definitions in the chapters of a folder."""
    notebooks = (json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.ipynb")))
    return {block.label: block for notebook in notebooks for block in blocks(notebook)}


def tied_theorems(sources, book):
    """Return {label of a statement: {name, such as ``Golden.golden_ratio_law``: theorem}}."""
    found = {}
    for file, text in sources.items():
        for theorem in theorems(text):
            for label in theorem.labels:
                if label in book:
                    found.setdefault(label, {})[f"{file.removesuffix('.v')}.{theorem.name}"] = theorem
    return found


def tied_definitions(sources, book):
    """Return {label of a definition: text of the sections of Model.v that name it}, and the rest under Model.v."""
    found = {}
    for section in sections(sources[MODEL]):
        labels = [label for label in section.labels if label in book and book[label].kind == "definition"]
        for label in labels or [MODEL]:
            found[label] = "\n\n".join(filter(None, [found.get(label), section.text]))
    return found


def source_problems(sources, book):
    """Return what is wrong with Coq's files before Coq reads them: a label that no statement has, a definition that is
    not in Model.v or a type, an axiom."""
    found = []
    for file, text in sources.items():
        named = [*theorems(text), *(sections(text) if file == MODEL else [])]
        labels = dict.fromkeys(label for place in named for label in place.labels)
        found += [
            f"proofs/{file}: names [{label}], and the book has no statement with this label"
            for label in labels
            if "-" in label and label not in book
        ]
        found += [f"proofs/{file}: {word}: a proof assistant has to check all" for word in TRUSTED.findall(code(text))]
        if file != MODEL:
            found += [
                f"proofs/{file}: {name}: a type that theorems may be about belongs into {MODEL}"
                for name in TYPE.findall(code(text))
            ]
    return found


def definitions_outside(sources):
    """Return the definitions that do not stand in Model.v, as in ``Law.others``."""
    return sorted(
        f"{file.removesuffix('.v')}.{name}"
        for file, text in sources.items()
        for name in DEFINITION.findall(code(text))
        if file != MODEL
    )


def entries(sources, book, found):
    """Return what the record says of both sides; `found` has what Coq states of each theorem (`coq.statements`)."""
    definitions, statements = tied_definitions(sources, book), tied_theorems(sources, book)
    return {
        "sources": {file: digest(text) for file, text in sources.items()},
        "definitions": {
            label: {"book": digest(book[label].words) if label in book else None, "coq": digest(text)}
            for label, text in definitions.items()
        },
        "statements": {
            label: {
                "book": digest(book[label].words),
                "whole": all(theorem.whole for theorem in tied.values()),
                "theorems": {
                    name: {
                        "statement": found[name].shown,
                        "explicit": digest(found[name].explicit),
                    }
                    for name in tied
                },
            }
            for label, tied in sorted(statements.items())
        },
    }


def changes(old, new, judged=True):
    """Return {label: what changed} of statements and definitions since somebody read both sides.

    Parameters
    ----------
    old, new : dict
        Records.
    judged : bool
        Whether Coq's words can be compared: another version prints other ones.
    """
    found = {}
    for kind in ("definitions", "statements"):
        before, now = old.get(kind, {}), new[kind]
        for label in dict.fromkeys([*before, *now]):
            if label not in now:
                found[label] = "is no longer tied to anything in proofs/"
            elif label not in before:
                found[label] = "is new"
            elif sides := [
                side
                for side in ("book", "coq")
                if _side(before[label], side, judged) != _side(now[label], side, judged)
            ]:
                found[label] = (
                    " and ".join({"book": "the book's words", "coq": "Coq's words"}[side] for side in sides)
                    + " changed"
                )
    return found


def _side(entry, side, judged):
    """Return what one side of an entry of the record says."""
    if side == "book" or "theorems" not in entry:
        return entry.get(side)
    names = ("statement", "explicit") if judged else ()
    theorems = {theorem: [words[name] for name in names] for theorem, words in entry["theorems"].items()}
    return entry["whole"], theorems


def side_by_side(label, sources, book, record):
    """Return what book and Coq say, in two columns."""
    left = [f"The book, {label}:", "", *_wrapped(book[label].words if label in book else "(nothing of this name)")]
    if label in record["statements"]:
        right = []
        for name, words in record["statements"][label]["theorems"].items():
            right += [f"Coq, {name}:", "", *words["statement"].splitlines(), ""]
    else:
        right = ["Coq, Model.v:", "", *tied_definitions(sources, book).get(label, "(nothing)").splitlines()]
    return "\n".join(f"{one:{WIDTH}} | {two}".rstrip() for one, two in zip_longest(left, right, fillvalue=""))


def _wrapped(words):
    return chain.from_iterable(textwrap.wrap(line, WIDTH) or [""] for line in words.splitlines())


# The record, held against the tree without Coq


def record_problems(record, sources, book, ledger):
    """Return where the record of proofs does not fit the tree, one sentence for each place.

    Parameters
    ----------
    record : dict
        As from `read_proofs`.
    sources : dict
        {file: text} of Coq's files.
    book : dict
        {label: block} of the chapters.
    ledger : dict
        {label: entry}; a statement is proved only if it is a claim that is expected to hold.
    """
    found = source_problems(sources, book)
    digests = {file: digest(text) for file, text in sources.items()}
    for file in dict.fromkeys([*record["sources"], *digests]):
        if record["sources"].get(file) != digests.get(file):
            found.append(f"proofs/{file}: Coq has not checked it as it is now; run `{VERB}`")
    for kind in ("definitions", "statements"):
        for label, entry in record[kind].items():
            if entry["book"] != (digest(book[label].words) if label in book else None):
                found.append(
                    f"{label}: its words are not those that were read against Coq's; run `{VERB}`, which shows both"
                )
    now = tied_definitions(sources, book)
    for label, entry in record["definitions"].items():
        if entry["coq"] != digest(now.get(label, "")):
            found.append(f"{label}: {MODEL} is not as it was read against the book; run `{VERB}`, which shows both")
    tied = tied_theorems(sources, book)
    for label in dict.fromkeys([*tied, *record["statements"]]):
        stored, here = record["statements"].get(label, {}).get("theorems", {}), tied.get(label, {})
        if stored.keys() != here.keys():
            found.append(
                f"{label}: the record has the theorems {', '.join(stored) or 'none'}, and proofs/ has "
                f"{', '.join(here) or 'none'}; run `{VERB}`"
            )
        if getattr(ledger.get(label), "expect", None) != "holds":
            found.append(f"{label}: Coq proves it, and the ledger has no claim of this name that holds")
    return found + axiom_problems("a proof", record["axioms"])


def axiom_problems(name, axioms):
    """Return which axioms, those of a proof of this name, are none of the four of Coq's real numbers."""
    return [
        f"{name} uses {axiom}, which is none of the four axioms of Coq's real numbers"
        for axiom in axioms
        if axiom not in AXIOMS
    ]


def read_coverage():
    """Return {claim: "proved", or why not} from proofs/coverage.toml; whose tables part the card from extensions."""
    tables = tomllib.loads(COVERAGE.read_text(encoding="utf-8"))
    return {label: words for table in tables.values() for label, words in table.items()}


def coverage_problems(coverage, sources, book, ledger):
    """Return which claims the list of what is proved lacks, and of which it says what proofs/ does not.

    Parameters
    ----------
    coverage : dict
        As from `read_coverage`.
    sources, book, ledger
        As for `record_problems`.
    """
    tied = tied_theorems(sources, book)
    proved = {label for label, found in tied.items() if all(theorem.whole for theorem in found.values())}
    claims = {label for label, entry in ledger.items() if hasattr(entry, "expect")}
    said = {label for label, words in coverage.items() if words == "proved"}
    found = [f"{label}: is missing in proofs/coverage.toml" for label in sorted(claims - coverage.keys())]
    found += [f"{label}: stands in proofs/coverage.toml, and is no claim" for label in sorted(coverage.keys() - claims)]
    found += [f"{label}: proofs/coverage.toml says proved, and no proof says so" for label in sorted(said - proved)]
    return found + [f"{label}: is proved, and proofs/coverage.toml says why not" for label in sorted(proved - said)]


# The verbs


def prove(accepted, say=print):
    """Compile, list axioms, compare; store what changed on no side, or what was accepted.  Return the exit status."""
    start, sources, book = time.monotonic(), read_sources(), read_book()
    if problems := source_problems(sources, book):
        say(*problems, sep="\n", file=sys.stderr)
        return 1
    tied = tied_theorems(sources, book)
    names = list(dict.fromkeys(chain.from_iterable(tied.values())))
    with tempfile.TemporaryDirectory() as folder:
        here = copied(sources, Path(folder))
        coq.compiled(here)
        say(f"{len(sources)} files compiled.", flush=True)
        found, axioms = coq.statements(here, names), coq.axioms(here, names)
        problems = [
            f"{theorem}: its statement uses {definition}, which belongs into {MODEL}"
            for theorem, definition in coq.uses(here, found, definitions_outside(sources))
        ]
        if axiom_problems("a proof", axioms):  # whose?
            problems += chain.from_iterable(axiom_problems(name, coq.axioms(here, [name])) for name in names)
    if problems:
        say(*problems, sep="\n", file=sys.stderr)
        return 1
    say(f"{len(names)} theorems for {len(tied)} statements of the book rest on {len(axioms)} axioms:")
    say(*(f"  {axiom}: {AXIOMS[axiom]}" for axiom in axioms), sep="\n")
    record = {
        "versions": {"coq": coq.version(), "coquelicot": coq.library_version()},
        "axioms": [*axioms],
        **entries(sources, book, found),
    }
    status = compare(record, sources, book, accepted, say)
    say(f"{time.monotonic() - start:.0f} s")
    return status


def compare(record, sources, book, accepted, say=print):
    """Compare a new record with the stored one, and store it where nothing needs a reader, or a reader accepts it."""
    old = read_proofs() if proofs_path().exists() else {}
    versions = [old.get("versions", {}).get("coq"), record["versions"]["coq"]]
    judged = bool(accepted) or versions[0] in (None, versions[1])
    found = changes(old, record, judged)
    for label, what in found.items():
        say(f"\n{label}: {what}\n\n{side_by_side(label, sources, book, record)}")
    if unasked := [label for label in accepted if label not in found]:
        say(f"Nothing to accept of {', '.join(unasked)}; nothing was stored.", file=sys.stderr)
        return 1
    if any(label not in accepted for label in found):
        say(
            f"\nNothing was stored. Read both sides of each against each other. Where they say the same:\n"
            f'{VERB} ACCEPT="{" ".join(found)}"',
            file=sys.stderr,
        )
        return 1
    if not judged:
        say(
            f"The tie was not judged: the record is of Coq {versions[0]}, this is {versions[1]}, which may print "
            "statements in other words. The proofs compile."
        )
    elif record == old:
        say("Both sides are as they were read.")
    else:
        write(proofs_path(), json.dumps(record, indent=1, ensure_ascii=False) + "\n")
        read_proofs.cache_clear()
        say("The record is stored. `make notebooks` shows it on the pages." if found else "The record is stored.")
    return 0


def prove_all(say=print):
    """Check the compiled proofs with coqchk, and break definitions and hypotheses; store what became of each mutant.

    Return the exit status.
    """
    start, sources, mutants = time.monotonic(), read_sources(), read_mutants()
    problems, answers = mutant_problems(mutants, sources), {}
    if not problems:
        with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(cpu_count()) as pool:
            here = copied(sources, Path(folder))
            coq.compiled(here)
            checked = pool.submit(coq.checked_again, here)  # takes long, and leaves a processor to the mutants
            for mutant, answer in zip(mutants, pool.map(lambda one: broken(one, here), mutants), strict=True):
                say(f"{mutant['why']}: {answer}", flush=True)
                answers[mutant["why"]] = {"change": change(mutant), "answer": answer}
                problems += unexpected(mutant, answer)
            say(checked.result())
            problems += chk_problems(checked.result(), sources)
        write(ANSWERS, json.dumps(answers, indent=1, ensure_ascii=False) + "\n")
    say(*problems, sep="\n", end="\n" if problems else "", file=sys.stderr)
    equivalent = sum("equivalent" in mutant for mutant in mutants)
    say(f"{len(mutants)} mutants, {equivalent} of them equivalent, {len(problems)} problems.")
    say(f"{time.monotonic() - start:.0f} s")
    return int(bool(problems))


def chk_problems(summary, sources):
    """Return what coqchk says that it took on trust in our own files, or in anyone's where a check was switched off."""
    if "CONTEXT SUMMARY" not in summary:
        return ["coqchk: says nothing of what it took on trust"]
    found, heading = [], ""
    own = tuple(f"{file.removesuffix('.v')}." for file in sources)
    for line in map(str.strip, summary.splitlines()):
        if line.startswith("* "):
            heading, _, rest = line[2:].partition(":")
            line = rest.strip()
        if (
            line
            and line != "<none>"
            and (heading != "Axioms" or line.startswith(own))
            and not heading.startswith("Theory")
        ):
            found += [f"coqchk: {heading}: {line}"] if heading else []
    return found


def read_mutants(path=MUTANTS):
    """Return the mutants that stand in proofs/mutants.toml: each has why, file, old, new, and may be equivalent."""
    return tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]


def change(mutant):
    """Return a digest of what a mutant changes."""
    return digest(" ".join(mutant[key] for key in ("file", "old", "new")))


def read_answers():
    """Return {why: {"change": digest, "answer": words}} of all mutants of the last `make prove-all`."""
    return json.loads(ANSWERS.read_text(encoding="utf-8"))


def answer_problems(mutants, answers):
    """Return which mutants no run of `make prove-all` has tried as they stand, or had another end than they should.

    Parameters
    ----------
    mutants : list of dict
        As from `read_mutants`.
    answers : dict
        As from `read_answers`.
    """
    found = []
    for mutant in mutants:
        stored = answers.get(mutant["why"], {})
        if stored.get("change") != change(mutant):
            found.append(f"{mutant['why']}: was not tried as it stands; run `{VERB}-all`")
        else:
            found += unexpected(mutant, stored["answer"])
    left = answers.keys() - {mutant["why"] for mutant in mutants}
    return found + [f"{why}: was tried, and is no mutant; run `{VERB}-all`" for why in sorted(left)]


def mutant_problems(mutants, sources):
    """Return which mutants change nothing, or not one place alone."""
    return [
        f"{mutant['why']}: {mutant['old']!r} stands {number} times in proofs/{mutant['file']}, must stand there once"
        for mutant in mutants
        if (number := sources.get(mutant["file"], "").count(mutant["old"])) != 1
    ]


def broken(mutant, compiled):
    """Return what Coq says of a mutant: SURVIVED, the first theorem that fails, or why it is no mutant at all."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        shutil.copytree(compiled, here, dirs_exist_ok=True)
        changed = here / mutant["file"]
        changed.write_text(changed.read_text(encoding="utf-8").replace(mutant["old"], mutant["new"]), encoding="utf-8")
        for module in order(mutant, read_sources(here), coq.dependencies(here)):
            try:
                coq.compile_one(here, module, LONGEST)
            except coq.Refused as error:
                if "Syntax error" in str(error) or f"{module}.v" == MODEL:
                    return f"{NO_MUTANT}: {' '.join(str(error).split())}"
                return f"{BREAKS} {module}.{_place(str(error), (here / f'{module}.v').read_text(encoding='utf-8'))}"
    return SURVIVED


def order(mutant, sources, needs):
    """Return the files that a mutant changes or that rest on it, so that those that name what it breaks come early.

    Parameters
    ----------
    mutant : dict
        As from `read_mutants`.
    sources : dict
        {file: text}, with the mutant in it.
    needs : dict
        {module: modules that it needs}.

    Examples
    --------
    >>> needs = {"Model": set(), "Sum": {"Model"}, "Row": {"Model", "Sum"}}
    >>> sources = {"Model.v": "Definition b := 2.", "Sum.v": "c", "Row.v": "b"}
    >>> order({"file": "Model.v", "new": "b := 2"}, sources, needs)
    ['Model', 'Sum', 'Row']
    >>> order({"file": "Model.v", "new": "b := 2"}, sources, needs | {"Row": {"Model"}})
    ['Model', 'Row', 'Sum']
    """
    changed = mutant["file"].removesuffix(".v")
    rests = {}  # {module: those that it rests on, as far as the mutant changes them}
    for module in TopologicalSorter(needs).static_order():
        below = set().union(*(rests.get(other, ()) for other in needs[module]))
        if module == changed or below:
            rests[module] = below | {module}
    before = sources[mutant["file"]].partition(mutant["new"])[0]
    names = DEFINITION.findall(before + mutant["new"]) or [changed]
    named = re.compile(rf"(?<![\w'])({re.escape(names[-1])})(?![\w'])")
    found = {}
    for module in sorted(rests, key=lambda one: (not named.search(sources[f"{one}.v"]), len(rests[one]), one)):
        found |= dict.fromkeys(sorted(rests[module], key=lambda one: (len(rests[one]), one)))
    return list(found)


def _place(message, text):
    """Return the theorem in which Coq's message names a line."""
    line = re.search(r"line (\d+)", message)
    before = "\n".join(text.splitlines()[: int(line[1])]) if line else ""
    return ([theorem["name"] for theorem in THEOREM.finditer(before)] or ["its beginning"])[-1]


def unexpected(mutant, answer):
    """Return what is wrong with the answer to a mutant.

    Examples
    --------
    >>> unexpected({"why": "n + 1"}, "breaks Main.main_theorem"), unexpected({"why": "n + 1"}, "survived")
    ([], ['n + 1: no proof breaks; is a hypothesis idle, or is it equivalent, and why?'])
    """
    if answer.startswith(NO_MUTANT):
        return [f"{mutant['why']}: {answer}"]
    if "equivalent" in mutant and answer != SURVIVED:
        return [f"{mutant['why']}: {answer}, so it is not equivalent"]
    if "equivalent" not in mutant and answer == SURVIVED:
        return [f"{mutant['why']}: no proof breaks; is a hypothesis idle, or is it equivalent, and why?"]
    return []


def copied(sources, folder):
    """Write the sources into a folder, so that nothing that Coq makes comes into the tree; return the folder."""
    for file, text in sources.items():
        (folder / file).write_text(text, encoding="utf-8")
    return folder


def main(words):
    """Run a verb; where Coq is missing, say so in one sentence."""
    parser = argparse.ArgumentParser(prog="python -m tools.prove")
    parser.add_argument("--accept", default="", metavar="LABELS", help="statements of which somebody read both sides")
    parser.add_argument("--all", action="store_true", help="coqchk and mutants instead")
    chosen = parser.parse_args(words)
    try:
        return prove_all() if chosen.all else prove(chosen.accept.split())
    except coq.MissingCoq as error:
        print(f"Nothing was proved, because {error}: install {coq.NEEDED}.", file=sys.stderr)
        return NOT_RUN
    except coq.Refused as error:
        print(f"Coq refuses a proof:\n{error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
