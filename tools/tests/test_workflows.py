"""The files that a service reads and we cannot run: they are valid YAML and use what exists."""

import os
import re
import shutil
import subprocess
import tomllib

import pytest
import yaml

from attnsep.claims import LEDGER
from tools import coq, environment
from tools.files import ROOT
from tools.tests.test_makefile import make, verbs

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def read(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def steps(workflow):
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


ANYTIME, LINUX, BOTH = "push pull_request", ["ubuntu-latest"], ["ubuntu-latest", "macos-latest"]
WEEKLY = "schedule workflow_dispatch"
# What runs when and where, written once more: who takes a job, a verb or a system out does it twice.
RUNS = {
    "test": (ANYTIME, {"test": (BOTH, ["test"]), "prove": (LINUX, ["prove"])}),
    "versions": (
        ANYTIME,
        {"versions": (LINUX, ["test-oldest", "test-newest", "test-cupy", "test-strict", "test-oracles"])},
    ),
    "weekly": (
        WEEKLY,
        {"weekly": (BOTH, ["test", "test-newest", "fuzz"]), "hostile": (LINUX, ["test-hostile"])}
        | {"planted": (LINUX, ["test-planted"]), "lab": (LINUX, ["test-lab"]), "colab": (LINUX, ["test-colab"])}
        | {verb: (LINUX, [verb]) for verb in ("repeat", "pdf", "prove-all")}
        | {"mutants": (LINUX, ["mutants ONLY=${{ matrix.module }}:stored"])}
        | {"noticed": (LINUX, ["noticed ALL=1"])},
    ),
    "lock": (WEEKLY, {"lock": (LINUX, ["lock", "test", "lock-request"])}),
    "publish": ("workflow_run", {"build": (LINUX, ["book"]), "deploy": (LINUX, [])}),
}


def test_there_are_workflows():
    assert {path.stem for path in WORKFLOWS} == RUNS.keys()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_runs_what_this_table_says(path):
    workflow = read(path)
    events = workflow[True]  # YAML reads the key `on` as true
    runs = " ".join(events), {name: runs_of(job) for name, job in workflow["jobs"].items()}
    assert runs == RUNS[path.stem], (
        f"{path.name} runs {runs}, RUNS in this file says {RUNS[path.stem]}; if it is meant, change both"
    )
    crons = [row["cron"] for row in events["schedule"]] if "schedule" in events else []
    assert [cron for cron in crons if not re.fullmatch(r"\d+ \d+ \* \* \d", cron)] == [], "runs once a week"
    asked = [events[name] for name in events if isinstance(events, dict) and name != "schedule"]
    assert path.stem == "publish" or asked in ([], [None]), "a filter leaves out pushes or requests"
    assert {line.split()[0] for _, lines in RUNS[path.stem][1].values() for line in lines} <= verbs().keys()


def runs_of(job):
    """Return on which systems a job runs which verbs, each of them alone in a line; `make` and nothing else decides."""
    matrix = job.get("strategy", {}).get("matrix", {})
    rows = matrix.get("include", [])
    listed = matrix.get("verb") or [row["verb"] for row in rows]
    called = [step["run"] for step in job["steps"] if "run" in step and step["run"] != COQ]
    found = [word for line in called for word in (listed if line == "make ${{ matrix.verb }}" else [line[5:]])]
    systems = matrix["os"] if job["runs-on"] == "${{ matrix.os }}" else [job["runs-on"]]
    assert all(line.startswith("make ") for line in called)
    assert {row["verb"] for row in rows} <= {*listed}
    return systems, found


JOB = {"strategy", "runs-on", "timeout-minutes", "steps"}
MORE = {"publish": {"if", "permissions", "needs", "environment"}, "lock": {"permissions"}}
MORE |= {"test": {"container"}, "weekly": {"container"}}
STEP = {"uses", "with", "run", "env", "id"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_nothing_decides_but_the_verbs(path):
    workflow = read(path)
    assert workflow.keys() <= {"name", True, "permissions", "concurrency", "jobs"}
    for job in workflow["jobs"].values():
        more = job.keys() - JOB - MORE.get(path.stem, set())
        assert more == set(), "such a key may let a job pass that failed, or keep it from running"
        assert job.get("strategy", {}).keys() <= {"fail-fast", "matrix"}
        assert "exclude" not in job.get("strategy", {}).get("matrix", {})
    assert [step.keys() - STEP for step in steps(workflow) if step.keys() - STEP] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_job_has_the_code_and_a_python_before_it_runs_a_verb(path):
    for name, job in read(path)["jobs"].items():
        used = [step.get("uses", "make").partition("@")[0].removeprefix("actions/") for step in job["steps"]]
        if "make" in used:
            if "container" in job:
                assert used == ["make", "checkout", "make"], name
            else:
                assert used[:2] == ["checkout", "setup-python"], name
                assert set(job["steps"][0].get("with", {})) <= {"fetch-depth", "ref"}


COQ = "apt-get update && apt-get install --yes --no-install-recommends coq libcoq-coquelicot make python3"


@pytest.mark.parametrize("name", ["test", "weekly"])
def test_proofs_are_checked_in_a_pinned_debian_with_what_the_verb_says_is_needed(name):
    (job,) = [job for job in read(ROOT / f".github/workflows/{name}.yml")["jobs"].values() if "container" in job]
    assert re.fullmatch(r"debian:bookworm-\d{8}", job["container"])
    assert job["steps"][0] == {"run": COQ}
    (needed,) = re.findall(r"Debian: apt-get install --no-install-recommends (.*)\)", coq.NEEDED)
    assert {*needed.split()} <= {*COQ.split()}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_verb_gets_the_oldest_python_but_for_the_newest_versions(path):
    oldest = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["requires-python"][2:]
    wrong = {
        verb: python
        for job in read(path)["jobs"].values()
        for verb, python in pythons_of(job).items()
        if python != ("3.x" if verb == "test-newest" else oldest)
    }
    assert wrong == {}, f"the lock and the oldest versions are for Python {oldest}; the newest run with the newest, 3.x"


def pythons_of(job):
    """Return {verb: the Python that it gets} of a job."""
    versions = [step["with"]["python-version"] for step in job["steps"] if "setup-python" in step.get("uses", "")]
    if versions == ["${{ matrix.python }}"]:
        return {row["verb"]: row["python"] for row in job["strategy"]["matrix"]["include"]}
    return {verb: version for version in versions for verb in runs_of(job)[1]}


def test_what_the_ratchet_compares_with_is_there():
    first = read(ROOT / ".github/workflows/test.yml")["jobs"]["test"]["steps"][0]
    assert first.get("with") == {"fetch-depth": 0}, "without the commits before, the step ratchet compares nothing"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_official_and_pinned_to_a_major_version(path):
    used = [step["uses"] for step in steps(read(path)) if "uses" in step]
    assert used
    assert [action for action in used if not re.fullmatch(r"actions/[a-z-]+@v\d+", action)] == []


# The one job that writes offers a branch of its own.
WRITES = {"publish": {"pages": "write", "id-token": "write"}, "lock": {"contents": "write", "pull-requests": "write"}}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_may_only_read_but_for_one_job_and_ends_by_itself(path):
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    own = [job["permissions"] for job in workflow["jobs"].values() if "permissions" in job]
    assert own == [WRITES[path.stem]] if path.stem in WRITES else own == []
    assert all("timeout-minutes" in job for job in workflow["jobs"].values())


def test_publishing_waits_until_the_workflow_test_has_passed_on_a_push_to_main():
    publish = read(ROOT / ".github/workflows/publish.yml")
    assert publish[True]["workflow_run"] == {
        "workflows": [read(ROOT / ".github/workflows/test.yml")["name"]],
        "types": ["completed"],
        "branches": ["main"],
    }
    build, deploy = publish["jobs"]["build"], publish["jobs"]["deploy"]
    event = "github.event.workflow_run"
    assert build["if"] == f"{event}.conclusion == 'success' && {event}.event == 'push'"
    tested = {"ref": "${{ github.event.workflow_run.head_sha }}"}
    assert build["steps"][0].get("with") == tested, "another commit than the tested one would go online"
    assert build["steps"][-1]["with"] == {"path": "_build/html"}
    assert (deploy.get("needs"), "if" in deploy) == ("build", False), "a book that was not built would go online"


@pytest.mark.parametrize("status", [0, 3])
def test_ci_runs_make_test_and_ends_as_it_does(tmp_path, status):
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci/run", tmp_path / ".ci")
    for name in ("make", "chromium"):
        (tmp_path / name).write_text(f'#!/bin/sh\necho "$PWD {name} $*"\nexit {status}\n')
        (tmp_path / name).chmod(0o755)
    search = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    run = subprocess.run([tmp_path / ".ci/run"], env={"PATH": search}, capture_output=True, text=True)
    assert (run.stdout, run.returncode) == (f"{tmp_path.resolve()} make test\n", status)


@pytest.mark.parametrize(
    ("user", "works", "asked", "said"),
    [
        (1000, True, [], ""),  # who is not root cannot install
        (0, True, ["install -qq -y chromium"], ""),
        (
            0,
            False,
            ["install -qq -y chromium", "update -qq", "install -qq -y chromium"],
            "Chromium could not be installed; make test says what it leaves out.\n",
        ),
    ],
)
def test_ci_installs_a_browser_where_there_is_none_and_goes_on_without_it(tmp_path, user, works, asked, said):
    (tmp_path / ".ci").mkdir()
    (programs := tmp_path / "bin").mkdir()
    shutil.copy(ROOT / ".ci/run", tmp_path / ".ci")
    for name in ("bash", "dirname"):
        (programs / name).symlink_to(shutil.which(name))
    fails = "false" if not works else "true"
    for name, does in {
        "make": 'echo "make $*"; exit 3',
        "id": f"echo {user}",
        "apt-get": f'echo "$*" >>"$TOLD"; test "$1" = update || {fails}',
    }.items():
        (programs / name).write_text(f"#!/bin/sh\n{does}\n")
        (programs / name).chmod(0o755)
    told = tmp_path / "told"
    surroundings = {"PATH": str(programs), "TOLD": str(told)}
    run = subprocess.run([tmp_path / ".ci/run"], env=surroundings, capture_output=True, text=True)
    assert (told.read_text().splitlines() if told.exists() else []) == asked
    assert (run.stdout, run.stderr, run.returncode) == ("make test\n", said, 3)


def test_a_newer_push_ends_the_runs_of_its_own_branch_alone_and_no_publishing():
    own = {"group": "${{ github.workflow }}-${{ github.ref }}", "cancel-in-progress": True}
    groups = {path.stem: read(path)["concurrency"] for path in WORKFLOWS if "concurrency" in read(path)}
    assert groups == {"test": own, "versions": own, "publish": {"group": "pages"}}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_job_that_fails_lets_the_others_of_its_matrix_go_on(path):
    matrices = [job["strategy"] for job in read(path)["jobs"].values() if "strategy" in job]
    assert [matrix["fail-fast"] for matrix in matrices] == [False] * len(matrices)


def test_a_request_is_made_with_a_token_and_in_the_name_of_the_bot():
    (made,) = [
        step for step in steps(read(ROOT / ".github/workflows/lock.yml")) if step.get("run", "").endswith("request")
    ]
    bot = {f"GIT_{who}_NAME": "github-actions[bot]" for who in ("AUTHOR", "COMMITTER")}
    mail = {
        f"GIT_{who}_EMAIL": "41898282+github-actions[bot]@users.noreply.github.com" for who in ("AUTHOR", "COMMITTER")
    }
    assert made["env"] == {"GH_TOKEN": "${{ github.token }}"} | bot | mail


def test_pytorch_comes_without_cuda_for_the_verb_that_asks_for_it():
    *_, made = read(ROOT / ".github/workflows/versions.yml")["jobs"]["versions"]["steps"]
    ((verb, index),) = re.findall(r"'([\w-]+)' && '(.*?)'", made["env"]["PIP_EXTRA_INDEX_URL"])
    assert (verb, index.rpartition("/")[2]) == ("test-oracles", "cpu")
    assert "'.[dev,oracles]'" in str(environment.installs("oracles", "python"))


def test_what_is_built_goes_where_the_deployment_looks_and_from_the_branch_that_pages_name():
    publish = read(ROOT / ".github/workflows/publish.yml")
    uses = [
        step["uses"].partition("@")[0] for job in publish["jobs"].values() for step in job["steps"] if "uses" in step
    ]
    assert uses[-2:] == ["actions/upload-pages-artifact", "actions/deploy-pages"]
    assert publish[True]["workflow_run"]["branches"] == [read(ROOT / "_config.yml")["repository"]["branch"]]


def test_conda_and_binder_get_jupyterlab_and_nothing_twice():
    dependencies = read(ROOT / "environment.yml")["dependencies"]
    wanted = ["python>=3.11", "pip", {"pip": ["-e .[lab]"]}]
    assert read(ROOT / "environment.yml")["channels"] == ["conda-forge"]
    assert dependencies == wanted, "environment.yml is for conda and Binder, which open chapters in JupyterLab"


# What a pull request asks of gh: it answers that so many are open, and notes what it was told to open.
GH = """#!/bin/sh
if test "$2" = list; then echo {number}; else echo "$@" >>"{told}"; fi
"""


@pytest.fixture
def lent(tmp_path, monkeypatch):
    """A clone with a lock, and a gh that knows no open request."""
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"):
        monkeypatch.setenv(name, "a@b")
    monkeypatch.delenv("GIT_DIR", raising=False)
    clone = tmp_path / "clone"
    git(tmp_path, "init", "--quiet", "--bare", "origin")
    git(tmp_path, "clone", "--quiet", "origin", "clone")
    (clone / "requirements.lock").write_text("numpy==2.0\n")
    git(clone, "add", ".")
    git(clone, "commit", "--quiet", "--message", "locked")
    gh(tmp_path, 0)
    monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path), os.environ["PATH"]]))
    return clone


def git(folder, *words):
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def gh(folder, number):
    (folder / "gh").write_text(GH.format(number=number, told=folder / "told"))
    (folder / "gh").chmod(0o755)


def requested(clone):
    told = clone.parent / "told"
    return told.read_text().splitlines() if told.exists() else []


def test_a_lock_that_is_as_it_was_asks_for_nothing(lent):
    assert make(lent, "lock-request") == "requirements.lock is as it was.\n"
    assert (git(lent, "branch", "--list", "lock"), requested(lent)) == ("", [])


def test_a_changed_lock_becomes_one_request_however_often_it_changes(lent):
    before = git(lent, "branch", "--show-current").strip()
    for number, text in enumerate(("numpy==2.1\n", "numpy==2.2\n")):
        git(lent, "checkout", "--quiet", before)
        gh(lent.parent, number)
        (lent / "requirements.lock").write_text(text)
        make(lent, "lock-request")
        assert git(lent, "show", "origin/lock:requirements.lock") == text
        assert git(lent, "diff", "--name-only", "origin/lock~", "origin/lock").split() == ["requirements.lock"]
    (request,) = requested(lent)
    assert request.startswith("pr create --head lock --title The newest allowed versions")


def test_a_lock_that_cannot_be_sent_is_a_failure_and_asks_for_nothing(lent):
    shutil.rmtree(lent.parent / "origin")
    (lent / "requirements.lock").write_text("numpy==2.1\n")
    with pytest.raises(subprocess.CalledProcessError):
        make(lent, "lock-request")
    assert requested(lent) == []


def test_a_request_has_the_lock_alone_whatever_else_has_changed(lent):
    (lent / "README.md").write_text("one\n")
    git(lent, "add", "README.md")
    git(lent, "commit", "--quiet", "--message", "a page")
    for name in ("README.md", "requirements.lock"):
        (lent / name).write_text("two\n")
    make(lent, "lock-request")
    assert git(lent, "diff", "--name-only", "origin/lock~", "origin/lock").split() == ["requirements.lock"]


FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("[!c]*.yml"))


def test_there_are_forms_for_a_statement_a_run_and_an_idea():
    assert [path.stem for path in FORMS] == ["failing-run", "idea", "wrong-statement"]
    assert read(ROOT / ".github/ISSUE_TEMPLATE/config.yml") == {"blank_issues_enabled": False}


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_has_what_github_asks_of_one(path):
    form = read(path)
    assert form.keys() == {"name", "description", "title", "labels", "body"}
    assert {field["type"] for field in form["body"]} <= {"input", "textarea"}
    assert all(field["attributes"]["label"] for field in form["body"])
    assert len({field["id"] for field in form["body"]}) == len(form["body"])
    assert form["body"][0]["validations"]["required"]


def test_who_reports_a_wrong_statement_must_give_its_label():
    first = read(ROOT / ".github/ISSUE_TEMPLATE/wrong-statement.yml")["body"][0]
    assert (first["id"], first["validations"]) == ("label", {"required": True})
    assert first["attributes"]["placeholder"] in LEDGER


@pytest.mark.parametrize("path", [ROOT / "SECURITY.md", *FORMS], ids=lambda path: path.stem)
def test_readme_leads_to_each_form(path):
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"]({path.relative_to(ROOT).as_posix()})" in page
