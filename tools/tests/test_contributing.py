"""The page for contributors works as written, and the files about the project agree with each other."""

import re
import tomllib
from pathlib import Path

import nbformat
import numpy as np
import pytest
import yaml

import attnsep
from attnsep import cli
from attnsep.attention import kernels, reference
from attnsep.attention.attend import attend, values
from attnsep.claims import one_query_weights
from attnsep.ledger import framework
from attnsep.paper import gains, tokens
from attnsep.paper.tokens import TokenData
from tools.files import CHAPTERS, ROOT
from tools.guards import closure_problems, read_notebooks

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
CLAIM, _, KERNEL = PAGE.partition("## Add a kernel\n")
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def followed(nothing_set, monkeypatch):
    """Follow the page: enter its claim into a copy of the ledger; return the copy, and the chapters without its cells.

    Whoever follows the page for real runs these tests with the claim in the ledger, so it is taken out first.
    """
    entered, call = PYTHON.findall(CLAIM)
    (text,) = re.findall(r"^````markdown\n(.*?)^````$", CLAIM, re.MULTILINE | re.DOTALL)
    ledger = {id: entry for id, entry in framework.LEDGER.items() if f'"{id}",\n' not in entered.partition("mark=")[0]}
    monkeypatch.setattr(framework, "LEDGER", ledger)
    exec(compile(entered, "CONTRIBUTING.md", "exec"), vars(one_query_weights).copy())
    cells = [nbformat.v4.new_markdown_cell(text.strip()), nbformat.v4.new_code_cell(call.strip())]
    pages = read_notebooks(CHAPTERS)
    for page in pages.values():
        page.cells = [cell for cell in page.cells if cell.source not in (cells[0].source, cells[1].source)]
    return ledger, pages, cells


@pytest.mark.slow
def test_the_claim_holds_and_its_control_fails(followed):
    ledger, *_ = followed
    *_, new = ledger.values()
    assert framework.run(new).as_expected
    assert f"attnsep verify {new.id}\n" in PAGE
    assert f"make notebooks CHAPTER={new.chapter}\n" in PAGE


@pytest.mark.slow
def test_the_cells_complete_the_chapter_and_without_them_the_claim_is_refused(followed):
    ledger, pages, cells = followed
    *_, new = ledger.values()
    assert [problem.split(":")[0] for problem in closure_problems(pages, ledger)] == [new.id]
    pages[new.chapter].cells += cells
    assert closure_problems(pages, ledger) == []


@pytest.fixture
def kernel(nothing_set, monkeypatch):
    """Enter the page's kernel into copies of the tables; return its name, and a function that enters its gain."""
    made, gain = PYTHON.findall(KERNEL)
    (name,) = re.findall(r'name="(.*)"', made)
    monkeypatch.setattr(
        kernels, "KERNELS", {other: kernels.KERNELS[other] for other in kernels.KERNELS if other != name}
    )
    monkeypatch.setattr(gains, "GAINS", {other: gains.GAINS[other] for other in gains.GAINS if other != name})
    kernels._parsed.cache_clear()
    exec(compile(made, "CONTRIBUTING.md", "exec"), vars(kernels).copy())
    yield name, lambda: exec(compile(gain, "CONTRIBUTING.md", "exec"), vars(gains).copy())
    kernels._parsed.cache_clear()


def test_the_kernel_is_known_by_its_name_and_equals_its_twin(kernel):
    (name, _), rng = kernel, np.random.default_rng(1)
    row = rng.uniform(-1, 1, 9)
    np.testing.assert_allclose(kernels.weights(row, name), reference.weights(row.tolist(), name), rtol=1e-14)
    q, k, v = (rng.uniform(0, 1, shape) - 0.2 for shape in ((3, 4), (5, 4), (5, 2)))
    wanted = reference.attend(q.tolist(), k.tolist(), v.tolist(), name)
    np.testing.assert_allclose(attend(q, k, v, kernel=name), wanted, rtol=1e-12)
    assert name in kernels.usages()


def test_without_its_gain_the_kernel_is_sampled_and_with_it_the_law_is_exact(kernel, capsys):
    name, enter_gain = kernel
    (words,) = re.findall(rf"attnsep (fires .* --kernel {name})$", KERNEL, re.MULTILINE)
    assert cli.main(words.split()) == 0
    sampled = re.match(r"P\[F fires\] ≈ .* \(sampled: .*\nbetween (.*) and (.*), with", capsys.readouterr().out)
    enter_gain()
    assert cli.main(words.split()) == 0
    exact = re.match(r"P\[F fires\] = (.*) \(exact\)", capsys.readouterr().out)
    assert float(sampled[1]) <= float(exact[1]) <= float(sampled[2])
    data = TokenData(n=12, d=8, a="0.7", c="0.5")
    first = values(A := data.matrix(), A, A, data.X(), name)[:, 0] / (0.7 * data.log_n**0.5)
    p, q, *_ = tokens.weights(12, "0.7", name)
    np.testing.assert_allclose(first, [p] + [q] * 11, rtol=1e-12)


def test_all_that_the_library_reads_is_installed_with_it():
    data = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["package-data"]
    base = ROOT / "lib/attnsep"
    there = {path.relative_to(base.parent) for path in base.rglob("*") if path.is_file()}
    there = {path for path in there if path.suffix not in (".py", ".pyc")}
    listed = {Path(package.replace(".", "/"), name) for package, names in data.items() for name in names}
    assert there - listed == set(), "not in package-data of pyproject.toml: an installed attnsep would lack these"


def test_nothing_silences_the_book():
    """The step "book" turns each warning into an error, unless the settings keep it from being given."""
    book = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    assert book["execute"] == {"execute_notebooks": "off"}  # pages show what nbval compares
    assert book["only_build_toc_files"] is True
    assert book["exclude_patterns"] == [
        ".venv*",
        ".pytest_cache",
        "_build",
        "lib",
        "tools",
        "README.md",
        "**.ipynb_checkpoints",
    ]
    silent = ("suppress_warnings", "nitpick_ignore", "nitpick_ignore_regex", "nitpicky", "keep_warnings")
    assert not {*silent} & book["sphinx"]["config"].keys()


def test_version_and_licenses_are_the_same_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    newest = re.search(r"^## ([\d.]+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)[1]
    assert {project["version"], attnsep.__version__, citation["version"]} == {newest}
    assert project["license"] == citation["license"][0] == "MIT"
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").startswith("MIT License")
    text = (ROOT / "LICENSE-TEXT").read_text(encoding="utf-8")
    assert "Creative Commons Attribution 4.0" in text
    assert "Section 8 – Interpretation" in text  # the whole of it
