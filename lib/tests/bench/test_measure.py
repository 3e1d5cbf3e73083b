"""The benchmark's rows, its file and its readings; never how long anything takes."""

import json
import math
import os
import sys
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from attnsep import cli, processes
from attnsep.bench import cost, measure


def rows_of(softmax, linear, d=8, dtype="float64"):
    return [
        {"mechanism": name, "library": "attnsep", "n": n, "d": d, "dtype": dtype, "median": time, "memory": None}
        for name, times in (("softmax", softmax), ("linear", linear))
        for n, time in times.items()
    ]


pytestmark = pytest.mark.usefixtures("contenders_here")
OURS = [(name, "attnsep") for name in ("softmax", "linear", "token data", "closed form")]
BARE = [(name, "NumPy") for name in ("softmax", "linear")]
WIDEST = measure.WIDEST


@pytest.fixture
def in_doubt(contenders_here, monkeypatch):
    """Let a ratio settle as it does in a measurement."""
    monkeypatch.setattr(measure, "WIDEST", WIDEST)


@pytest.mark.slow
def test_one_row_for_each_mechanism_library_and_size(monkeypatch):
    monkeypatch.setattr(measure, "find_spec", lambda name: None)
    result = measure.bench([4, 8, 9], [4], ["float32", "float64"], seconds=0.001)
    found = [(row["mechanism"], row["library"], row["n"], row["d"], row["dtype"]) for row in result["rows"]]
    wanted = [  # n = 9 is no multiple of d - 2
        (*key, n, 4, dtype)
        for dtype in ("float32", "float64")
        for n in (4, 8, 9)
        for key in OURS[: 4 if n != 9 else 2] + BARE
    ]
    assert sorted(found) == sorted(wanted)
    for row in result["rows"]:
        assert measure.LEAST_TURNS <= len(row["turns"]) <= measure.MOST_TURNS
        assert 0 < row["min"] <= row["median"] <= row["max"] == max(row["turns"])
        assert row["median"] == pytest.approx(np.median(row["turns"]), rel=1e-3)
        assert row["memory"] is None
        assert ("settled" in row) == ("ratio" in row) == (row["library"] == "attnsep")
    assert set(result) == {"date", "machine", "versions", "threads", "blas", "settings", "load", "limits", "rows"}
    assert result["machine"]["cpu"]
    assert set(result["limits"]) == {"float32", "float64"}
    assert all(rate > 1e6 for rates in result["limits"].values() for rate in rates.values())


def test_only_numpy_and_cupy_are_timed():
    strict = pytest.importorskip("array_api_strict")
    with pytest.raises(ValueError, match="xp = array_api_strict: must be NumPy or CuPy"):
        measure.bench([4], [3], xp=strict)


def test_softmax_is_left_out_where_it_takes_too_long(monkeypatch):
    monkeypatch.setattr(measure, "find_spec", lambda name: None)
    rows = measure.bench([8, 9], [3], seconds=0.001, most_work=8 * 8 * 3)["rows"]
    for library in ("attnsep", "NumPy"):
        found = [(row["mechanism"], row["n"]) for row in rows if row["library"] == library]
        found = [cell for cell in found if cell[0] in ("softmax", "linear")]
        assert found == [("softmax", 8), ("linear", 8), ("linear", 9)]


def test_the_calls_compute_what_their_names_say(monkeypatch):
    monkeypatch.setattr(measure, "find_spec", lambda name: None)
    calls = measure._calls(np, 12, 5, "float64")
    soft, lin, found, closed = (calls[key]() for key in OURS)
    assert soft.shape == lin.shape == found.shape == (12, 5)
    _, others = closed
    np.testing.assert_allclose(
        found[1], [others.first, others.own, others.others, others.others, others.last], rtol=1e-12
    )
    assert not np.allclose(found[0], found[1])


def on_a_clock(monkeypatch):
    """Let time pass only where a test says so; return the clock and what rested."""
    clock, rests = [0.0], []
    monkeypatch.setattr(measure.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(measure.time, "sleep", rests.append)
    return clock, rests


def test_a_short_call_is_repeated_before_those_that_count(monkeypatch):
    """Threads that wake may share a core at first; a long call pays for no repetition."""
    (clock, rests), seen = on_a_clock(monkeypatch), []

    def call(name, seconds):
        def run():
            clock[0] += seconds
            seen.append(name)

        return run

    calls = {("softmax", "attnsep"): call("short", 1 / 64), ("linear", "attnsep"): call("long", 1.0)}
    monkeypatch.setattr(measure, "_calls", lambda *size: calls)
    found = measure._turn("attnsep", "numpy", 8, 4, "float64", 0.25, 1e9)
    assert found == {("softmax", "attnsep"): [1 / 64] * 16, ("linear", "attnsep"): [1.0]}
    assert seen.count("short") == 1 + 7 + 16, "one that loads, those of SPIN seconds, those that count"
    assert seen.count("long") == 1 + 1
    assert rests == [measure.REST]
    seen.clear()
    usual = measure.SECONDS / measure.LEAST_TURNS
    measure._turn("attnsep", "numpy", 8, 4, "float64", usual, 1e9)  # its calls are still there
    assert (seen.count("short"), seen.count("long")) == (7 + 2, 1)
    measure._turn("attnsep", "numpy", 8, 4, "float64", usual / 2, 1e9)
    assert (seen.count("short"), seen.count("long")) == (7 + 2 + 4 + 1, 2)
    assert rests[1:] == [measure.REST, measure.REST / 2], "a shorter measurement rests less"


def test_whether_a_call_is_short_is_seen_where_it_was_called_last(monkeypatch):
    """The first call loads what it needs, and the next one may wait for threads that wake."""
    (clock, _), seen, slow = on_a_clock(monkeypatch), [], iter([1.0, 1 / 16])

    def call():
        seen.append(next(slow, 1 / 64))
        clock[0] += seen[-1]

    monkeypatch.setattr(measure, "_calls", lambda *size: {("linear", "attnsep"): call})
    turns = [measure._turn("attnsep", "numpy", 8, 4, "float64", 0.25, 1e9) for _ in range(2)]
    assert [found["linear", "attnsep"] for found in turns] == [[1 / 16] + [1 / 64] * 12, [1 / 64] * 16]
    assert len(seen) == 1 + 13 + 7 + 16, "only before the second turn is it repeated for SPIN seconds"


def test_a_call_takes_until_its_work_is_done(monkeypatch):
    """A GPU's call returns before that."""
    clock, _ = on_a_clock(monkeypatch)

    def passing(seconds):
        def run():
            clock[0] += seconds

        return run

    monkeypatch.setattr(measure, "_calls", lambda *_: {("linear", "attnsep"): passing(1.0)})
    monkeypatch.setattr(measure, "_waiter", lambda xp: passing(2.0))
    assert measure._turn("attnsep", "numpy", 8, 4, "float64", 1.0, 1e9) == {("linear", "attnsep"): [3.0]}


def turns_of(**times):
    """Return a function that gives each call the next of its times, turn by turn, over and over."""
    turns = []

    def take_turn(*size):
        turns.append(size)
        keys = {"ours": ("softmax", "attnsep"), "peer": ("softmax", "PyTorch"), "padded": ("softmax", measure.PADDED)}
        keys["bare"] = ("softmax", "NumPy")
        return {keys[name]: [found[(len(turns) - 1) % len(found)]] for name, found in times.items()}

    return take_turn, turns


def test_the_better_one_of_pytorchs_calls_is_compared_with_ours():
    take_turn, turns = turns_of(ours=[1.0], peer=[4.0], padded=[2.0], bare=[0.5])
    pairs = measure._timed(take_turn, 8, 4, "float64", 1.0, 1e9)
    assert [key[1] for key, _ in pairs] == ["attnsep", measure.PADDED, "NumPy"], "and its memory counts, too"
    (_, ours), (_, peer), (_, bare) = pairs
    assert (ours["ratio"], ours["settled"]) == ([0.5, 0.5, 0.5], True)
    assert (peer["library"], peer["median"], bare["median"]) == ("PyTorch", 2.0, 0.5)
    assert turns == [(8, 4, "float64", 0.125, 1e9)] * measure.LEAST_TURNS


def test_the_better_one_of_pytorchs_calls_is_so_in_the_middle_and_not_once():
    take_turn, _ = turns_of(ours=[1.0], peer=[4.0, 4.0, 4.0, 1.0], padded=[2.0])
    assert [key[1] for key, _ in measure._timed(take_turn, 8, 4, "float64", 1.0, 1e9)] == ["attnsep", measure.PADDED]


def test_a_turn_takes_what_the_middle_one_of_its_calls_takes():
    calls = {("softmax", "attnsep"): [1.0, 2.0, 9.0], ("softmax", "PyTorch"): [3.0, 4.0, 5.0]}
    pairs = measure._timed(lambda *size: calls, 8, 4, "float64", 1.0, 1e9)
    assert [row["median"] for _, row in pairs] == [2.0, 4.0]
    assert [(row["min"], row["max"]) for _, row in pairs] == [(1.0, 2.0), (3.0, 4.0)]  # of calls, and of turns
    assert pairs[0][1]["ratio"] == [0.5, 0.5, 0.5]


@pytest.mark.usefixtures("in_doubt")
def test_a_ratio_that_stays_doubtful_gets_all_turns_and_is_called_so():
    take_turn, turns = turns_of(ours=[1.0, 2.0], peer=[1.0])
    ((_, ours), _) = measure._timed(take_turn, 8, 4, "float64", 1.0, 1e9)
    assert len(turns) == len(ours["turns"]) == measure.MOST_TURNS
    assert ours["settled"] is False
    assert ours["ratio"][0] < measure.WIDEST * ours["ratio"][0] < ours["ratio"][2]
    for spread, settled in ((0.6, True), (1.0, False)):
        take_turn, _ = turns_of(ours=[1.0, 1.0 + spread], peer=[1.0])
        assert measure._timed(take_turn, 8, 4, "float64", 1.0, 1e9)[0][1]["settled"] is settled


def test_a_disturbance_of_both_disturbs_no_ratio():
    """Each turn has its own ratio, so what slows down a whole turn cancels."""
    slow = [1.0, 1.0, 1.0, 3.0, 3.0]
    assert measure._interval([2 * time for time in slow], slow) == [2.0, 2.0, 2.0]
    low, middle, high = measure._interval(slow)
    assert (low, middle) == (1.0, pytest.approx(3**0.4, rel=1e-3))
    assert middle < high <= 3.0


@pytest.mark.slow
@pytest.mark.usefixtures("in_doubt")
def test_the_interval_covers_the_ratio():
    """Of 200 pairs of lognormal contenders, each with as many turns as it takes, whose medians have the ratio 2."""
    rng, covered, most = np.random.default_rng(20231017), 0, []
    for _ in range(200):
        turns = [], []
        low, high = 0, math.inf
        while len(turns[0]) < measure.LEAST_TURNS or high > measure.WIDEST * low:
            for times, scale in zip(turns, (2.0, 1.0), strict=True):
                times.append(scale * np.exp(0.15 * rng.standard_normal()))
            low, _, high = measure._interval(*turns)
        covered += low <= 2 <= high
        most.append(len(turns[0]))
    assert covered >= 170
    assert measure.LEAST_TURNS < max(most) <= measure.MOST_TURNS


def test_each_contender_has_a_process_in_which_nothing_is_set(monkeypatch):
    """A variable such as OMP_NUM_THREADS would hold back some libraries, and others not."""
    asked = []

    def alone(*given, **environment):
        asked.append((given, environment))
        return nullcontext()

    monkeypatch.setattr(measure, "FreshProcesses", alone)
    monkeypatch.setattr(measure, "_peer", lambda xp: True)
    with measure._contenders(measure.array_api_compat.numpy):
        assert asked == [((1,), {})] * 3


def test_what_has_not_settled_is_timed_again_after_all_others(monkeypatch):
    asked = []

    def timed(take_turn, n, *_):
        asked.append(n)
        return [(("linear", "attnsep"), {"n": n, "settled": n == 8 or asked.count(n) > 1})]

    for name, stand_in in (("_timed", timed), ("_add_memory", lambda *_: None), ("_limits", lambda *_: {})):
        monkeypatch.setattr(measure, name, stand_in)
    monkeypatch.setattr(measure, "_contenders", lambda xp: nullcontext())
    rows = measure.bench([8, 16, 32], [4], seconds=0.01)["rows"]
    assert asked == [8, 16, 32, 16, 32]
    assert rows == [{"n": n, "settled": True} for n in (8, 16, 32)]


def test_how_busy_the_others_are_is_seen_from_before_a_rest_to_behind_it(monkeypatch):
    monkeypatch.undo()  # no load of its own here
    seen, ticks = [], iter([(10, 100), (40, 200)])
    monkeypatch.setattr(measure, "_ticks", lambda: seen.append("ticks") or next(ticks))
    monkeypatch.setattr(measure.time, "sleep", seen.append)
    assert measure.load(2.5) == 0.7
    assert seen == ["ticks", 2.5, "ticks"]


def test_what_a_machine_is_is_said_in_its_own_words(monkeypatch):
    words = "processor\t: 0\nmodel\t\t: 85\nmodel name\t: Maker's: Best 1\nmodel name\t: another\n"
    monkeypatch.setattr(measure.Path, "read_text", lambda *_, **__: words)
    assert measure.cpu() == "Maker's: Best 1"


def test_only_settings_that_are_set_are_listed(monkeypatch):
    first, second = measure.BLAS_SETTINGS
    monkeypatch.setenv(first, "Haswell")
    monkeypatch.delenv(second, raising=False)
    assert measure._machine(np)["settings"] == {first: "Haswell"}


def test_the_blas_is_none_of_the_other_libraries_with_threads(monkeypatch):
    pytest.importorskip("threadpoolctl")
    pools = [{"user_api": "openmp", "internal_api": "libgomp", "version": None, "num_threads": 9}]
    pools.append({"user_api": "blas", "internal_api": "mkl", "version": "3", "architecture": "X", "num_threads": 2})
    monkeypatch.setattr("threadpoolctl.threadpool_info", lambda: pools)
    assert measure._blas() == {"name": "mkl", "version": "3", "kernel": "X", "threads": 2}


def test_the_sizes_come_width_by_width_and_dtype_by_dtype(monkeypatch):
    asked = []
    monkeypatch.setattr(measure, "_timed", lambda take_turn, *size: asked.append(size[:3]) or [])
    monkeypatch.setattr(measure, "_contenders", lambda xp: nullcontext())
    monkeypatch.setattr(measure, "_limits", lambda *_: {})
    measure.bench([8, 16], [4, 5], ["float32", "float64"], seconds=0.01)
    assert asked == [(n, d, kind) for kind in ("float32", "float64") for d in (4, 5) for n in (8, 16)]


def test_only_the_arrays_of_one_size_are_kept():
    for n in (4, 5, 6):
        measure._turn("attnsep", "numpy", n, 3, "float64", 1e-9, 1e9)
        assert measure._made.cache_info().currsize == 1


@pytest.mark.usefixtures("in_doubt")
def test_turns_go_on_until_the_ratio_has_settled():
    """What disturbed the first turns weighs less and less."""
    take_turn, turns = turns_of(ours=[1.5] * 3 + [1.0] * 37, peer=[1.0])
    ((_, ours), _) = measure._timed(take_turn, 8, 4, "float64", 1.0, 1e9)
    assert measure.LEAST_TURNS < len(turns) == len(ours["turns"]) < measure.MOST_TURNS
    assert ours["settled"] is True


@pytest.mark.slow
def test_contenders_have_processes_of_their_own(monkeypatch):
    monkeypatch.undo()  # no contenders here
    monkeypatch.setattr(measure, "find_spec", lambda name: None)
    monkeypatch.setattr(measure, "_turn", _who)
    with measure._contenders(measure.array_api_compat.numpy) as take_turn:
        first, second = (take_turn(4, 3, "float64", 0.1, 1e9) for _ in range(2))
    assert first == second
    assert first.keys() == {"attnsep", "NumPy"}
    assert len({os.getpid(), *first.values()}) == 3


def _who(library, backend, *size):
    assert (backend, size) == ("numpy", (4, 3, "float64", 0.1, 1e9))
    return {library: os.getpid()}


def test_load_is_what_the_system_tells(monkeypatch):
    monkeypatch.undo()
    ticks = iter([(100, 200), (130, 240)])
    monkeypatch.setattr(measure, "_ticks", lambda: next(ticks))
    assert measure.load(0.001) == 0.25
    monkeypatch.setattr(measure, "_ticks", lambda: None)
    assert measure.load(0.001) is None
    with pytest.raises(ValueError, match="seconds = 0"):
        measure.load(0)
    slept = []
    monkeypatch.setattr(measure.time, "sleep", slept.append)
    measure.load()
    assert slept == [1]


@pytest.mark.parametrize(
    ("text", "found"),
    [  # user, nice, system, idle, waiting for a disk, two kinds of interrupts, stolen; guests count as user already
        ("cpu  1 20 300 4000 50000 600000 7000000 80000000 900000000 1000000000\ncpu0 1 1", (54000, 87654321)),
        ("cpu  off\n", None),
        (None, None),
    ],
)
def test_idle_time_is_read_as_the_system_writes_it(monkeypatch, text, found):
    def read(path):
        assert str(path) == "/proc/stat"
        if text is None:
            raise OSError("no such file")
        return text

    monkeypatch.setattr(measure.Path, "read_text", read)
    assert measure._ticks() == found


def test_a_limit_is_the_shortest_of_its_times(monkeypatch):
    times = iter([[9.0], [4.0, 2.0, 8.0], [9.0], [7.0, 5.0, 6.0]])  # what goes before counts for nothing
    timed, powers, exp2 = [], [], measure._fast._exp2
    monkeypatch.setattr(measure, "_repeat", lambda call, wait, seconds: timed.append((call, seconds)) or next(times))
    monkeypatch.setattr(measure._fast, "_exp2", lambda x, out: powers.append((x.size, x.dtype)) or exp2(x, out))
    scores = measure._fast.PANELS["numpy"][1] // 4
    found = measure._limits(measure.array_api_compat.numpy, "float32", 0.25)
    assert found == {"multiply_adds": float(f"{1024**3 / 2:.4g}"), "powers": float(f"{64 * scores / 5:.4g}")}
    assert [seconds for _, seconds in timed] == [0.25] * 4
    timed[3][0]()
    assert powers == [(scores, np.float32)] * 64
    product = timed[1][0]()
    assert (product.shape, product.dtype, {*product[:, 0].tolist()}) == ((1024, 1024), np.float32, {1024.0})


def test_linear_attention_is_timed_on_numbers_between_a_tenth_and_one(monkeypatch):
    """Positive, so that no row sum cancels, and the same for every library."""
    asked = []
    monkeypatch.setattr(measure, "attend", lambda *arrays, **named: asked.append((arrays, named.get("kernel"))))
    for key in (("softmax", "attnsep"), ("linear", "attnsep")):
        measure._calls(np, 400, 5, "float64")[key]()
    (normal, softmax), (positive, linear) = asked
    assert (softmax, linear) == (None, "linear")
    assert all(0.1 <= x.min() <= 0.11 and 0.99 <= x.max() <= 1 for x in positive)
    for x in normal:  # scores of standard deviation 3 / sqrt(5) sqrt(5)
        assert x.std() == pytest.approx(math.sqrt(3) / 5**0.25, rel=0.05)


class NoRoom(RuntimeError):
    """Stands for PyTorch's error where a GPU has too little memory."""


def raising(error):
    def call():
        raise error

    return call


def test_a_call_of_pytorch_that_finds_no_room_is_left_out(monkeypatch):
    """Some widths make PyTorch hold all n² scores."""
    emptied = []
    cuda = SimpleNamespace(OutOfMemoryError=NoRoom, empty_cache=lambda: emptied.append(1))
    monkeypatch.setattr(measure, "_peer", lambda xp: SimpleNamespace(cuda=cuda))
    calls = {("softmax", "PyTorch"): raising(NoRoom()), ("softmax", measure.PADDED): int}
    monkeypatch.setattr(measure, "_calls", lambda *size: calls)

    def timed(library="PyTorch"):
        measure._made.cache_clear()
        return [*measure._turn(library, "numpy", 8, 4, "float64", 1e-3, 1e9)]

    assert timed() == [("softmax", measure.PADDED)]
    calls["softmax", measure.PADDED] = raising(NoRoom())
    assert timed() == []
    assert len(emptied) == 3
    calls["softmax", "PyTorch"] = raising(RuntimeError("no"))
    with pytest.raises(RuntimeError, match="no"):
        timed()
    calls["softmax", "PyTorch"] = raising(NoRoom())
    with pytest.raises(NoRoom):
        timed("attnsep")


def test_a_pytorch_that_cannot_compute_here_is_left_out(monkeypatch):
    monkeypatch.setattr(measure, "find_spec", lambda name: name)
    monkeypatch.setattr(measure, "is_cupy_namespace", lambda xp: xp == "cupy")
    for there in (True, False):
        torch = SimpleNamespace(cuda=SimpleNamespace(is_available=lambda there=there: there))
        monkeypatch.setitem(sys.modules, "torch", torch)
        assert measure._peer("numpy") is torch
        assert measure._peer("cupy") is (torch if there else None)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.warns(UserWarning, match="PyTorch is installed but cannot be loaded here"):
        assert measure._peer("numpy") is None
    monkeypatch.setattr(measure, "find_spec", lambda name: None)
    assert measure._peer("numpy") is None


def test_memory_on_a_gpu_is_that_of_an_own_pool(monkeypatch):
    """What lies free in the common pool would serve the call, so that it added less than it needs."""
    inside = []

    class MemoryPool:
        def __init__(self):
            self.bytes = 0

        def malloc(self, size):
            self.bytes += size

        def total_bytes(self):
            return self.bytes

    @contextmanager
    def using_allocator(malloc):
        inside.append(malloc)
        yield
        inside.pop()

    device = SimpleNamespace(synchronize=lambda: None)
    cuda = SimpleNamespace(MemoryPool=MemoryPool, using_allocator=using_allocator, Device=lambda: device)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda))
    monkeypatch.setattr(measure, "is_cupy_namespace", lambda xp: True)
    monkeypatch.setattr(measure, "_calls", lambda *size: {("linear", "attnsep"): lambda: inside[-1](7)})
    timed = [(("linear", "attnsep"), {"n": 1024, "d": 4, "dtype": "float64"})]
    measure._add_memory(np, timed)
    assert timed[0][1]["memory"] == 7


def test_memory_of_pytorch_on_a_gpu_is_read_when_it_has_done_all_before(monkeypatch):
    asked, held = [], {"now": 100, "peak": 900}

    def noted(name, result=lambda: None):
        return lambda: asked.append(name) or result()

    def call():
        asked.append("call")
        held.update(now=130, peak=175)

    cuda = SimpleNamespace(
        synchronize=noted("wait"),
        reset_peak_memory_stats=noted("reset"),
        memory_allocated=noted("before", lambda: held["now"]),
        max_memory_allocated=noted("peak", lambda: held["peak"]),
    )
    monkeypatch.setattr(measure, "_peer", lambda xp: SimpleNamespace(cuda=cuda))
    monkeypatch.setattr(measure, "_calls", lambda *_: {("linear", "PyTorch"): call})
    assert measure._added_on_gpu(np, ("linear", "PyTorch"), 8, 4, "float64") == 75
    assert asked == ["wait", "reset", "before", "call", "wait", "peak"]


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/clear_refs"), reason="this system does not tell a process's peak")
def test_memory_is_that_of_the_call(monkeypatch):
    """Beyond its inputs softmax holds the output, a copy of the values with a column more, and a few panels.

    Making the float32 inputs, from draws in float64, takes more than linear attention on them: that must not count.
    """
    monkeypatch.undo()  # a fresh process
    sizes = [("softmax", 10_000, "float64"), ("linear", 100_000, "float32"), ("token data", 20_000, "float64")]
    sizes.append(("softmax", 512, "float64"))
    timed = [((name, "attnsep"), {"n": n, "d": 66, "dtype": dtype, "memory": None}) for name, n, dtype in sizes]
    measure._add_memory(np, timed)
    softmax, linear, *others = (row["memory"] for _, row in timed)
    assert 2 * 10_000 * 66 * 8 < softmax < 2 * 10_000 * 66 * 8 + 16 * 2**20
    assert 100_000 * 66 * 4 < linear < 100_000 * 66 * 4 + 16 * 2**20
    assert others == [None, None]


def test_a_killed_measurement_of_memory_leaves_the_times(monkeypatch):
    """Memory that runs out ends the process that measures it; what was measured before is not lost."""
    monkeypatch.undo()
    broken = Future()
    broken.set_exception(BrokenProcessPool())
    monkeypatch.setattr(processes.FreshProcesses, "submit", lambda *_: broken)
    started = []
    pool = measure.FreshProcesses
    monkeypatch.setattr(measure, "FreshProcesses", lambda *jobs, **named: started.append(jobs) or pool(*jobs, **named))
    row = {"d": 1, "dtype": "float64", "memory": None}
    timed = [(("softmax", "attnsep"), {"n": n} | row) for n in (1024, 2048)]
    monkeypatch.setattr(measure.os, "access", lambda *_: True)
    words = "memory is not measured from n = 1024, d = 1 on: one of the processes"
    with pytest.warns(UserWarning, match=words) as caught:
        measure._add_memory(np, timed)
    assert len(caught) == 1, "it is said once, of the first and of all that come after it"
    assert [row["memory"] for _, row in timed] == [None, None]
    assert started == [(1,)], "one after the other, in one process"


def test_how_busy_the_machine_is_is_seen_before_the_processes_start_and_when_all_is_done(monkeypatch):
    seen, real = [], measure.FreshProcesses
    monkeypatch.setattr(measure, "load", lambda seconds: seen.append("load") or len(seen))
    monkeypatch.setattr(
        measure, "FreshProcesses", lambda *jobs, **named: seen.append("process") or real(*jobs, **named)
    )
    monkeypatch.setattr(measure, "_limits", lambda xp, kind, seconds: seen.append(kind) or {"of": kind})
    found = measure.bench([4], [3], ["float64", "float32"], seconds=1e-3)
    assert found["limits"] == {kind: {"of": kind} for kind in ("float64", "float32")}
    processes = seen.count("process")
    assert seen == ["load", *["process"] * processes, "float64", "float32", "load"]
    assert found["load"] == {"before": 1, "after": len(seen)}


def test_exponent_is_the_least_squares_slope():
    sizes, numbers = [1, 10, 100], [5.0, 70.0, 450.0]
    slope = np.polyfit(np.log(sizes), np.log(numbers), 1)[0]
    assert cost.exponent(sizes, numbers) == pytest.approx(slope, rel=1e-12)
    for bad in (([1, 1], [2, 3]), ([1, 2], [2, 3, 4]), ([1, 2], [0, 1])):
        with pytest.raises(ValueError, match="numbers"):
            cost.exponent(*bad)


def test_what_is_not_measured_is_left_out():
    rows = rows_of({2: 1.0, 4: 1.0}, {2: 1.0, 4: 1.0})
    rows[1]["memory"] = 7
    assert cost.medians(rows, 8, what="memory") == {4: {"softmax": 7}}
    with pytest.raises(ValueError, match="library = 'PyTorch', what = 'median': no such rows"):
        cost.medians(rows, 8, library="PyTorch")
    with pytest.raises(ValueError, match="what = 'mean'"):
        cost.medians(rows, 8, what="mean")
    with pytest.raises(ValueError, match="the seconds are more than a double holds"):
        cost.least_seconds({"multiply_adds": 1.0, "powers": 1.0}, 10**300, 1)
    assert cost.least_seconds({"multiply_adds": 1e9, "powers": 1e3}, np.uint8(200), 1) == pytest.approx(40.00008)
    with pytest.raises(TypeError, match="limits = 3"):
        cost.least_seconds(3, 4, 4)
    with pytest.raises(TypeError, match="result = 3"):
        cost.table(3)


def test_crossover_is_the_last_change():
    times = {2: 1.0, 4: 1.0, 8: 5.0, 16: 5.0}
    assert cost.crossover(rows_of(times, {2: 0.5, 4: 2.0, 8: 1.0, 16: 1.0}), 8) == 8
    assert cost.crossover(rows_of(times, dict.fromkeys(times, 0.1)), 8) == 2
    assert cost.crossover(rows_of(times, dict.fromkeys(times, 9.0)), 8) is None
    assert cost.crossover(rows_of({2: 1.0}, {2: 1.0}), 8) is None  # equal is not less
    assert list(cost.medians(rows_of({4: 1.0, 2: 3.0}, {2: 1.0, 4: 1.0}), 8)) == [2, 4]


def test_file_is_written_whole_and_read_back(tmp_path):
    path, result = tmp_path / "b.json", {"date": "2026-01-31", "rows": rows_of({2: 1.0}, {2: 2.0})}
    cost.write_result(path, result)
    assert cost.read_result(path) == result
    assert [item.name for item in tmp_path.iterdir()] == ["b.json"]
    with pytest.raises(TypeError):
        cost.write_result(path, result | {"date": object()})
    assert cost.read_result(path) == result
    assert [item.name for item in tmp_path.iterdir()] == ["b.json"]


@pytest.mark.parametrize("text", [None, "{", "{}", '{"rows": [{"median": "x"}]}', '{"rows": [{"median": 0}]}'])
def test_other_files_are_rejected(tmp_path, text):
    path = tmp_path / "b.json"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match="is no result of attnsep bench"):
        cost.read_result(path)


def test_the_stored_result_has_every_size_and_names_the_machine():
    result = cost.read_result()
    for dtype in cost.DTYPES:
        assert result["limits"][dtype]
        for d in measure.D:
            for library in ("attnsep", "PyTorch"):
                found = cost.medians(result["rows"], d, dtype, library)
                for name, most in (("softmax", measure.MOST_WORK), ("linear", math.inf)):
                    doubtful = {n for *cell, n in result.get("unsettled", []) if cell == [name, dtype, d]}
                    timed = {n for n, times in found.items() if name in times}
                    assert {n for n in measure.N if n * n * d <= most} <= timed | doubtful
                memory = cost.medians(result["rows"], d, dtype, library, "memory")
                timed = {n for n, times in found.items() if {"softmax", "linear"} & {*times}}
                assert set(memory) == {n for n in timed if n >= measure.LEAST_N_FOR_MEMORY}
    assert result["date"]
    assert result["machine"]["cpu"]
    assert result["machine"]["cores"] >= 1
    assert result["versions"]["NumPy"]
    assert result["settings"] == {}


def test_multiply_adds_cross_at_d_plus_one():
    for d in (1, 5, 64):
        softmax, linear = (
            [cost.multiply_adds(n, d, name) for n in (d, d + 1, d + 2)] for name in ("softmax", "linear")
        )
        assert [a - b > 0 for a, b in zip(softmax, linear, strict=True)] == [False, False, True]
        assert softmax[1] == linear[1]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([0], [3]), {}, "n = 0"),
        (([4], [0]), {}, "d = 0"),
        (([4], [3]), {"dtype": ["int8"]}, "dtype = 'int8'"),
        (([4], [3]), {"dtype": []}, "dtype = \\[\\]"),
        (([10**8], [3]), {}, "n, d: the largest matrix has 3e.08 numbers"),
        (([4], [3]), {"seconds": 0}, "seconds = 0"),
        (([4], [3]), {"most_work": 0}, "most_work = 0"),
    ],
)
def test_bad_parameters_are_rejected(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        measure.bench(*arguments, **options)


def test_the_largest_matrix_is_that_of_the_largest_sizes(monkeypatch):
    monkeypatch.setattr(measure, "MOST_NUMBERS", 20)
    for n, d in (([4, 7], [3]), ([7], [2, 3]), ([7, 4], [3]), ([7], [3, 2])):
        with pytest.raises(ValueError, match="n, d: the largest matrix has 21 numbers, must be at most 2e"):
            measure.bench(n, d, seconds=0.001)


def test_other_bad_input_is_rejected():
    with pytest.raises(ValueError, match="d = 9"):
        cost.medians(rows_of({2: 1.0}, {2: 1.0}), 9)
    with pytest.raises(ValueError, match="kernel = 'hard'"):
        cost.multiply_adds(2, 2, "hard")
    with pytest.raises(ValueError, match="n = 0"):
        cost.multiply_adds(0, 2, "linear")


SMALL = ["bench", "--n", "4", "8", "--d", "3", "--seconds", "0.001"]


@pytest.mark.slow
def test_command_prints_and_stores(nothing_set, capsys, tmp_path, monkeypatch):
    path = tmp_path / "b.json"
    monkeypatch.setattr(measure, "WIDEST", 0)
    monkeypatch.setattr(measure, "MOST_TURNS", measure.LEAST_TURNS)
    assert cli.main([*SMALL, "--out", str(path)]) == 0
    captured = capsys.readouterr()
    assert "8 cells did not settle and are not stored; they are marked with ?" in captured.err
    assert captured.out.count("?") == 8
    assert cost.read_result(path)["rows"] == []
    monkeypatch.setattr(measure, "WIDEST", math.inf)
    assert cli.main([*SMALL, "--json", "--out", str(path)]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out) == cost.read_result(path)
    assert captured.err == ""
    assert cli.main(SMALL) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 2 * 4
    assert {line.split()[0] for line in lines[1:]} == {"softmax", "linear", "token", "closed"}
    assert {
        tuple(line.replace("token data", "tokens").replace("closed form", "closed").split()[1:4]) for line in lines[1:]
    } == {("float64", "3", "4"), ("float64", "3", "8")}


@pytest.mark.slow
def test_command_says_what_is_wrong(nothing_set, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    assert cli.main([*SMALL, "--json"]) == 0
    assert "OPENBLAS_CORETYPE is set" in capsys.readouterr().err
    for busy, words in ((0.07, False), (0.3, True), (None, False)):
        monkeypatch.setattr(measure, "load", lambda seconds=1.0, busy=busy: busy)
        assert cli.main(SMALL) == 0
        assert ("others keep 30% of the cores busy" in capsys.readouterr().err) is words
    for words, message in (
        (["--out", str(tmp_path / "none" / "b.json")], "does not exist"),
        (["--n", "0"], "n = 0"),
        (["--dtype", "int8"], "dtype"),
    ):
        assert cli.main([*SMALL, *words]) == 2
        captured = capsys.readouterr()
        assert message in captured.err
        assert captured.out == ""
