"""The verbs run what they promise, and a failure anywhere becomes an exit status."""

import os
import re
import shlex
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from types import SimpleNamespace

import pytest

from tools import browser, files, lock, steps


@pytest.fixture(autouse=True)
def _no_places(monkeypatch):
    """Make no temporary folders: processes that run tests end without removing them."""
    monkeypatch.setattr(steps, "writable_places", dict)


OPEN = f"open {(files.ROOT / '_build/html/index.html').as_uri()}"


@pytest.mark.parametrize(
    ("codes", "status", "shown", "last"),
    [
        ({"format": 0, "lint": 0}, 0, ["passed ", "passed "], ["2 passed, 0 failed"]),
        ({"format": 1, "lint": 0}, 1, ["FAILED ", "passed "], ["1 passed, 1 failed"]),
        (
            {"format": 0, "web": steps.NOT_RUN},
            0,
            ["passed ", "NOT RUN"],
            ["1 passed, 0 failed, 1 NOT RUN: no Chromium here"],
        ),
        (
            {"web": steps.NOT_RUN, "lab": steps.NOT_RUN},
            1,
            ["NOT RUN", "NOT RUN"],
            ["0 passed, 0 failed, 2 NOT RUN: no Chromium here"],
        ),
        ({"book": 0}, 0, ["passed "], [OPEN, "1 passed, 0 failed"]),
        ({"book": 2}, 1, ["FAILED "], ["0 passed, 1 failed"]),
    ],
)
def test_a_failing_step_does_not_hide_and_does_not_stop_the_others(monkeypatch, capsys, codes, status, shown, last):
    names = {steps.STEPS[name]: name for name in codes}
    monkeypatch.setattr(
        steps.subprocess,
        "run",
        lambda command, **_: SimpleNamespace(returncode=codes[names[tuple(command[1:])]], stdout=None),
    )
    monkeypatch.setattr(steps, "time", SimpleNamespace(monotonic=count(1000, 65).__next__))
    assert steps.main(list(codes)) == status
    assert capsys.readouterr().out.splitlines() == [
        *(f"--- {name}" for name in (*codes, "summary")),
        *(f"{name:<18}{outcome}     65 s" for name, outcome in zip(codes, shown, strict=True)),
        *last,
    ]


@pytest.mark.parametrize("names", [("unit", "types", "book", "pages", "learn", "web"), ("book", "pages"), ("web",)])
def test_what_keeps_one_core_busy_runs_beside_the_others_and_before_what_reads_the_book(
    monkeypatch, tmp_path, capsys, names
):
    """Each step writes down when it begins and ends; only the first of those that others run beside waits."""
    log, begun = tmp_path / "log", "import sys, time; out = open(sys.argv[1], 'a', buffering=1); out.write('+NAME ')"
    wait = "; [time.sleep(0.01) for _ in range(3000) if 'types' not in open(sys.argv[1]).read()]"
    source = "; print('NAME speaks'); out.write('-NAME '); sys.exit('NAME' == 'pages')"
    programs = {name: (begun + (wait if name == "unit" else "") + source).replace("NAME", name) for name in steps.STEPS}
    monkeypatch.setattr(steps, "STEPS", {name: ("-c", source, str(log)) for name, source in programs.items()})
    assert steps.main(names) == ("pages" in names)
    order = [word[1:] for word in log.read_text().split() if word[0] == "-"]
    assert sorted(order) == sorted(names)
    assert [name for name in order if name in steps.BESIDE] == [name for name in names if name in steps.BESIDE]
    assert [name for name in names if name in steps.READ_THE_BOOK] in ([], order[-1:])
    out = capsys.readouterr().out
    parts = dict(re.findall(r"^--- (.*)\n((?:(?!--- ).*\n)*)", out, re.MULTILINE))
    if "unit" in names:
        assert all(parts[name] == f"{name} speaks\n" for name in steps.BESIDE if name in names)
        assert "types" in log.read_text().partition("-unit")[0], "types did not run beside unit"
    shown = re.findall(r"^(\w+) +(passed|FAILED) ", parts["summary"], re.MULTILINE)
    assert shown == [(name, "FAILED" if name == "pages" else "passed") for name in names]


def test_after_ctrl_c_what_has_not_begun_does_not_begin(monkeypatch):
    """`types` runs beside `unit` when that is interrupted, and `book` waits for its turn."""
    begun, interrupted, ran = threading.Event(), threading.Event(), []

    class Lane(ThreadPoolExecutor):
        def shutdown(self, **options):
            super().shutdown(**options)
            interrupted.set()

    def run(name, environment, **output):
        ran.append(name)
        if name == "unit":
            assert begun.wait(30)
            raise KeyboardInterrupt
        begun.set()
        interrupted.wait(5)  # in vain where nobody cancels
        return "passed", 0, b""

    monkeypatch.setattr(steps, "ThreadPoolExecutor", Lane)
    monkeypatch.setattr(steps, "run", run)
    with pytest.raises(KeyboardInterrupt):
        steps.main(["unit", "types", "book", "web"])
    assert sorted(ran) == ["types", "unit"]


def test_nothing_runs_while_a_store_is_half_done(monkeypatch, capsys):
    monkeypatch.setattr(steps, "pending", lambda: True)
    monkeypatch.setattr(steps.subprocess, "run", lambda *_, **__: pytest.fail("ran"))
    assert steps.main(["format"]) == 1
    assert "run `make notebooks`, which first completes that" in capsys.readouterr().err


# What each step runs, written once more: a word that is taken out, or that lets something pass, must be said twice.
PYTEST = "pytest -q -pno:logging -ptimeout --timeout=600 -pxdist -n2 --dist"
COMMANDS = {
    "format": "ruff format --check .",
    "lint": "ruff check .",
    "types": "mypy",
    "unit": f"{PYTEST} loadfile -p tools.counted --counted unit --ignore lib/tests/training -m 'not slow'",
    "tests": f"{PYTEST} loadfile -p tools.counted --counted tests --ignore lib/tests/training",
    "learn": f"{PYTEST} worksteal -p tools.counted --counted learn lib/tests/training",
    "fuzz": f"{PYTEST} loadfile -p tools.counted --counted fuzz -m fuzz lib",
    "oracles": "pytest -q -p tools.counted --counted oracles lib/tests/attention/test_kernels_oracles.py",
    "fallback": "pytest -q -p tools.counted --counted fallback lib/tests/test_arrays_cupy.py",
    "claims": "attnsep.cli verify --compare --jobs 2",
    "ratchet": "tools.ratchet",
    "notebooks": f"{PYTEST} loadfile -n3 -p tools.counted --counted notebooks "
    "-p nbval --nbval --nbval-current-env -o filterwarnings= chapters",
    "book": "build --all -q -n -W --keep-going .",
    "pages": "tools.pages _build/html",
    "web": f"{PYTEST} worksteal -p tools.counted --counted web --ignore web/test_lab.py web",
    "lab": "pytest -q -p tools.counted --counted lab web/test_lab.py",
}
COMMANDS["strict notebooks"] = COMMANDS["notebooks"]


@pytest.mark.parametrize("name", steps.STEPS)
def test_a_step_runs_what_this_table_says(name):
    first, *words = steps.STEPS[name]
    if name == "book":
        assert (first, words.pop(0)) == ("-c", "import tools; from jupyter_book.cli.main import main; main()")
    else:
        assert first == "-m"
    runs = shlex.join(words)
    assert words == shlex.split(COMMANDS[name]), (
        f"the step {name} runs `{runs}`, COMMANDS in this file says `{COMMANDS[name]}`; if it is meant, change both"
    )


def test_a_step_states_what_this_table_says():
    stored = {"ATTNSEP_BACKEND": "auto", "ATTNSEP_EVIDENCE": "", "ATTNSEP_RECORD": ""}
    few = {"ATTNSEP_FUZZ": ""}
    assert {
        **dict.fromkeys(("claims", "notebooks", "book"), stored),
        "strict notebooks": stored | {"ATTNSEP_BACKEND": "array_api_strict"},
        **dict.fromkeys(("unit", "tests"), few),
        "fuzz": {"ATTNSEP_FUZZ": "300"},
    } == steps.ENVIRONMENT


def test_a_browser_is_found_by_any_of_its_names(tmp_path, monkeypatch):
    """Where none is found no page is opened, and `make test` passes."""
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("chromium", "google-chrome", "chromium-browser"):
        program = tmp_path / name
        program.touch(mode=0o755)
        assert browser.chromium() == str(program)
        program.unlink()
    assert "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome" in browser.NAMES


def test_only_a_missing_browser_is_neither_passed_nor_failed():
    assert steps.OUTCOMES == {0: "passed", steps.NOT_RUN: "NOT RUN"}


def test_claims_count_what_the_notebooks_before_them_found(monkeypatch):
    """Both get one folder, which is empty when the steps begin, and gone when they end."""
    asked = {}

    def run(words, env, **_):
        folder = env.get("ATTNSEP_EVIDENCE")
        asked[words] = (folder, folder and os.listdir(folder))
        return SimpleNamespace(returncode=0, stdout=None)

    monkeypatch.setattr(steps, "STEPS", {name: (name,) for name in ("unit", "notebooks", "claims", "strict notebooks")})
    monkeypatch.setattr(steps.subprocess, "run", lambda words, **options: run(words[1], **options))
    monkeypatch.setattr(steps.sys, "executable", "python")
    monkeypatch.delenv("ATTNSEP_EVIDENCE", raising=False)
    assert steps.main(list(steps.STEPS)) == 0
    folder, _ = asked["notebooks"]
    assert asked == {
        "unit": (None, None),
        "notebooks": (folder, []),
        "claims": (folder, []),
        "strict notebooks": ("", ""),
    }
    assert not os.path.exists(folder)


def test_every_verb_runs_the_notebooks_before_the_claims():
    makefile = (files.ROOT / "Makefile").read_text(encoding="utf-8")
    both = [line for line in makefile.splitlines() if "tools.steps" in line and re.search(r"\bclaims\b", line)]
    assert [line for line in both if "notebooks" in line.partition("claims")[2]] == []


@pytest.mark.slow
def test_a_test_that_waits_for_ever_fails_and_shows_where(tmp_path, surroundings):
    (tmp_path / "test_stuck.py").write_text("import threading\n\n\ndef test_stuck():\n    threading.Event().wait()\n")
    words = [word.replace("=600", "=1").replace("-n2", "-n1") for word in steps.PYTEST]
    plain = surroundings | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # as every step has it
    run = subprocess.run([sys.executable, *words], cwd=tmp_path, env=plain, capture_output=True, text=True)
    assert run.returncode == 1
    assert "threading.Event().wait()" in run.stdout
    assert "Timeout (>1.0s)" in run.stdout


def test_writing_the_same_text_leaves_the_file_alone(tmp_path):
    """Whatever compares times, such as make and Jupyter, sees that nothing changed."""
    path = tmp_path / "a.txt"
    files.write(path, "text")
    before = path.stat().st_mtime_ns
    files.write(path, "text")
    assert path.stat().st_mtime_ns == before


def test_the_lock_is_made_for_all_that_dev_brings_on_every_platform(monkeypatch):
    asked, written = [], []
    pins = SimpleNamespace(stdout="numpy==2.0\nattnsep==1\n")
    monkeypatch.setattr(lock.subprocess, "run", lambda command, **_: asked.extend(command) or pins)
    monkeypatch.setattr(lock, "write", lambda path, text: written.append((path.name, text)))
    assert lock.main() == 0
    assert " ".join(asked[2:]) == (
        "uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --no-header --no-annotate "
        "--no-emit-index-url --quiet"
    )
    assert written == [("requirements.lock", f"{lock.HEADER}numpy==2.0\n")]


def test_a_lock_file_that_names_a_host_is_not_written(monkeypatch):
    pins = SimpleNamespace(stdout="numpy @ https://example.org/numpy.whl\n")
    monkeypatch.setattr(lock.subprocess, "run", lambda *_, **__: pins)
    monkeypatch.setattr(lock, "write", lambda *_: pytest.fail("wrote"))
    with pytest.raises(SystemExit, match="names a host"):
        lock.main()


SET = {
    "ATTNSEP_BACKEND": "nonsense",
    "ATTNSEP_FUZZ": "300",
    "ATTNSEP_RECORD": "/none.json",
    "JAX_ENABLE_X64": "1",
    "MPLBACKEND": "nonsense",
    "OPENBLAS_CORETYPE": "Nehalem",
    "PYTEST_ADDOPTS": "-k nothing",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "of the user",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONIOENCODING": "ascii",
    "PYTHONOPTIMIZE": "1",
    "PYTHONSTARTUP": "/none.py",
    "PYTHONWARNINGS": "error",
}


@pytest.mark.parametrize(
    ("name", "reaches_it"),
    [
        ("unit", {"ATTNSEP_BACKEND", "ATTNSEP_RECORD", "JAX_ENABLE_X64", "OPENBLAS_CORETYPE"}),
        ("learn", {"ATTNSEP_BACKEND", "ATTNSEP_RECORD", "ATTNSEP_FUZZ", "JAX_ENABLE_X64", "OPENBLAS_CORETYPE"}),
        ("claims", {"ATTNSEP_FUZZ", "JAX_ENABLE_X64", "OPENBLAS_CORETYPE"}),
        ("notebooks", {"OPENBLAS_CORETYPE"}),
    ],
)
def test_which_settings_reach_a_step(monkeypatch, name, reaches_it):
    """What tests should stand themselves does; what only pytest reads, or what stored answers do not have, does not."""
    for variable, value in SET.items():
        monkeypatch.setenv(variable, value)
    found = steps.surroundings(name, {"MPLCONFIGDIR": "elsewhere"}, "empty")
    assert {variable for variable, value in SET.items() if found.get(variable) == value} == reaches_it
    assert found["MPLCONFIGDIR"] == "elsewhere"


@pytest.mark.parametrize(("threads", "then"), [(None, "1"), ("7", "7")])
def test_a_step_computes_in_one_thread_unless_somebody_says_otherwise(monkeypatch, threads, then):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if threads:
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
    assert steps.surroundings("unit", {}, "empty")["OMP_NUM_THREADS"] == then


def test_a_place_that_can_be_written_counts_before_the_one_that_is_named(monkeypatch):
    monkeypatch.setenv("MPLCONFIGDIR", "/nowhere")
    assert steps.surroundings("unit", {"MPLCONFIGDIR": "elsewhere"}, "empty")["MPLCONFIGDIR"] == "elsewhere"


def test_what_runs_beside_the_others_is_heard_as_a_whole(monkeypatch, capsysbinary):
    """Its errors too, in the order in which it says them."""
    said, caught = b"".join(b"line %d\n" % number for number in range(10_000)), {}
    monkeypatch.setattr(
        steps,
        "run",
        lambda name, environment, **output: caught.update({name: output}) or ("passed", 0, output and said),
    )
    assert steps.main(["unit", "types"]) == 0
    assert b"--- types\n" + said + b"--- summary\n" in capsysbinary.readouterr().out
    assert caught == {"unit": {}, "types": {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}}


def test_a_book_that_was_built_can_be_opened_whatever_else_failed(monkeypatch, capsys):
    monkeypatch.setattr(
        steps, "run", lambda name, environment, **output: ("FAILED" if name == "lint" else "passed", 0, b"")
    )
    assert steps.main(["lint", "book"]) == 1
    assert capsys.readouterr().out.splitlines()[-2:] == [OPEN, "1 passed, 1 failed"]


def test_the_name_of_a_step_is_there_before_its_own_words(monkeypatch):
    """Its process writes at once, and into a file Python writes later, unless it is told to."""
    heard = []
    monkeypatch.setattr(steps, "print", lambda words, flush=False: heard.append((words, flush)), raising=False)
    monkeypatch.setattr(steps, "run", lambda name, environment, **output: heard.append(name) or ("passed", 0, b""))
    assert steps.main(["unit", "web"]) == 0
    assert heard[:4] == [("--- unit", True), "unit", ("--- web", True), "web"]


@pytest.mark.parametrize(("root", "mode"), [("/mein B\udcc3\udcbcch (1)", "1"), ("/mein Büch (1)", "0")])
def test_a_folder_that_python_cannot_read_in_the_users_encoding(monkeypatch, root, mode):
    monkeypatch.setattr(steps, "ROOT", root)
    monkeypatch.setenv("PYTHONUTF8", "0")
    assert steps.surroundings("unit", {}, "empty")["PYTHONUTF8"] == mode


@pytest.mark.parametrize("marks", [{"quartered"}, set()])
def test_make_check_meets_a_quarter_of_the_cases_of_a_quartered_test_with_every_library(pytestconfig, marks):
    def item(name):
        return SimpleNamespace(name=name, get_closest_marker=lambda mark: mark in marks, marks=[])

    items = [item(f"test_it[{library}-{number}]") for library in ("numpy", "array_api_strict") for number in range(400)]
    for each in items:
        each.add_marker = each.marks.append
    conftest = pytestconfig.pluginmanager.get_plugin(str(files.ROOT / "conftest.py"))
    conftest.pytest_collection_modifyitems(items)
    left = [each.name for each in items if each.marks != ["slow"]]
    assert (170 < len(left) < 230) if marks else (len(left) == 800)
    assert sum("numpy" in name for name in left) == pytest.approx(len(left) / 2, rel=0.2)
