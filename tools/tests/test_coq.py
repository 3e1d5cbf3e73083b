"""What Coq's programs answer is read as it stands, and what they refuse is said; they are not needed here."""

import subprocess
from types import SimpleNamespace

import pytest

from tools import coq, coq_sources


@pytest.fixture
def answers(monkeypatch):
    """Let Coq's programs say what a test puts here, and write down how they are run."""
    said = SimpleNamespace(returncode=0, stdout="", stderr="", ran=[])

    def run(command, **options):
        said.ran.append((command, options))
        return said

    monkeypatch.setattr(coq.shutil, "which", lambda program: f"/usr/bin/{program}")
    monkeypatch.setattr(coq.subprocess, "run", run)
    return said


def test_versions_are_those_of_coq_and_of_debians_package(answers, monkeypatch):
    answers.stdout = "8.16.1 4.13.1\n"
    assert coq.version() == "8.16.1"
    assert answers.ran[0][0] == ["coqc", "--print-version"]
    answers.stdout = "3.2.0-2"
    assert coq.library_version() == "3.2.0-2"
    answers.stdout = ""
    assert coq.library_version() == "unknown"
    monkeypatch.setattr(coq.shutil, "which", lambda program: None)
    answers.stdout = "3.2.0-2"
    assert coq.library_version() == "unknown"


@pytest.mark.parametrize(
    ("code", "out", "err", "error", "message"),
    [
        (1, "Sum.v is read\n", " Error: Syntax error\n", coq.Refused, "Error: Syntax error"),
        (1, " Error: of coqchk\n", "\n", coq.Refused, "Error: of coqchk"),
        (3, "", "", coq.Refused, "exit status 3"),
        (-9, "", "", coq.Refused, "exit status -9"),
        (
            1,
            "",
            "Error: Cannot find a physical path bound to logical path\n  Coquelicot.Coquelicot.",
            coq.MissingCoq,
            "there is no Coquelicot here",
        ),
        (
            1,
            "",
            "Error: Cannot find a physical path bound to logical path Lost.",
            coq.Refused,
            "Error: Cannot find a physical path bound to logical path Lost.",
        ),
    ],
)
def test_what_coq_refuses_is_said_in_its_words_and_a_missing_library_in_ours(answers, code, out, err, error, message):
    answers.returncode, answers.stdout, answers.stderr = code, out, err
    with pytest.raises(error) as raised:
        coq.version()
    assert (type(raised.value), str(raised.value)) == (error, message)


def test_a_file_that_takes_too_long_is_refused(answers, monkeypatch, tmp_path):
    def run(command, timeout, **options):
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(coq.subprocess, "run", run)
    with pytest.raises(coq.Refused, match=r"^Sum\.v: not done after 5 seconds$"):
        coq.compile_one(tmp_path, "Sum", 5)


def test_coq_runs_in_the_folder_of_the_proofs_without_the_users_settings(answers, monkeypatch, tmp_path):
    monkeypatch.setattr(coq.os, "environ", {"COQPATH": "/mine", "COQEXTRAFLAGS": "-type-in-type", "LANG": "C"})
    coq.compile_one(tmp_path, "Sum", 5)
    ((command, options),) = answers.ran
    assert command == ["coqc", "-q", "-w", "none", "Sum.v"]
    assert (options["cwd"], options["env"], options["timeout"]) == (tmp_path, {"LANG": "C"}, 5)


COQDEP = """\
Model.vo Model.glob Model.v.beautified Model.required_vo: Model.v
Model.vio: Model.v
Row.vo Row.glob Row.v.beautified Row.required_vo: Row.v Model.vo Sum.vo /usr/lib/Other.vo
Row.vio: Row.v Model.vio Sum.vio
Sum.vo Sum.glob Sum.v.beautified Sum.required_vo: Sum.v Model.vo
"""


@pytest.fixture
def folder(tmp_path):
    """A folder of three files, of which coqdep says what COQDEP does."""
    for name in ("Sum", "Model", "Row"):
        (tmp_path / f"{name}.v").touch()
    return tmp_path


def test_a_module_needs_those_of_its_folder(answers, folder):
    answers.stdout = COQDEP
    assert coq.dependencies(folder) == {"Model": set(), "Row": {"Model", "Sum"}, "Sum": {"Model"}}
    assert answers.ran[0][0] == ["coqdep", "Model.v", "Row.v", "Sum.v"]


def test_a_file_is_compiled_once_what_it_needs_is(answers, folder):
    answers.stdout = COQDEP
    coq.compiled(folder)
    assert [command[-1] for command, _ in answers.ran[1:]] == ["Model.v", "Sum.v", "Row.v"]


def test_nothing_is_compiled_that_needs_a_file_which_coq_refuses(answers, folder, monkeypatch):
    tried = []

    def compile_one(folder, module):
        tried.append(module)
        if module == "Sum":
            raise coq.Refused("Sum.v: why")

    answers.stdout = COQDEP
    monkeypatch.setattr(coq, "compile_one", compile_one)
    with pytest.raises(coq.Refused, match=r"^Sum\.v: why$"):
        coq.compiled(folder)
    assert tried == ["Model", "Sum"]


@pytest.mark.parametrize("code", [0, 1])
def test_a_question_is_asked_with_all_modules_and_leaves_nothing(answers, folder, monkeypatch, code):
    answers.returncode, answers.stdout, asked = code, "Closed under the global context\n", []
    record = coq.subprocess.run

    def run(command, cwd, **options):
        asked.append((cwd / "Asked.v").read_text(encoding="utf-8"))
        for ending in ("vo", "glob"):
            (cwd / f"Asked.{ending}").touch()
        return record(command, cwd=cwd, **options)

    monkeypatch.setattr(coq.subprocess, "run", run)
    if code:
        with pytest.raises(coq.Refused):
            coq.axioms(folder, ["Sum.two", "Row.one"])
    else:
        assert coq.axioms(folder, ["Sum.two", "Row.one"]) == ()
    assert asked == [
        "Require Import Row.\nRequire Import Sum.\nRequire Import Model.\n"
        "Definition everything := (@Sum.two, @Row.one, I).\nPrint Assumptions everything.\n"
    ]
    assert sorted(path.name for path in folder.iterdir()) == ["Model.v", "Row.v", "Sum.v"]


def test_statements_are_what_coq_prints_with_notations_and_without(answers, folder):
    for name, text in {
        "0.shown": "Sum.two\n     : forall n : nat,\n         0 < n\n",
        "0.explicit": "Sum.two\n     : forall n : nat, lt O n\n",
        "1.shown": "Row.one : True\n",
        "1.explicit": "Row.one : True\n",
    }.items():
        (folder / f"{name}.out").write_text(text, encoding="utf-8")
    assert coq.statements(folder, ["Sum.two", "Row.one"]) == {
        "Sum.two": coq.Theorem("forall n : nat,\n0 < n", "forall n : nat, lt O n"),
        "Row.one": coq.Theorem("True", "True"),
    }


def test_a_statement_uses_a_definition_whose_unfolding_changes_it(answers, folder, monkeypatch):
    """Coq is asked about those alone in which the name stands as a word of its own."""
    asked = []
    ask = coq._ask
    monkeypatch.setattr(coq, "_ask", lambda where, questions: asked.extend(questions) or ask(where, questions))
    answers.stdout = "uses Sum.two Sum.whole\nothers Sum.two Sum.half\n\n"
    found = {"Sum.two": coq.Theorem("", "whole half' halves"), "Row.one": coq.Theorem("", "wholes half")}
    assert coq.uses(folder, found, ["Sum.whole", "Sum.half"]) == [("Sum.two", "Sum.whole")]
    assert [question.split('"')[3::2] for question in asked if question.startswith("Goal")] == [
        ["Sum.two", "Sum.whole"],
        ["Row.one", "Sum.half"],
    ]


def test_the_second_kernel_checks_all_modules_and_may_say_so_anywhere(answers, folder):
    (folder / "Asked.v").touch()  # a question is no proof
    answers.stdout, answers.stderr = "CONTEXT ", "SUMMARY"
    assert coq.checked_again(folder) == "CONTEXT SUMMARY"
    ((command, options),) = answers.ran
    assert command == ["coqchk", "-silent", "-o", "Model", "Row", "Sum"]
    assert (options["cwd"], options["timeout"]) == (folder, 10 * coq.LONGEST)  # all files, one after the other


def test_a_section_has_the_labels_of_all_its_comments_and_a_heading_in_one_line():
    model = """(* What is modelled. *)
(** ** The data,
    of tokens [def-a]

    More words. *)
Definition a := 1.
(** [def-b, def-a] *)
Definition b := 2.

(** ** What then *)
Definition c := 3.
"""
    first, data, then = coq_sources.sections(model)
    assert (first.title, data.title, then.title) == ("What is modelled", "The data, of tokens", "What then")
    assert (first.labels, data.labels, then.labels) == ((), ("def-a", "def-b"), ())
    assert then.text == "(** ** What then *)\nDefinition c := 3."
