"""A picture that is not the stored one is noticed: blank, swapped, recoloured, or with a letter less."""

import base64
import io
import runpy
import shutil
import subprocess
import sys
from types import SimpleNamespace

import nbformat
import numpy as np
import pytest
from PIL import Image

from attnsep import figures
from attnsep.figures import Curve
from tools import pictures
from tools.files import ROOT


def png(array, **options):
    Image.fromarray(array).save(stream := io.BytesIO(), format="PNG", **options)
    return base64.b64encode(stream.getvalue()).decode()


def drawn(words="one column", mechanism="softmax"):
    curves = [Curve(x=[1, 2], y=[1, 2], mechanism=mechanism, words=words), Curve(x=[1, 2], y=[2, 1], words="more")]
    figure = figures.chart(curves, x="n", y="fires", title="Why?")
    figure.savefig(stream := io.BytesIO(), format="png")
    return base64.b64encode(stream.getvalue()).decode()


WHITE = np.full((40, 60, 3), 255, np.uint8)


@pytest.fixture(scope="module")
def stored():
    return drawn()


@pytest.mark.slow
def test_the_same_pixels_agree_however_they_are_packed(stored):
    assert pictures.problem([png(WHITE)], [png(WHITE, compress_level=0)]) == ""
    assert pictures.problem([stored], [drawn()]) == ""
    assert pictures.problem([], []) == ""


def test_the_edge_of_a_dot_may_move():
    other = WHITE.copy()
    other[0, : pictures.MOST_PIXELS] = 0
    assert pictures.problem([png(WHITE)], [png(other)]) == ""
    other[0, pictures.MOST_PIXELS] = 254
    found = pictures.problem([png(WHITE)], [png(other)])
    assert found == "picture 1: 21 of 2400 pixels are not as stored, between columns 0 and 20, rows 0 and 0"


def test_where_a_picture_differs_is_said():
    other = WHITE.copy()
    other[3:5, 10:25] = 0
    found = pictures.problem([png(WHITE), png(WHITE)], [png(WHITE), png(other)])
    assert found == "picture 2: 30 of 2400 pixels are not as stored, between columns 10 and 24, rows 3 and 4"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fresh", "message"),
    [
        (lambda _: [png(np.full((608, 896, 3), 255, np.uint8))], "picture 1: "),
        (lambda _: [drawn(mechanism="linear")], "pixels are not as stored"),
        (lambda _: [drawn(words="one colum")], "pixels are not as stored"),
        (lambda _: [png(WHITE)], "have 896 × 544 and 60 × 40 pixels"),
        (lambda _: [], "1 pictures are stored, and 0 were drawn"),
        (lambda stored: [stored, stored], "1 pictures are stored, and 2 were drawn"),
    ],
    ids=["blank", "another colour", "one letter less", "another size", "none", "two"],
)
def test_another_picture_is_noticed(stored, fresh, message):
    assert message in pictures.problem([stored], fresh(stored))


def test_a_ground_that_lets_the_page_through_is_noticed():
    clear = np.dstack([WHITE, np.zeros(WHITE.shape[:2], np.uint8)])
    assert "2400 of 2400 pixels" in pictures.problem([png(WHITE)], [png(clear)])


@pytest.mark.slow
def test_swapped_pictures_are_noticed(stored):
    pair = [stored, drawn(mechanism="linear")]
    assert pictures.problem(pair, pair[::-1])


def test_another_matplotlib_and_the_systems_letters_are_said(monkeypatch, tmp_path):
    from matplotlib import ft2font

    (tmp_path / "requirements.lock").write_text("other-matplotlib==1.0\nmatplotlib==3.1\nmatplotlib-inline==2.0\n")
    monkeypatch.setattr(pictures, "ROOT", tmp_path)
    monkeypatch.setattr(pictures, "version", {"matplotlib": "3.0"}.__getitem__)
    monkeypatch.setattr(ft2font, "__freetype_build_type__", "local")
    assert pictures.why_not() == "matplotlib is 3.0, and requirements.lock has 3.1"
    monkeypatch.setattr(pictures, "version", {"matplotlib": "3.1"}.__getitem__)
    assert pictures.why_not() == ""
    monkeypatch.setattr(ft2font, "__freetype_build_type__", "system")
    assert pictures.why_not() == "matplotlib draws letters with the system's FreeType and not with its own"


@pytest.mark.slow
@pytest.mark.skipif(bool(pictures.why_not()), reason="pictures are compared with the lock's matplotlib alone")
def test_a_blank_picture_in_a_chapter_fails(tmp_path, surroundings):
    source = "from matplotlib import pyplot\nfigure, _ = pyplot.subplots(figsize=(1, 1))\npyplot.close(figure)\nfigure"
    blank = {"text/plain": "<Figure size 100x100 with 1 Axes>", "image/png": png(np.zeros((100, 100, 4), np.uint8))}
    output = nbformat.v4.new_output("execute_result", blank, execution_count=1)
    cell = nbformat.v4.new_code_cell(source, outputs=[output], execution_count=1)
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "page.ipynb")
    shutil.copy(ROOT / "chapters/conftest.py", tmp_path)
    command = [sys.executable, "-m", "pytest", "-p", "nbval", "--nbval", "--nbval-current-env", "--rootdir", tmp_path]
    plain = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT)}
    run = subprocess.run(
        [*command, "-c", "/dev/null", tmp_path],
        cwd=ROOT,
        env=surroundings | plain,
        capture_output=True,
        encoding="utf-8",
    )
    assert run.returncode == 1, run.stdout
    assert "picture 1: the stored and the drawn one have 100 × 100 and " in run.stdout  # Jupyter cuts the margin
    assert "`make notebooks` stores it" in run.stdout


@pytest.mark.parametrize(
    ("texts_agree", "fresh", "agree", "said"),
    [(True, 255, True, 0), (False, 255, False, 0), (True, 0, False, 1), (False, 0, False, 0)],
)
def test_a_cell_agrees_where_its_texts_and_its_pictures_do(monkeypatch, texts_agree, fresh, agree, said):
    for name in ("MPLBACKEND", "PYTHONSTARTUP"):  # the file takes them away
        monkeypatch.setenv(name, "")
    hook = runpy.run_path(str(ROOT / "chapters/conftest.py"))["pytest_itemcollected"]
    hook.__globals__["DRAWN_ELSEWHERE"] = ""
    outputs = [[{"data": {"image/png": png(np.full_like(WHITE, grey))}}] for grey in (fresh, 255)]
    item = SimpleNamespace(compare_outputs=lambda *words: texts_agree, comparison_traceback=[])
    hook(item)
    assert item.compare_outputs(*outputs, ()) is agree
    assert len(item.comparison_traceback) == said


def test_of_what_a_cell_prints_only_stderr_is_left_out(monkeypatch):
    for name in ("MPLBACKEND", "PYTHONSTARTUP"):  # the file takes them away
        monkeypatch.setenv(name, "")
    collector = SimpleNamespace(fspath=SimpleNamespace(ext=".ipynb"), skip_compare=())
    runpy.run_path(str(ROOT / "chapters/conftest.py"))["pytest_collectstart"](collector)
    assert collector.skip_compare == ("stderr",), (
        "the step notebooks would no longer compare this; see chapters/conftest.py"
    )
