"""What is read from measured times: crossovers, medians, exponents, and the table."""

import json

import numpy as np
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
        "turns": [time / 1.1, time, 1.1 * time],
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


def test_a_crossover_is_that_of_its_dtype():
    single = [found | {"dtype": "float32"} for found in rows((3, 2, 9), (2, 1, 1))]
    assert cost.crossover([*rows((1, 2, 9), (2, 2, 1)), *single], 8, "float32") == 4
    assert cost.crossover([*rows((1, 2, 9), (2, 2, 1)), *single], 8) == 16


def test_growth_is_that_of_its_library_and_dtype(rng):
    kinds = [("attnsep", "float64"), ("PyTorch", "float64"), ("attnsep", "float32")]
    found = [
        row("linear", n, 1.0, turns=[float(n**power)] * 3, library=library, dtype=dtype)
        for power, (library, dtype) in enumerate(kinds)
        for n in (10, 100)
    ]
    for power, (library, dtype) in enumerate(kinds):
        assert cost.growth(found, "linear", 8, 10, 100, rng, dtype, library) == pytest.approx((power,) * 3)


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
    assert cost.medians([row("linear", 4, 1.0, memory=0)], 8, what="memory") == {4: {"linear": 0}}, "0 was measured"
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
    ours = row("linear", 16, 0.004, memory=64 * 2**20, ratio=[3.9, 4.1, 4.2], settled=True)
    peer, bare = (row("linear", 16, 0.001, library=library) for library in ("PyTorch", "NumPy"))
    doubtful = row("softmax", 8, 0.5, ratio=[0.5, 1, 2], settled=False)
    lines = cost.table({"rows": [ours, peer, bare, doubtful, row("softmax", 4, 0.5)]}).splitlines()
    assert " ".join(lines[1].split()) == "linear float64 8 16 4 1 4.00 (3.90 – 4.20) 1 64 / –"
    assert " ".join(lines[2].split()) == "softmax float64 8 8 500 – –? – – / –"
    assert " ".join(lines[3].split()) == "softmax float64 8 4 500 – – – – / –"
    lines = cost.table({"rows": [doubtful, row("softmax", 8, 0.5, library="PyTorch")]}).splitlines()
    assert " ".join(lines[1].split()) == "softmax float64 8 8 500 500 1.00 (0.50 – 2.00)? – – / –"
    for result in ({}, 7):
        with pytest.raises(TypeError, match="must be a result of bench"):
            cost.table(result)


@pytest.mark.parametrize("change", [{"n": 0}, {"median": 0}, {"n": 2.5}, {"median": "1"}])
def test_a_row_has_a_size_and_a_time(change):
    with pytest.raises((ValueError, TypeError), match=f"{next(iter(change))} = "):
        cost.table({"rows": [row("linear", 4, 1.0) | change]})
    with pytest.raises(TypeError, match=r"rows: one is .*must be a row of a result"):
        cost.table({"rows": [{name: 1 for name in row("linear", 4, 1.0) if name not in change}]})


def test_only_settled_cells_are_stored_and_the_others_are_listed(tmp_path):
    kept, doubtful = row("linear", 16, 0.004, settled=True), row("softmax", 8, 0.5, settled=False)
    peers = [row(name, n, 1.0, library="PyTorch") for name, n in (("linear", 16), ("softmax", 8))]
    cost.write_result(tmp_path / "a.json", {"date": "2026-01-31", "rows": [kept, doubtful, *peers]})
    found = cost.read_result(tmp_path / "a.json")
    assert found["rows"] == [kept, peers[0]]
    assert found["unsettled"] == [["softmax", "float64", 8, 8]]


def test_growth_has_an_interval_that_widens_with_the_turns(rng):
    def found(spread):
        turns = {10: [1.0, 1.0, 1.0], 100: [10 / spread, 10.0, 10 * spread], 1000: [100.0, 100.0, 100.0]}
        rows = [row("linear", n, times[1], turns=times) for n, times in turns.items()]
        return cost.growth(rows, "linear", 8, 10, 1000, rng), cost.growth(rows, "linear", 8, 10, 100, rng)

    for low, middle, high in found(1.0):
        assert (low, middle, high) == pytest.approx((1, 1, 1))
    (_, whole, _), (low, middle, high) = found(2.0)
    assert whole == pytest.approx(1)
    assert (low, middle, high) == pytest.approx((1 - np.log10(2), 1, 1 + np.log10(2)))
    with pytest.raises(ValueError, match="sizes, numbers: 1 different sizes"):
        cost.growth([row("linear", 10, 1.0)], "linear", 8, 1, 10, rng)
    with pytest.raises(ValueError, match="attention = 'hard'"):
        cost.growth([row("linear", 10, 1.0)], "hard", 8, 1, 10, rng)


def test_growth_looks_at_nothing_beyond_its_ends(rng):
    rows = [row("linear", n, time, turns=[time] * 3) for n, time in ((1, 9.0), (10, 1.0), (100, 10.0), (1000, 10.0))]
    assert cost.growth(rows, "linear", 8, 10, 100, rng) == pytest.approx((1, 1, 1))


def test_growth_goes_through_the_medians_so_one_disturbed_turn_moves_nothing(rng):
    rows = [row("linear", 10, 1.0, turns=[1.0] * 9), row("linear", 100, 10.0, turns=[10.0] * 8 + [1e7])]
    assert cost.growth(rows, "linear", 8, 10, 100, rng) == pytest.approx((1, 1, 1)), "a mean would be moved"


def test_growth_leaves_out_as_much_on_either_side():
    turns = [1 + 0.01 * i for i in range(9)]
    fast = [row("linear", 10, 1.0, turns=[1.0]), row("linear", 1000, 10.0, turns=[10 * x for x in turns])]
    slow = [row("linear", 10, 1.0, turns=[1.0]), row("linear", 1000, 10.0, turns=[10 / x for x in turns])]
    found, mirrored = (cost.growth(rows, "linear", 8, 10, 1000, np.random.default_rng(7)) for rows in (fast, slow))
    assert [x - 0.5 for x in found] == pytest.approx([0.5 - x for x in reversed(mirrored)])
    assert found[0] < found[1] < found[2]


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
