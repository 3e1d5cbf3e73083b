"""What is read from measured times: crossovers, medians, exponents, and the table."""

import json

import pytest

from attnsep.bench import cost

SOFTMAX, LINEAR = (1.0, 2.0, 9.0), (2.0, 2.0, 1.0)


def row(mechanism, n, time, **more):
    return {
        "mechanism": mechanism,
        "library": "attnsep",
        "n": n,
        "d": 8,
        "dtype": "float64",
        "median": time,
        "min": time / 2,
        "max": 2 * time,
        "memory": None,
    } | more


def rows(softmax=SOFTMAX, linear=LINEAR):
    pairs = [("softmax", softmax), ("linear", linear)]
    return [row(name, 4 * 2**k, time) for name, times in pairs for k, time in enumerate(times) if time]


@pytest.mark.parametrize(
    ("softmax", "linear", "wanted"),
    [
        ((1, 2, 9), (2, 1, 1), 8),
        ((1, 2, 9), (2, 2, 1), 16),  # as long is not less
        ((3, 2, 9), (2, 1, 1), 4),
        ((3, 1, 9), (2, 2, 1), 16),  # at every n from there on
        ((3, 2, 1), (2, 1, 2), None),
        ((3, 2, 1), (2, 1, 0), 4),  # 0: was not timed, and does not count
    ],
)
def test_the_crossover_is_where_linear_attention_begins_to_take_less(softmax, linear, wanted):
    assert cost.crossover(rows(softmax, linear), 8) == wanted


def test_a_crossover_needs_both():
    with pytest.raises(ValueError, match="no n has a row for softmax and one for linear"):
        cost.crossover(rows(softmax=()), 8)


def test_medians_are_of_one_library_width_and_dtype_in_ascending_order():
    others = [{"library": "PyTorch"}, {"d": 9}, {"dtype": "float32"}]
    found = cost.medians([*rows()[::-1], *(row("softmax", 2, 7.0, **other) for other in others)], 8)
    assert [*found] == [4, 8, 16]
    assert [found[n] for n in found] == [{"softmax": s, "linear": x} for s, x in zip(SOFTMAX, LINEAR, strict=True)]
    assert cost.medians(rows(), 8, what="max")[16] == {"softmax": 18, "linear": 2}
    assert cost.medians([row("linear", 4, 1.0, memory=5), *rows()], 8, what="memory") == {4: {"linear": 5}}
    with pytest.raises(ValueError, match=r"rows, d = 8, dtype = 'float64', library = 'PyTorch', what = 'min': no such"):
        cost.medians(rows(), 8, library="PyTorch", what="min")


@pytest.mark.parametrize("words", [{"dtype": "float16"}, {"library": "JAX"}, {"what": "mean"}, {"d": 0}])
def test_what_no_row_can_have_is_named(words):
    with pytest.raises(ValueError, match=f"{next(iter(words))} = "):
        cost.medians(rows(), **({"d": 8} | words))


@pytest.mark.parametrize(
    ("sizes", "numbers"), [([1], [1]), ([2, 2], [1, 2]), ([1, 2, 3], [1, 2]), ([1, 0], [1, 2]), ([1, 2], [1, -1])]
)
def test_a_slope_needs_two_sizes_and_as_many_numbers_above_0(sizes, numbers):
    with pytest.raises(ValueError, match=r"sizes|numbers"):
        cost.exponent(sizes, numbers)


def test_two_sizes_and_one_token_are_enough():
    assert cost.exponent([2, 4], [3, 12]) == pytest.approx(2)
    assert cost.medians([row("linear", 1, 1.0)], 8) == {1: {"linear": 1}}


def test_seconds_that_no_double_holds_are_refused():
    with pytest.raises(ValueError, match="the seconds are more than a double holds"):
        cost.least_seconds({"multiply_adds": 1.0, "powers": 1.0}, 10**300, 1)
    for limits in ({"powers": 1.0}, {"multiply_adds": 1.0}, 7):
        with pytest.raises(TypeError, match="must have multiply_adds and powers"):
            cost.least_seconds(limits, 2, 2)
    with pytest.raises(ValueError, match=r"limits\['powers'\] = 0"):
        cost.least_seconds({"multiply_adds": 1.0, "powers": 0}, 2, 2)


def test_the_table_sets_both_libraries_side_by_side():
    ours, peer = row("linear", 16, 0.004, memory=3 * 2**20), row("linear", 16, 0.001, library="PyTorch")
    lines = cost.table({"rows": [ours, peer, row("softmax", 8, 0.5)]}).splitlines()
    assert " ".join(lines[1].split()) == "linear float64 8 16 4 (2 – 8) 1 (0.5 – 2) 4.00 3 / –"
    assert " ".join(lines[2].split()) == "softmax float64 8 8 500 (250 – 1e+03) – – – / –"
    for result in ({}, 7):
        with pytest.raises(TypeError, match="must be a result of bench"):
            cost.table(result)


@pytest.mark.parametrize("change", [{"n": 0}, {"median": 0}, {"n": 2.5}, {"median": "1"}])
def test_a_row_has_a_size_and_a_time(change):
    with pytest.raises((ValueError, TypeError), match=f"{next(iter(change))} = "):
        cost.table({"rows": [row("linear", 4, 1.0) | change]})
    with pytest.raises(TypeError, match=r"rows: one is .*must be a row of a result"):
        cost.table({"rows": [{name: 1 for name in row("linear", 4, 1.0) if name not in change}]})


def test_a_stored_result_is_read_as_it_was_written(tmp_path):
    result = {"date": "2026-01-31", "rows": rows()}
    cost.write_result(tmp_path / "a.json", result)
    assert cost.read_result(tmp_path / "a.json") == result
    assert (tmp_path / "a.json").read_text().count("\n") == len(result["rows"]) + 5
    for text in ("", "{}", "[1]", json.dumps({"rows": [{"n": 1}]})):
        (tmp_path / "b.json").write_text(text)
        with pytest.raises(ValueError, match=r"path = .*: is no result of attnsep bench"):
            cost.read_result(tmp_path / "b.json")
    with pytest.raises(TypeError, match="must be a result of bench"):
        cost.write_result(tmp_path / "c.json", {"rows": 7})
    with pytest.raises(ValueError, match=r"path = .*: cannot be written"):
        cost.write_result(tmp_path, result)
