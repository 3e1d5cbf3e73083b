"""The tie between the book and Coq: whatever changes on one side alone is refused, and the record fits the tree."""

import json
import re
import shutil
from types import SimpleNamespace

import pytest

from attnsep.claims import LEDGER
from attnsep.ledger.proofs import AXIOMS, digest, read_proofs
from tools import coq, prove
from tools.coq_sources import MODEL, comments, lines, read_sources, sections, theorems

# A book of two statements, and a model of one definition.
BOOK = {
    block.label: block
    for block in prove.blocks(
        {
            "cells": [
                {
                    "cell_type": "markdown",
                    "source": [
                        "```{prf:definition} Half · source\n:label: def-half\n:class: mark-source\n\n",
                        "Half is 1/2.\n```\n\n",
                        "```{prf:lemma} Sum · source\n:label: two-halves\n:class: mark-source\n\nTwo make $1$.\n```\n",
                    ],
                },
                {"cell_type": "code", "source": "1"},
            ]
        }
    )
}
SOURCES = {
    MODEL: "(** * The model *)\nOpen R.\n\n(** ** Parts  [def-half] *)\n\nDefinition half := 1 / 2.\n",
    "Sum.v": "(** Not tied. *)\nLemma one : True.\n\n"
    "(** [two-halves] *)\nTheorem two : half + half = 1.\nProof. lra. Qed.\n",
}
FOUND = {"Sum.two": coq.Theorem("half + half = 1", "eq (plus half half) 1")}
BASE = {"versions": {"coq": "8.16.1", "coquelicot": "3.2"}, "axioms": [*AXIOMS]}
RECORD = BASE | prove.entries(SOURCES, BOOK, FOUND)
CLAIM = type("Claim", (), {"expect": "holds"})
CLAIMS = {"two-halves": CLAIM}


def with_words(label, old, new):
    """Return the book with other words in a statement."""
    assert old in BOOK[label].words
    return BOOK | {label: BOOK[label]._replace(words=BOOK[label].words.replace(old, new))}


def with_code(file, old, new):
    """Return the sources with another text in a file."""
    assert old in SOURCES[file]
    return SOURCES | {file: SOURCES[file].replace(old, new)}


# This tree


def test_the_record_fits_the_proofs_the_chapters_and_the_ledger():
    assert prove.record_problems(read_proofs(), read_sources(), prove.read_book(), LEDGER) == []


def test_each_mutant_changes_one_place_of_a_file():
    assert prove.mutant_problems(prove.read_mutants(), read_sources()) == []


def test_each_mutant_was_tried_and_ended_as_it_must():
    assert prove.answer_problems(prove.read_mutants(), prove.read_answers()) == []


def test_the_list_of_what_is_proved_is_that_of_the_ledger_and_the_proofs():
    assert prove.coverage_problems(prove.read_coverage(), read_sources(), prove.read_book(), LEDGER) == []


@pytest.mark.parametrize(
    ("coverage", "found"),
    [
        ({"two-halves": "proved"}, []),
        ({}, ["two-halves: is missing in", "two-halves: is proved, and"]),
        ({"two-halves": "no: too hard"}, ["two-halves: is proved, and proofs/coverage.toml says why not"]),
        ({"two-halves": "proved", "def-half": "no"}, ["def-half: stands in proofs/coverage.toml, and is no claim"]),
    ],
)
def test_what_is_said_to_be_proved_is(coverage, found):
    sentences = prove.coverage_problems(coverage, SOURCES, BOOK, CLAIMS)
    assert [one.startswith(other) for one, other in zip(sentences, found, strict=True)] == [True] * len(found)


def test_what_is_proved_in_part_is_not_proved():
    sources = with_code("Sum.v", "[two-halves]", "[two-halves], in part")
    (found,) = prove.coverage_problems({"two-halves": "proved"}, sources, BOOK, CLAIMS)
    assert found == "two-halves: proofs/coverage.toml says proved, and no proof says so"


@pytest.mark.slow
@pytest.mark.parametrize("label", [*read_proofs()["statements"]][::9])
def test_a_changed_number_of_a_statement_is_noticed(label):
    book = prove.read_book()
    changed = book[label]._replace(words=re.sub(r"\d|n", "7", book[label].words, count=1))
    found = prove.record_problems(read_proofs(), read_sources(), book | {label: changed}, LEDGER)
    assert f"{label}: its words are not those that were read against Coq's; run `make prove`, which shows both" in found


@pytest.mark.parametrize("label", [label for label in read_proofs()["definitions"] if label != MODEL][::4])
def test_a_changed_number_of_a_definition_is_noticed(label):
    book = prove.read_book()
    changed = book[label]._replace(words=re.sub(r"\d|n", "7", book[label].words, count=1))
    found = prove.record_problems(read_proofs(), read_sources(), book | {label: changed}, LEDGER)
    assert f"{label}: its words are not those that were read against Coq's; run `make prove`, which shows both" in found


# What the record must fit


def test_a_record_of_both_sides_is_accepted():
    assert prove.record_problems(RECORD, SOURCES, BOOK, CLAIMS) == []


NOT_READ = "its words are not those that were read against Coq's; run `make prove`"
BAD = {
    "a number of a statement": (
        (RECORD, SOURCES, with_words("two-halves", "1", "2"), CLAIMS),
        f"two-halves: {NOT_READ}",
    ),
    "a number of a definition": ((RECORD, SOURCES, with_words("def-half", "2", "3"), CLAIMS), f"def-half: {NOT_READ}"),
    "a number in Model.v": (
        (RECORD, with_code(MODEL, "1 / 2", "1 / 3"), BOOK, CLAIMS),
        "proofs/Model.v: Coq has not checked it as it is now; run `make prove`",
        "def-half: Model.v is not as it was read against the book; run `make prove`",
    ),
    "a number of a theorem": (
        (RECORD, with_code("Sum.v", "half = 1", "half = 2"), BOOK, CLAIMS),
        "proofs/Sum.v: Coq has not checked it as it is now; run `make prove`",
    ),
    "a file more": ((RECORD, SOURCES | {"New.v": ""}, BOOK, CLAIMS), "proofs/New.v: Coq has not checked it"),
    "a file less": (
        (RECORD, {MODEL: SOURCES[MODEL]}, BOOK, CLAIMS),
        "proofs/Sum.v: Coq has not checked it",
        "two-halves: the record has the theorems Sum.two, and proofs/ has none",
    ),
    "a theorem that lost its label": (
        (RECORD, with_code("Sum.v", "[two-halves]", ""), BOOK, CLAIMS),
        "proofs/Sum.v: Coq has not checked it",
        "two-halves: the record has the theorems Sum.two, and proofs/ has none",
    ),
    "a label that no statement has": (
        (RECORD, with_code("Sum.v", "[two-halves]", "[two-thirds]"), BOOK, CLAIMS),
        "proofs/Sum.v: names [two-thirds], and the book has no statement with this label",
        "proofs/Sum.v: Coq has not checked it",
        "two-halves: the record has the theorems Sum.two, and proofs/ has none",
    ),
    "a statement that is gone": (
        (RECORD, SOURCES, {"def-half": BOOK["def-half"]}, CLAIMS),
        "proofs/Sum.v: names [two-halves], and the book has no statement with this label",
        f"two-halves: {NOT_READ}",
        "two-halves: the record has the theorems Sum.two, and proofs/ has none",
    ),
    "a statement that is false": (
        (RECORD, SOURCES, BOOK, {"two-halves": type("Claim", (), {"expect": "refuted"})}),
        "two-halves: Coq proves it, and the ledger has no claim of this name that holds",
    ),
    "no claim": ((RECORD, SOURCES, BOOK, {}), "two-halves: Coq proves it, and the ledger has no claim"),
    "an axiom in the sources": (
        (RECORD, with_code("Sum.v", "Lemma one", "Axiom one"), BOOK, CLAIMS),
        "proofs/Sum.v: Axiom: a proof assistant has to check all",
        "proofs/Sum.v: Coq has not checked it",
    ),
    "a gap in a proof": (
        (RECORD, with_code("Sum.v", "Qed", "Admitted"), BOOK, CLAIMS),
        "proofs/Sum.v: Admitted: a proof assistant has to check all",
        "proofs/Sum.v: Coq has not checked it",
    ),
    "a type outside of the model": (
        (RECORD, with_code("Sum.v", "Lemma one", "Record pair := {}.\nLemma one"), BOOK, CLAIMS),
        "proofs/Sum.v: pair: a type that theorems may be about belongs into Model.v",
        "proofs/Sum.v: Coq has not checked it",
    ),
}


@pytest.mark.parametrize(("inputs", "sentences"), [(first, rest) for first, *rest in BAD.values()], ids=BAD)
def test_what_does_not_fit_is_refused(inputs, sentences):
    found = prove.record_problems(*inputs)
    assert [one.startswith(other) for one, other in zip(found, sentences, strict=True)] == [True] * len(sentences)


def test_an_axiom_more_is_refused():
    (found,) = prove.record_problems(RECORD | {"axioms": [*AXIOMS, "Sum.one"]}, SOURCES, BOOK, CLAIMS)
    assert found == "a proof uses Sum.one, which is none of the four axioms of Coq's real numbers"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Closed under the global context\n", ()),
        ("Axioms:\nA.b : forall x,\n  x\nC.d\n  : nat\n", ("A.b", "C.d")),
        ("Axioms:\nx.y : nat\nf is assumed to be guarded.\n", ("f is assumed to be guarded.", "x.y")),
        ("Section Variables:\nD : data\n", ("D", "Section Variables:")),
    ],
)
def test_whatever_a_proof_takes_on_trust_counts_as_an_axiom(text, found):
    assert coq.trusted(text) == found


# The tie


def entries(sources=SOURCES, book=BOOK, **changes):
    found = {"Sum.two": FOUND["Sum.two"]._replace(**changes)}
    return BASE | prove.entries(sources, book, found)


@pytest.mark.parametrize(
    ("record", "found"),
    [
        (entries(), {}),
        (entries(with_code("Sum.v", "lra", "reflexivity")), {}),
        (entries(book=with_words("two-halves", "1", "2")), {"two-halves": "the book's words changed"}),
        (entries(shown="half + half = 2"), {"two-halves": "Coq's words changed"}),
        (entries(explicit="eq (plus half half) 2"), {"two-halves": "Coq's words changed"}),
        (
            entries(book=with_words("two-halves", "1", "2"), shown="2"),
            {"two-halves": "the book's words and Coq's words changed"},
        ),
        (entries(with_code("Sum.v", "[two-halves]", "[two-halves], in part")), {"two-halves": "Coq's words changed"}),
        (entries(with_code(MODEL, "/ 2", "/ 3")), {"def-half": "Coq's words changed"}),
        (entries(with_code(MODEL, "Open R.", "Open Q.")), {MODEL: "Coq's words changed"}),
        (entries(with_code("Sum.v", "[two-halves]", "")), {"two-halves": "is no longer tied to anything in proofs/"}),
    ],
)
def test_neither_side_changes_alone(record, found):
    assert prove.changes(RECORD, record) == found


def test_what_is_new_must_be_read():
    assert prove.changes({}, RECORD) == dict.fromkeys((MODEL, "def-half", "two-halves"), "is new")


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """A record of its own, which has the two sides of above."""
    path = tmp_path / "proofs.json"
    path.write_text(json.dumps(RECORD))
    monkeypatch.setattr(prove, "proofs_path", lambda: path)
    reader = lambda: json.loads(path.read_text())  # noqa: E731
    reader.cache_clear = lambda: None
    monkeypatch.setattr(prove, "read_proofs", reader)
    return reader


def compared(record, book=BOOK, accepted=(), sources=SOURCES):
    lines = []
    status = prove.compare(record, sources, book, [*accepted], lambda *words, **_: lines.extend(map(str, words)))
    return status, "\n".join(lines)


def test_a_statement_that_did_not_change_is_nothing_to_accept(stored):
    assert compared(entries(), accepted=["two-halves"]) == (1, "Nothing to accept of two-halves; nothing was stored.")


@pytest.mark.parametrize(("first", "second"), [("", ", in part"), (", in part", ""), (", in part", ", in part")])
def test_a_statement_is_whole_where_each_of_its_theorems_is(first, second):
    """Together they may say less than the book even where one of them says what it says."""
    text = f"(** [two-halves]{first} *)\nLemma once : True.\n(** [two-halves]{second} *)\nLemma two : True."
    found = dict.fromkeys(("Sum.once", "Sum.two"), FOUND["Sum.two"])
    assert not prove.entries(SOURCES | {"Sum.v": text}, BOOK, found)["statements"]["two-halves"]["whole"]


def test_a_proof_that_changed_is_stored_without_a_reader(stored):
    sources = with_code("Sum.v", "lra", "reflexivity")
    assert compared(entries(sources), sources=sources) == (0, "The record is stored.")
    assert stored()["sources"]["Sum.v"] == digest(sources["Sum.v"])
    assert compared(entries(sources), sources=sources) == (0, "Both sides are as they were read.")


def test_a_statement_that_changed_is_shown_beside_coq_and_stored_only_where_it_is_accepted(stored):
    book = with_words("two-halves", "Two make", "Two always make")
    status, said = compared(entries(book=book), book)
    assert (status, stored()) == (1, RECORD)
    assert said.splitlines() == [
        *("", "two-halves: the book's words changed", ""),
        f"{'The book, two-halves:':60} | Coq, Sum.two:",
        f"{'':60} |",
        f"{'Two always make $1$.':60} | half + half = 1",
        f"{'':60} |",
        *("", "Nothing was stored. Read both sides of each against each other. Where they say the same:"),
        'make prove ACCEPT="two-halves"',
    ]
    assert compared(entries(book=book), book, ["two-halves"])[0] == 0
    assert stored()["statements"]["two-halves"]["book"] == digest("Two always make $1$.")


@pytest.mark.parametrize("others", [["def-half"], ["nothing", "def-half"]])
def test_what_is_accepted_is_what_changed(stored, others):
    book = with_words("two-halves", "1", "2")
    for accepted in (others, ["two-halves", *others]):
        status, said = compared(entries(book=book), book, accepted)
        assert (status, stored()) == (1, RECORD)
        assert said.splitlines()[-1] == f"Nothing to accept of {', '.join(others)}; nothing was stored."


def test_a_definition_is_shown_beside_the_model_and_what_the_book_lacks_is_said():
    assert prove.side_by_side("def-half", SOURCES, BOOK, RECORD).splitlines() == [
        f"{'The book, def-half:':60} | Coq, Model.v:",
        f"{'':60} |",
        f"{'Half is 1/2.':60} | (** ** Parts  [def-half] *)",
        f"{'':60} |",
        f"{'':60} | Definition half := 1 / 2.",
    ]
    assert prove.side_by_side(MODEL, SOURCES, BOOK, RECORD).splitlines()[2:] == [
        f"{'(nothing of this name)':60} | (** * The model *)",
        f"{'':60} | Open R.",
    ]


@pytest.fixture
def proved(stored, monkeypatch):
    """Let Coq accept the sources of above; return a function that runs the verb with other answers of Coq's."""

    def run(sources=SOURCES, axioms=(), used=(), accepted=()):
        lines, compiled, more = [], [], dict(axioms)
        monkeypatch.setattr(prove, "read_sources", lambda: sources)
        monkeypatch.setattr(prove, "read_book", lambda: BOOK)
        monkeypatch.setattr(coq, "compiled", lambda here: compiled.append(read_sources(here)))
        monkeypatch.setattr(coq, "statements", lambda here, names: dict.fromkeys(names, FOUND["Sum.two"]))
        monkeypatch.setattr(
            coq, "axioms", lambda here, names: [*AXIOMS, *(more[name] for name in names if name in more)]
        )
        monkeypatch.setattr(coq, "uses", lambda here, found, definitions: [*used])
        monkeypatch.setattr(coq, "version", lambda: BASE["versions"]["coq"])
        monkeypatch.setattr(coq, "library_version", lambda: BASE["versions"]["coquelicot"])
        monkeypatch.setattr(prove, "time", SimpleNamespace(monotonic=lambda: 7.0))

        def say(*words, sep=" ", end="\n", file=None, flush=False):
            lines.append(("" if file is None else "stderr: ") + sep.join(words) + end)

        status = prove.prove([*accepted], say)
        assert compiled in ([], [sources])
        return status, "".join(lines).splitlines(), bool(compiled)

    return run


def test_proofs_that_coq_accepts_are_counted_with_their_axioms(proved, stored):
    assert proved() == (
        0,
        [
            "2 files compiled.",
            "1 theorems for 1 statements of the book rest on 4 axioms:",
            *(f"  {axiom}: {words}" for axiom, words in AXIOMS.items()),
            "Both sides are as they were read.",
            "0 s",
        ],
        True,
    )
    other = with_code("Sum.v", "half = 1.", "half = 1 .")
    assert proved(other)[1][-2:] == ["The record is stored.", "0 s"]
    assert stored() == entries(other)


TWICE = with_code("Sum.v", "(** [two-halves] *)", "(** [two-halves] *)\nLemma once : True.\n(** [two-halves] *)")


@pytest.mark.parametrize(
    ("sources", "answers", "found"),
    [
        (
            TWICE,
            {"axioms": {"Sum.once": "Sum.magic"}},
            "Sum.once uses Sum.magic, which is none of the four axioms of Coq's real numbers",
        ),
        (
            SOURCES,
            {"used": [("Sum.two", "Sum.whole")]},
            "Sum.two: its statement uses Sum.whole, which belongs into Model.v",
        ),
        (with_code("Sum.v", "Qed", "Admitted"), {}, "proofs/Sum.v: Admitted: a proof assistant has to check all"),
    ],
    ids=["an axiom", "a definition elsewhere", "a gap"],
)
def test_what_is_wrong_with_a_proof_is_said_and_nothing_is_stored(proved, stored, sources, answers, found):
    status, lines, compiled = proved(sources, **answers, accepted=["two-halves"])
    assert (status, lines) == (1, ["2 files compiled."] * compiled + [f"stderr: {found}"])
    assert compiled == bool(answers)
    assert stored() == RECORD


def test_with_another_coq_the_tie_is_not_judged_and_nothing_is_stored(stored):
    record = entries(shown="other words", explicit="other words") | {"versions": {"coq": "8.20.0", "coquelicot": "?"}}
    status, said = compared(record)
    assert (status, stored()) == (0, RECORD)
    assert said.startswith("The tie was not judged: the record is of Coq 8.16.1, this is 8.20.0")


def test_with_another_coq_the_book_is_judged_all_the_same(stored):
    book = with_words("two-halves", "1", "2")
    assert compared(entries(book=book) | {"versions": {"coq": "8.20.0", "coquelicot": "?"}}, book)[0] == 1
    assert (
        compared(entries(shown="x") | {"versions": {"coq": "8.20.0", "coquelicot": "?"}}, BOOK, ["two-halves"])[0] == 0
    )
    assert stored()["versions"]["coq"] == "8.20.0"


# Reading Coq's files


def test_a_comment_may_hold_others_and_a_string_may_hold_none():
    text = 'A. (** one (* two *) [x-y] *) B "(*". (* three *)'
    assert [(comment.words, comment.code.strip()) for comment in comments(text)] == [
        ("", "A."),
        ("one (* two *) [x-y]", 'B "(*".'),
        ("three", ""),
    ]


def test_labels_stand_in_the_comments_just_before_a_theorem():
    text = "\n(** [a-b], more *)\nLemma x : 1.\n(** [c-d] *)\nProof.\n"
    text += "(** [e-f,\n g-h] (in part) *)\n(* [i_j] *)\nCorollary y' : 2."
    assert lines(text) == {"x": 3, "y'": 9}
    assert [(theorem.name, theorem.labels, theorem.whole) for theorem in theorems(text)] == [
        ("x", ("a-b",), True),
        ("y'", ("e-f", "g-h"), False),
    ]


def test_sections_of_the_model_have_their_labels():
    first, second = sections(SOURCES[MODEL])
    assert (first.title, first.labels) == ("The model", ())
    assert (second.title, second.labels) == ("Parts", ("def-half",))
    assert second.text.endswith("Definition half := 1 / 2.")


# Mutants


@pytest.mark.parametrize(
    ("mutant", "answer", "found"),
    [
        ({}, "breaks Sum.two", None),
        ({"equivalent": "because"}, "survived", None),
        ({}, "survived", "no proof breaks"),
        ({"equivalent": "because"}, "breaks Sum.two", "so it is not equivalent"),
        ({}, "no mutant: Syntax error", "no mutant: Syntax error"),
    ],
)
def test_a_mutant_must_break_a_proof_or_say_why_not(mutant, answer, found):
    sentences = prove.unexpected({"why": "half is a third"} | mutant, answer)
    assert len(sentences) == (found is not None)
    assert all(found in sentence for sentence in sentences)


@pytest.mark.parametrize(
    ("why", "new", "answer", "found"),
    [
        ("half is a third", "1 / 3", "breaks Sum.two", None),
        ("half is a third", "1 / 3", "survived", "no proof breaks"),
        ("half is a third", "1 / 4", "breaks Sum.two", "was not tried as it stands"),
        ("half is a third", None, None, "was not tried as it stands"),
        ("half is a quarter", "1 / 4", "breaks Sum.two", "half is a quarter: was tried, and is no mutant"),
    ],
)
def test_a_mutant_that_nobody_tried_is_noticed(why, new, answer, found):
    mutant = {"why": "half is a third", "file": MODEL, "old": "1 / 2", "new": "1 / 3"}
    other = {"why": "half is one", "file": MODEL, "old": "1 / 2", "new": "1"}
    tried = {"half is one": {"change": prove.change(other), "answer": "breaks Sum.two"}}
    if why != mutant["why"]:
        tried[mutant["why"]] = {"change": prove.change(mutant), "answer": "breaks Sum.two"}
    if new:
        tried[why] = {"change": prove.change(mutant | {"new": new}), "answer": answer}
    sentences = prove.answer_problems([mutant, other], tried)
    assert len(sentences) == (found is not None)
    assert all(found in sentence for sentence in sentences)


@pytest.mark.parametrize(("old", "number"), [("1 / 2", None), ("1 / 9", 0), ("f", 4)])
def test_a_mutant_changes_one_place(old, number):
    found = prove.mutant_problems([{"why": "w", "file": MODEL, "old": old, "new": "x"}], SOURCES)
    assert found == (
        [] if number is None else [f"w: {old!r} stands {number} times in proofs/Model.v, must stand there once"]
    )


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('File "./Sum.v", line 1, characters 0-5:', "its beginning"),
        ('File "./Sum.v", line 2, characters 0-5:', "one"),
        ('File "./Sum.v", line 4, characters 0-5:', "one"),
        ('File "./Sum.v", line 5, characters 0-5:', "two"),
        ('File "./Sum.v", line 6, characters 0-5:', "two"),
        ("not done after 600 seconds", "its beginning"),
    ],
)
def test_a_mutant_breaks_the_theorem_in_whose_lines_coq_stops(line, found):
    assert prove._place(f"{line}\nError: line 1 is fine", SOURCES["Sum.v"]) == found


SUMMARY = """\

CONTEXT SUMMARY
===============

* Theory: Set is predicative

* Axioms:
    Coq.Logic.Classical_Prop.classic

* Constants/Inductives relying on type-in-type: <none>

* Inductives whose positivity is assumed: <none>
"""


@pytest.mark.parametrize(
    ("summary", "found"),
    [
        (SUMMARY, []),
        ("", ["coqchk: says nothing of what it took on trust"]),
        (SUMMARY.replace("classic", "classic\n    Sum.one"), ["coqchk: Axioms: Sum.one"]),
        (SUMMARY.replace("assumed: <none>", "assumed: data"), ["coqchk: Inductives whose positivity is assumed: data"]),
    ],
)
def test_coqchk_takes_nothing_of_ours_on_trust(summary, found):
    assert prove.chk_problems(summary, SOURCES) == found


MUTANT = {"why": "half is a third", "file": MODEL, "old": "1 / 2", "new": "1 / 3"}
SAME = {"why": "hälf is two quarters", "file": MODEL, "old": "1 / 2", "new": "2 / 4", "equivalent": "the same number"}


@pytest.mark.parametrize(
    ("mutants", "answers", "summary", "found"),
    [
        ([MUTANT, SAME], ["breaks Sum.two", "survived"], SUMMARY, []),
        (
            [MUTANT, SAME],
            ["survived", "survived"],
            SUMMARY.replace("classic", "classic\n    Sum.one"),
            [
                "half is a third: no proof breaks; is a hypothesis idle, or is it equivalent, and why?",
                "coqchk: Axioms: Sum.one",
            ],
        ),
        (
            [MUTANT | {"old": "1 / 9"}, SAME],
            None,
            None,
            ["half is a third: '1 / 9' stands 0 times in proofs/Model.v, must stand there once"],
        ),
    ],
    ids=["all as it must be", "a mutant and an axiom too many", "a mutant that changes nothing"],
)
def test_what_became_of_each_mutant_is_said_and_stored(monkeypatch, tmp_path, mutants, answers, summary, found):
    """Without answers nothing may run, and what was stored stays."""
    told, errors, path = [], [], tmp_path / "mutants.json"
    path.write_text("as before")
    ends = dict(zip([mutant["why"] for mutant in mutants], answers or (), strict=False))
    monkeypatch.setattr(prove, "ANSWERS", path)
    monkeypatch.setattr(prove, "read_sources", lambda: SOURCES)
    monkeypatch.setattr(prove, "read_mutants", lambda: mutants)
    monkeypatch.setattr(coq, "compiled", lambda here: None if answers else pytest.fail("ran"))
    monkeypatch.setattr(coq, "checked_again", lambda here: summary)
    monkeypatch.setattr(prove, "broken", lambda mutant, here: ends[mutant["why"]])
    monkeypatch.setattr(prove, "time", SimpleNamespace(monotonic=lambda: 7.0))

    def say(*words, sep=" ", end="\n", file=None, flush=False):
        (told if file is None else errors).append(sep.join(words) + end)

    assert prove.prove_all(say) == bool(found)
    assert "".join(errors).splitlines() == found
    assert (
        "".join(told)
        == "".join(f"{why}: {answer}\n" for why, answer in ends.items())
        + (f"{summary}\n" if answers else "")
        + f"2 mutants, 1 of them equivalent, {len(found)} problems.\n0 s\n"
    )
    stored = {one["why"]: {"change": prove.change(one), "answer": ends[one["why"]]} for one in mutants if ends}
    assert path.read_text(encoding="utf-8") == (
        json.dumps(stored, indent=1, ensure_ascii=False) + "\n" if answers else "as before"
    )


# Without Coq, and with it


def test_the_verb_accepts_labels_or_tries_the_mutants_and_says_what_coq_refuses(monkeypatch, capsys):
    def refuse():
        raise coq.Refused("Sum.v: why")

    monkeypatch.setattr(prove, "prove", lambda accepted: {"a-b c-d": 5, "": 6}[" ".join(accepted)])
    monkeypatch.setattr(prove, "prove_all", refuse)
    assert (prove.main(["--accept", "a-b c-d"]), prove.main([]), prove.main(["--all"])) == (5, 6, 1)
    assert capsys.readouterr() == ("", "Coq refuses a proof:\nSum.v: why\n")


def test_where_coq_is_missing_one_sentence_says_what_to_install(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert prove.main([]) == prove.main(["--all"]) == 77
    first, second = capsys.readouterr().err.splitlines()
    assert first == second
    assert first.startswith("Nothing was proved, because there is no coq")
    assert first.endswith("(Debian: apt-get install --no-install-recommends coq libcoq-coquelicot).")


needs_coq = pytest.mark.skipif(shutil.which("coqc") is None, reason="this system has no Coq")
REAL = {
    MODEL: "From Coq Require Import Reals.\nOpen Scope R_scope.\n"
    "(** ** Parts [def-half] *)\nDefinition half : R := 1 / 2.\n",
    "Sum.v": "From Coq Require Import Reals Lra.\nRequire Import Model.\nOpen Scope R_scope.\nDefinition whole := 1.\n"
    "(** [two-halves] *)\nTheorem two : half + half = 1.\nProof. unfold half. lra. Qed.\n"
    "Theorem other : half + half = whole.\nProof. exact two. Qed.\n",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    here = prove.copied(REAL, tmp_path_factory.mktemp("proofs"))
    coq.compiled(here)
    return here


@needs_coq
@pytest.mark.slow
def test_coq_says_what_a_theorem_states_and_rests_on(folder):
    found = coq.statements(folder, ["Sum.two", "Sum.other"])
    assert found["Sum.two"].shown == "half + half = 1"
    assert "half" in found["Sum.two"].explicit
    assert "+" not in found["Sum.two"].explicit
    assert {*coq.axioms(folder, [*found])} <= {*AXIOMS}
    assert coq.uses(folder, found, ["Sum.whole"]) == [("Sum.other", "Sum.whole")]


@needs_coq
@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "old", "new", "answer"),
    [
        (MODEL, "1 / 2", "1 / 3", "breaks Sum.two"),
        (MODEL, "1 / 2", "2 / 4", "survived"),
        (MODEL, "1 / 2", "1 / /", "no mutant"),
        (MODEL, "1 / 2", "True", "no mutant"),
        ("Sum.v", "half + half = whole", "half + half = 2 * whole", "breaks Sum.other"),
    ],
)
def test_a_broken_definition_breaks_a_proof(folder, file, old, new, answer):
    assert prove.broken({"file": file, "old": old, "new": new}, folder).startswith(answer)
    assert (folder / "Model.v").read_text(encoding="utf-8") == REAL[MODEL]


@needs_coq
@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "found"), [("Lemma a : True. Proof. exact I. Qed.", []), ("Axiom a : False.", ["Sum.a"])]
)
def test_coqs_second_kernel_says_what_it_took_on_trust(tmp_path, file, found):
    coq.compiled(prove.copied({"Sum.v": file}, tmp_path))
    assert prove.chk_problems(coq.checked_again(tmp_path), SOURCES) == [f"coqchk: Axioms: {name}" for name in found]


@needs_coq
@pytest.mark.slow
def test_coq_refuses_a_wrong_proof(tmp_path):
    prove.copied(REAL | {"Sum.v": REAL["Sum.v"].replace("half = 1", "half = 2")}, tmp_path)
    with pytest.raises(coq.Refused, match=r"Sum\.v"):
        coq.compiled(tmp_path)


def test_files_that_use_the_definition_in_which_a_mutant_stands_come_early():
    needs = {"Model": set(), "Row": {"Model"}, "Sum": {"Model"}}
    sources = {"Model.v": "Definition a := 1.\nDefinition b := 3.", "Row.v": "a", "Sum.v": "b"}
    assert prove.order({"file": "Model.v", "new": "3"}, sources, needs) == ["Model", "Sum", "Row"]
    assert prove.order({"file": "Model.v", "new": "1"}, sources, needs) == ["Model", "Row", "Sum"]


def test_several_statements_may_be_accepted_at_once(monkeypatch):
    asked = []
    monkeypatch.setattr(prove, "prove", lambda accepted: asked.append(accepted) or 0)
    assert prove.main(["--accept", "one two"]) == prove.main([]) == 0
    assert asked == [["one", "two"], []]
