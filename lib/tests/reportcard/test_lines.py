"""The lines agree with exact laws and other computations; broken attentions get other cards than right ones."""

import math

import numpy as np
import pytest

from attnsep.extensions.where_linear_wins import CountData
from attnsep.paper import tokens
from attnsep.paper.tokens import TokenData
from attnsep.reportcard import _lines
from attnsep.reportcard._callables import Budget, Late, adapted
from attnsep.reportcard.card import named, report
from lib.tests.reportcard import stand_ins

WIDTH = 66


def card(attention, *lines, **given):
    if lines:
        given["lines"] = lines
    return report(attention, **{"width": WIDTH, "library": "numpy", "seconds": 1000, "n": 512} | given)


@pytest.mark.slow
@pytest.mark.parametrize(("attention", "kernel"), [("softmax", "softmax"), ("linear", "linear")])
def test_the_mark_has_the_weight_of_the_exact_law(attention, kernel):
    numbers = card(getattr(stand_ins, attention), "sees")["sees"].numbers
    for row in numbers["sizes"]:
        exact = tokens.law(row["n"], _lines.data_of(row["n"], WIDTH, _lines.STRONG).d, "0.7", "0.5", kernel).weights()
        assert math.isclose(row["weight"], exact.p, rel_tol=1e-9)
        assert row["least"] == pytest.approx(row["most"], rel=1e-9)
    assert [row["n"] for row in numbers["sizes"]] == [64, 128, 256, 512]
    last, before = numbers["sizes"][-1]["gain"], numbers["sizes"][-2]["gain"]
    assert numbers["growth"] == pytest.approx(math.log2(last / before))
    assert numbers["growth"] == pytest.approx({"softmax": 0.7 * 1.7, "linear": 0}[kernel], abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("attention", "verdict"),
    [("softmax", "yes"), ("largest_alone", "yes"), ("scaled", "no"), ("linear", "no"), ("wrong_normaliser", "partly")],
)
def test_the_mark_is_seen_with_half_of_the_weight_and_a_gain_that_outgrows_the_crowd(attention, verdict):
    line = card(getattr(stand_ins, attention), "sees")["sees"]
    assert line.verdict == verdict
    last = line.numbers["sizes"][-1]
    assert (last["weight"] >= 0.5) == (verdict == "yes")
    assert ("its gain grows like" in line.says) == math.isfinite(line.numbers["growth"]) == (last["weight"] < 1)


def test_a_growth_needs_two_gains_above_nothing():
    assert _lines._slope(2.0, 4.0) == 1
    assert all(math.isnan(_lines._slope(*pair)) for pair in [(0, 1), (1, 0), (-1, 1), (math.inf, 1), (1, math.inf)])


def test_weights_above_those_of_a_whole_row_are_no_shares():
    line = card(lambda q, k, v: 2 * stand_ins.softmax(q, k, v), "sees")["sees"]
    assert line.verdict == "not judged"
    weight = line.numbers["sizes"][-1]["most"]
    assert weight > 1
    assert line.says.endswith(f"no shares: among 512 tokens the mark alone has the weight {weight:.3g}.")


def test_sizes_are_halved_as_long_as_both_errors_are_small(monkeypatch):
    quiet, loud, less, more = ((_lines.Frequency(rate, rate, rate, 10), []) for rate in (0.1, 0.9, 0.8999, 0.1001))
    good, tried, late = [quiet, loud], [], []

    def fired(judge, n, share):
        tried.append((n, share))
        if n in late:
            raise Late
        return good if n >= judge else [quiet, less]

    monkeypatch.setattr(_lines, "_fired", fired)
    for least in (64, 128):
        tried.clear()
        assert _lines._from_which_n(least, 512, good) == least
        assert tried == [(256, 4), (128, 4), (64, 4)]
    for found in ([quiet, less], [more, loud], None):
        assert _lines._from_which_n(64, 512, found) is None
    late.append(128)
    assert _lines._from_which_n(64, 512, good) == 256  # as far as the time sufficed


def test_strength_and_scale_that_win_are_those_of_the_formula():
    numbers = card(stand_ins.softmax, "sees", n=128)["sees"].numbers
    a = numbers["least strength"]  # n^{a(1+a)} = n − 1
    assert a * (1 + a) == pytest.approx(math.log(127) / math.log(128), rel=2e-3)
    assert numbers["least scale"] * 0.7 * 1.7 * math.log(128) == pytest.approx(math.log(127), rel=2e-3)
    numbers = card(stand_ins.scaled, "sees", n=128)["sees"].numbers
    assert numbers["least scale"] == pytest.approx(math.sqrt(WIDTH) * math.log(127) / (1.19 * math.log(128)), rel=2e-3)
    assert card(stand_ins.linear, "sees", n=128)["sees"].numbers["least scale"] is None


@pytest.mark.parametrize(("attention", "kernel"), [("softmax", "softmax"), ("linear", "linear"), ("scaled", None)])
def test_firing_is_inside_the_interval_around_the_exact_law(attention, kernel):
    line = card(getattr(stand_ins, attention), "separates")["separates"]
    kernel = kernel or f"softmax:{1 / math.sqrt(WIDTH)!r}"
    data = [_lines.data_of(512, WIDTH, a) for a in (_lines.WEAK, _lines.STRONG)]
    for on, fires in zip(data, ("D_0", "D_1"), strict=True):
        exact = tokens.law(512, on.d, on.a, on.c, kernel).fires(10)
        assert line.numbers["fires"][fires]["low"] <= exact <= line.numbers["fires"][fires]["high"]
    assert line.numbers["nearest"]["agrees"]
    assert line.numbers["nearest"]["kernel"].partition(":")[0] == kernel.partition(":")[0]
    assert line.numbers["networks"] == 2000


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["sparsemax", "entmax", "elu+1", "taylor", "squared-relu", "hard", "polynomial:3"])
def test_a_kernel_of_the_library_is_known_and_its_law_is_inside(kernel):
    near = report(named(kernel), width=WIDTH, lines=["separates"], seconds=1000)["separates"].numbers["nearest"]
    assert (near["kernel"], near["agrees"]) == (kernel, True)
    assert near["distance"] < 1e-6


def test_a_frequency_is_that_of_networks_drawn_one_by_one():
    attention = stand_ins.softmax
    judge = _lines.Judge(adapted(attention, library="numpy", width=WIDTH, budget=Budget(1000)), 0, _lines.MOST)
    data = TokenData(n=64, d=18, a="0.7", c="0.5")
    A = data.matrix(np)
    out = attention(np.repeat(A.sum(axis=1, keepdims=True), 18, axis=1), A, A)
    rng, fired = np.random.default_rng(5), 0
    for _ in range(2000):
        y = 1.0 - 2 * rng.integers(0, 2, (18, 10))
        fired += bool((out @ y > data.tau + 1e-12).any())
    whole, rates = _lines.frequency(judge, [out], data.tau)
    assert abs(whole.rate - fired / 2000) < 5 * math.sqrt(2 * 0.25 / 2000)
    assert rates == [whole.rate]
    assert whole.low < whole.rate < whole.high


def test_counting_is_that_of_the_marked_tokens_weights():
    line = card(stand_ins.linear, "counts")["counts"]
    assert line.verdict == "yes"
    for share, mass in zip(_lines.SHARES, line.numbers["mass"], strict=True):
        data = CountData(n=512, d=_lines.data_of(512, WIDTH, _lines.STRONG).d, a="0.7", c="0.5", share=share)
        sums = data.matrix(np).sum(axis=1)
        marked = data.matrix(np)[:, 0] > 0
        assert mass == pytest.approx(sums[marked].sum() / sums.sum())
    assert card(stand_ins.softmax, "counts")["counts"].verdict == "no"


def test_recall_is_the_distance_of_the_weights_from_the_identity():
    line = card(stand_ins.scaled, "recalls", seed=3)["recalls"]
    rng = np.random.default_rng([3, list(_lines.LINES).index("recalls")])
    for row in line.numbers["sizes"]:
        keys = rng.standard_normal((row["pairs"], WIDTH))
        W = stand_ins.weights(keys @ keys.T / math.sqrt(WIDTH))
        assert row["loss"] == pytest.approx(np.mean(np.sum((np.eye(row["pairs"]) - W) ** 2, axis=1)) / 2)
        assert row["rank"] == np.linalg.matrix_rank(W)
    assert (line.verdict, line.numbers["most pairs"]) == ("yes", 64)
    assert line.says.endswith("Up to 64 pairs the loss is at most 0.05.")


def test_linear_attention_recalls_no_more_than_its_rank():
    line = card(stand_ins.linear, "recalls", width=8)["recalls"]
    last = line.numbers["sizes"][-1]
    assert (last["rank"], last["floor"]) == (8, (1 - 8 / 64) / 2)
    assert last["floor"] <= last["loss"] <= 0.5
    assert (line.verdict, line.numbers["most pairs"]) == ("no", 0)
    assert line.says.endswith("At no number of pairs the loss is at most 0.05.")


@pytest.mark.parametrize(("attention", "verdict"), [("softmax", "yes"), ("linear", "no")])
def test_who_selects_ends_at_one_token_and_who_averages_does_not(attention, verdict):
    line = card(getattr(stand_ins, attention), "selects")["selects"]
    assert line.verdict == verdict
    if verdict == "yes":
        assert line.numbers["tokens"]["256"] == pytest.approx(1, abs=0.05)
    else:
        assert line.numbers["tokens"]["1"] == pytest.approx(line.numbers["tokens"]["256"])


def test_where_places_count_the_marked_tokens_are_counted_in_several_orders():
    """All weight is the first token's, which is a marked one in some orders and in others none."""
    line = card(lambda q, k, v: np.repeat(v[:1], len(v), axis=0), "counts", width=10, n=128)["counts"]
    assert np.allclose(line.numbers["spread"], [(0, 1), (0, 1)])


def test_a_sound_attention_keeps_its_digits():
    line = card(stand_ins.several, "numerics")["numerics"]
    numbers = line.numbers
    assert line.verdict == "yes"
    assert numbers["row sums off by"] < 1e-14
    assert (numbers["depends on places"], numbers["refused lengths"], numbers["mask"]) == (False, [], None)
    assert numbers["heads differ by"] < 1e-14
    assert numbers["prompts differ by"] < 1e-14
    assert 1e-8 < numbers["float32"]["error"] < 1e-5 < numbers["float16"]["error"] < 0.05
    assert numbers["float16"]["keeps the difference to"] == 256
    assert "Masks are not judged" in line.says


@pytest.mark.slow
def test_a_wrong_normaliser_is_seen():
    lines = ("separates", "recalls", "numerics")
    right, wrong = (card(x, *lines, width=34) for x in (stand_ins.softmax, stand_ins.wrong_normaliser))
    assert "sum to 1 only up to 0." in wrong["numerics"].says
    assert (wrong["numerics"].verdict, right["numerics"].verdict) == ("partly", "yes")
    assert wrong["separates"].numbers["nearest"] is None
    assert wrong["recalls"].verdict == "no" != right["recalls"].verdict


def test_a_window_that_is_off_by_one_is_seen():
    right, wrong = (card(x, "numerics", width=18, n=128)["numerics"] for x in (stand_ins.window, stand_ins.off_by_one))
    assert "itself, at most 16 tokens before it and at most 16 tokens after it" in right.says
    assert "itself, at most 16 tokens before it and at most 15 tokens after it" in wrong.says
    assert (right.numbers["sees ahead"], wrong.numbers["sees ahead"]) == (16, 15)


def test_causal_attention_sees_what_is_before_and_shows_a_spread():
    found = card(stand_ins.causal, "sees", "separates", "numerics", width=18, n=128)
    assert "sees itself, all tokens before it and no token after it" in found["numerics"].says
    last = found["sees"].numbers["sizes"][-1]
    assert last["least"] < last["weight"] <= last["most"] == pytest.approx(1)
    assert "by its place" in found["sees"].says
    assert len(found["separates"].numbers["by place"]["D_1"]) == 5
    assert "by the mark's place" in found["separates"].says


# Broken in one place each, and what the card says about it: nothing crashes, and no output looks odd.
TOLD = {
    "wrong_normaliser": "of 31 tokens the weights of a row sum to 1 only up to 0.",
    "normalised_over_queries": "of 31 tokens the weights of a row sum to 1 only up to",
    "normaliser_of_the_row_before": "of 31 tokens the weights of a row sum to 1 only up to",
    "normaliser_without_last": "of 31 tokens the weights of a row sum to 1 only up to",
    "sums_of_sizes": "where scores have both signs, of 31 tokens the weights of a row sum to 1 only up to",
    "without_maximum": "scores of 10,000 make its outputs NaN or inf",
    "not_rescaled": "of 127 tokens the weights of a row sum to 1 only up to",
    "padded": "of 31 tokens the weights of a row sum to 1 only up to",
    "whole_blocks": "among 127 tokens places count, among others they do not",
    "without_last": "no token sees the token 512 of 512, itself included",
    "one_ahead": "it looks one token ahead, as with a mask off by one. Places count: of 512 a token sees itself, all "
    "tokens before it and at most 1 token after it. ",
    "half_inside": "inside it computes with about the digits of float16",
    "half_scores": "inside it computes with about the digits of float16",
    "half_weights": "inside it computes with about the digits of float16",
    "half_normaliser": "inside it computes with about the digits of float16",
}


@pytest.mark.quartered
@pytest.mark.parametrize("name", TOLD)
def test_what_is_broken_is_told(name):
    line = card(getattr(stand_ins, name), "numerics", width=10, n=128)["numerics"]
    assert line.says.startswith("Not as it should be: " + TOLD[name])
    assert ";" not in line.says.partition(". ")[0]  # and of nothing else
    assert line.verdict == "partly"


SOUND = ("softmax", "scaled", "linear", "several", "in_blocks", "cosine", "largest", "window", "causal")


@pytest.mark.parametrize("name", [*SOUND, "single_inside"])
def test_what_is_sound_is_not_blamed(name):
    line = card(getattr(stand_ins, name), "numerics", width=10, n=128)["numerics"]
    assert line.says.startswith("Rows, order, lengths and heads are as they should be. ")
    assert line.verdict == "yes"
    assert ("Inside it computes with about the digits of float32" in line.says) == (name == "single_inside")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("attention", "found", "verdict"),
    [
        (stand_ins.masked, "mask: True takes part", "yes"),
        (stand_ins.inverted_mask, "mask: True hides", "yes"),
        (stand_ins.mask_off_by_one, "mask: broken", "partly"),
    ],
)
def test_a_mask_is_kept_inverted_or_broken(attention, found, verdict):
    line = card(attention, "numerics")["numerics"]
    assert (line.numbers["mask"], line.verdict) == (found, verdict)


def test_lengths_that_are_refused_are_named():
    def even(q, k, v):
        assert len(q) % 2 == 0, "even"
        return stand_ins.softmax(q, k, v)

    line = card(even, "numerics")["numerics"]
    assert line.numbers["refused lengths"] == [1, 3, 33, 127]
    assert "it takes no 1, 3, 33 or 127 tokens" in line.says


def test_one_with_a_longest_prompt_is_judged_up_to_it():
    def short(q, k, v):
        assert len(q) <= 128, "128 at most"
        return stand_ins.softmax(q, k, v)

    found = card(short)
    assert [row["n"] for row in found["sees"].numbers["sizes"]] == [64, 128]
    assert (found["separates"].numbers["n"], found["counts"].numbers["n"]) == (128, 128)
    assert found["selects"].numbers["n"] == 128


def test_what_has_no_weights_is_said():
    def squared(q, k, v):
        return stand_ins.softmax(q, k, v) ** 2

    found = card(squared)
    assert [found[name].verdict for name in ("sees", "recalls", "selects")] == ["not judged"] * 3
    assert "no weighted sums of the values" in found["numerics"].says
    assert found["separates"].numbers["nearest"] is None


def test_projections_of_values_are_told_from_wrong_weights():
    def projected(q, k, v):
        return stand_ins.softmax(q, k, v) @ np.random.default_rng(0).standard_normal((v.shape[1],) * 2)

    found = card(projected)
    says = "the outputs mix the columns of the values, as projections do: give what lies between the projections"
    assert found["sees"].says == f"There are no weights to look at: {says}."
    assert found["numerics"].says.startswith(f"Not as it should be: {says}. ")


def test_how_far_a_token_sees_is_said_by_its_place():
    def blocks(q, k, v):
        block = np.arange(len(q)) // 64
        return stand_ins.weights(np.where(block[:, None] == block, q @ k.T, -np.inf)) @ v

    says = card(blocks, "numerics", width=10, n=128)["numerics"].says
    assert "itself, from 56 to 63 tokens before it and from 0 to 63 tokens after it, by its place. " in says

    def shifted(q, k, v):
        return stand_ins.window(q, k, v, back=8, ahead=7)

    says = card(shifted, "numerics", width=10, n=128)["numerics"].says
    assert "at most 8 tokens before it and at most 7 tokens after it: 16 in all. One side has one more: is the" in says

    def strictly(q, k, v):
        earlier = np.arange(len(q))[:, None] > np.arange(len(q))
        return np.nan_to_num(stand_ins.weights(np.where(earlier, q @ k.T, -np.inf))) @ v

    assert "sees not itself, all tokens before it and no token" in card(strictly, "numerics", n=128)["numerics"].says


def looked_at(attention, part, dtype=None):
    """Return one part of the last line of a card, which is looked at alone."""
    judge = _lines.Judge(adapted(attention, library="numpy", dtype=dtype, width=10, budget=Budget(1000)), 0, 64)
    about = _lines.Numerics(judge)
    getattr(about, part)()
    return about


def test_how_far_a_token_sees_is_said_by_its_place_where_only_one_side_differs():
    def causal_blocks(q, k, v):
        place = np.arange(len(q))
        seen = (place[:, None] // 64 == place // 64) & (place[:, None] >= place)
        return stand_ins.weights(np.where(seen, q @ k.T, -np.inf)) @ v

    (note,) = looked_at(causal_blocks, "order").notes
    assert note.endswith("sees itself, from 56 to 63 tokens before it and no token after it, by its place.")


@pytest.mark.parametrize("lost", ["gives what is not finite", "takes no"])
def test_a_dtype_that_fails_says_nothing_of_the_coarser_one(lost):
    def odd(q, k, v):
        if q.dtype == np.float32 and lost == "takes no":
            raise ValueError("no float32")
        return stand_ins.softmax(q, k, v) * (np.float32("inf") if q.dtype == np.float32 else 1)

    about = looked_at(odd, "digits")
    first, second = about.notes
    assert first == ("It takes no float32." if lost == "takes no" else "float32 gives what is not finite.")
    assert second.startswith("float16 is off by ")
    assert 0 < about.numbers["float16"]["error"] < 0.01


def test_a_coarser_dtype_is_compared_with_the_one_in_which_the_attention_is_judged():
    def single(q, k, v):
        if q.dtype == np.float64:
            raise ValueError("no float64")
        return stand_ins.softmax(q, k, v)

    about = looked_at(single, "digits", dtype="float32")
    assert about.numbers["float16"]["keeps the difference to"] == 64


def test_a_small_constant_beside_the_sum_is_no_rounding():
    def guarded(q, k, v):
        e = stand_ins.exponentials(q, k)
        return e / (e.sum(axis=1, keepdims=True) + 1e-6) @ v

    line = card(guarded, "numerics", width=10, n=128)["numerics"]
    assert line.verdict == "yes"
    assert "The weights of a row sum to 1 up to 8e-07." in line.says
    assert "Inside it computes" not in line.says


def test_kinks_are_no_steps():
    for name in ("sparsemax", "relu", "hard", "topk:8"):
        judge = _lines.Judge(adapted(named(name), width=10, budget=Budget(1000)), 0, _lines.MOST)
        assert judge.jumps < 1e-14


def test_digits_are_compared_with_finer_ones_where_there_are_any():
    """The difference between D_0 and D_1 is that of the outputs; the coarsest format is compared with none."""
    attention = adapted(stand_ins.softmax, library="numpy", width=18, budget=Budget(1000))
    weak, strong = (
        stand_ins.softmax(*_lines.inputs(_lines.data_of(64, 18, a), 18)) for a in (_lines.WEAK, _lines.STRONG)
    )
    found = _lines._difference(_lines.Judge(attention, 0, _lines.MOST), 64, "float64")
    assert np.allclose(found, strong - weak)
    assert np.abs(found).max() > 0.1
    says = "It is judged in one dtype, so fewer digits are not."
    assert says in card(stand_ins.softmax, "numerics", width=10, n=128, dtype="float16")["numerics"].says
    assert says not in card(stand_ins.softmax, "numerics", width=10, n=128)["numerics"].says


def test_heads_that_lean_on_each_other_are_seen():
    def leaning(q, k, v):
        out = stand_ins.several(q, k, v).copy()
        out[:, :, -1] *= q.shape[1]  # in one token alone
        return out

    line = card(leaning, "numerics", n=128)["numerics"]
    assert "a head beside another answers otherwise than alone (by 0." in line.says
    assert "a prompt beside another" not in line.says


def test_heads_that_are_not_apart_are_seen():
    def joined(q, k, v):
        out = stand_ins.several(q, k, v)
        return out / q.shape[0]  # a prompt beside another halves the answer

    line = card(joined, "numerics")["numerics"]
    assert "a prompt beside another answers otherwise than alone" in line.says
    assert line.numbers["heads differ by"] < 1e-14
