"""Threads change how long it takes, and not one bit: whichever comes first, however many there are."""

import os
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from attnsep.attention import _fast
from attnsep.attention.attend import attend

pytest.importorskip("threadpoolctl")  # without it there is one thread
KERNELS = ("softmax", "linear", "elu+1", "softmax:2", "relu")
N = 900


@pytest.fixture
def small_blocks(monkeypatch):
    """Let a few hundred rows be many blocks, which is worth more than one thread."""
    monkeypatch.setattr(_fast, "LEAST_WORK", 1)
    monkeypatch.setitem(_fast.PANELS, "numpy", (64, 2**16))
    monkeypatch.setitem(_fast.BLOCKS, "numpy", 2**12)


@pytest.fixture
def delayed(monkeypatch):
    """Return a list; each entry is a seed, and from then on every worker waits before each block, as drawn from it.

    The first block waits until another one is done, so that the order is never that of the blocks.
    """
    share, done = _fast._share, []

    def arrange(seed):
        rng, lock = np.random.default_rng(seed), threading.Lock()

        def slow(xp, work, rows, step, threads, pays):
            another = threading.Event()

            def late(blocks):
                def each():
                    for block in blocks:
                        with lock:
                            seconds = rng.choice([0.0, 0.001, 0.003])
                        time.sleep(seconds)
                        if block.start == 0 and step < rows:
                            another.wait(60)
                        yield block
                        done.append(block.start)
                        another.set()

                work(each())

            share(xp, late, rows, step, threads, pays)

        monkeypatch.setattr(_fast, "_share", slow)
        return done

    return arrange


def inputs(dtype):
    """Return queries, keys and values of many sizes, so that another order of a sum gives other last bits."""
    rng = np.random.default_rng(20231017)
    q, k = (np.abs(rng.standard_normal((N, 8))).astype(dtype) for _ in range(2))
    return q, k, (rng.standard_normal((N, 6)) * 10.0 ** rng.integers(-3, 3, (N, 1))).astype(dtype)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_no_order_of_threads_changes_a_bit(small_blocks, delayed, kernel, dtype):
    q, k, v = inputs(dtype)
    wanted = attend(q, k, v, kernel=kernel, threads=1)
    for seed, threads in enumerate((2, 3, 5)):
        done = delayed(seed)
        done.clear()
        found = attend(q, k, v, kernel=kernel, threads=threads)
        assert np.array_equal(found, wanted), f"{threads} threads, late as in {seed}: a sum depends on who is first"
        assert done != sorted(done), "the blocks were done in their order, so nothing was tried"


def test_a_sum_in_the_order_of_its_completion_would_be_noticed():
    """The parts of such a sum are of so many sizes that another order has other last bits."""
    _, k, v = inputs("float64")
    parts = [k[block].T @ v[block] for block in (slice(start, start + 100) for start in range(0, N, 100))]
    forward, backward = (_fast._in_pairs(some) for some in (parts, parts[::-1]))
    assert not np.array_equal(forward, backward)


@pytest.mark.parametrize("kernel", ["softmax", "linear", "elu+1"])
@pytest.mark.parametrize("size", [1.0, 1e-200])  # of so small numbers products are no floats
@pytest.mark.parametrize("axes", [(), (2,)])
def test_threads_that_are_asked_for_are_used(small_blocks, monkeypatch, kernel, axes, size):
    asked, share = [], _fast._share

    def noted(xp, work, rows, step, threads, pays):
        asked.append(threads)
        share(xp, work, rows, step, threads, pays)

    monkeypatch.setattr(_fast, "_share", noted)
    q, k, v = (np.broadcast_to(x[:64], (*axes, *x[:64].shape)) for x in inputs("float64"))
    for threads in (1, 3, None):
        asked.clear()
        attend(size * q, size * k, v, kernel=kernel, threads=threads)
        assert set(asked) == {threads}


def test_as_many_workers_as_threads(monkeypatch):
    """Beside the caller's own: one for each further thread, and never more than there are blocks."""
    submitted = []

    class Pool:
        def submit(self, work, *_):
            submitted.append(work)
            return self

        def cancel(self):
            return True

    monkeypatch.setattr(_fast, "_pool", Pool)
    for threads, rows, others in ((1, 9, 0), (2, 9, 1), (5, 9, 4), (5, 3, 2), (None, 9, min(_fast.cores(), 9) - 1)):
        submitted.clear()
        seen = []
        _fast._share(np, seen.extend, rows, 1, threads, True)
        assert len(submitted) == others
        assert [block.start for block in seen] == list(range(rows))


def test_no_more_workers_than_the_pool_has_and_none_goes_on_after_an_error(monkeypatch):
    submitted, cancelled = [], []

    class Pool:
        def submit(self, work, *_):
            submitted.append(work)
            return self

        def cancel(self):
            cancelled.append(self)
            return True

    def work(blocks):
        left.append(blocks)
        raise KeyboardInterrupt

    left, seen = [], []
    monkeypatch.setattr(_fast, "_pool", Pool)
    _fast._share(np, seen.extend, 1000, 1, 500, True)
    assert len(submitted) == len(cancelled) == _fast.MOST_THREADS - 1
    with pytest.raises(KeyboardInterrupt):
        _fast._share(np, work, 9, 1, 3, True)
    assert (len(submitted), [*left[0]]) == (len(cancelled), [])  # no block is left for the others


def test_as_many_cores_as_this_process_may_use(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {1, 5, 7}, raising=False)
    assert _fast.cores() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert _fast.cores() == 1


def test_blas_gets_its_threads_back_when_the_last_one_leaves(monkeypatch):
    said = []
    limit = SimpleNamespace(restore_original_limits=lambda: said.append("restored"))
    controller = SimpleNamespace(limit=lambda **what: said.append(what) or limit)
    monkeypatch.setattr(_fast, "_controller", lambda: controller)
    with _fast._one_blas_thread():
        with _fast._one_blas_thread():
            pass
        assert said == [{"limits": 1, "user_api": "blas"}]
    assert said[1:] == ["restored"]
    with pytest.raises(ZeroDivisionError), _fast._one_blas_thread():
        raise ZeroDivisionError
    assert said[3:] == ["restored"]


def test_equal_rows_are_computed_once_unless_asked_otherwise(monkeypatch):
    rows, softmax = [], _fast.softmax_attention

    def noted(q, k, v, threads=None):
        rows.append(len(q))
        return softmax(q, k, v, threads)

    monkeypatch.setattr(_fast, "softmax_attention", noted)
    q, k, v = inputs("float64")
    q = np.repeat(q[:2], 3, axis=0)
    outputs = [attend(q, k, v, unique=unique) for unique in (None, True, False)]
    assert rows == [2, 2, 6]
    for found in outputs[1:]:
        np.testing.assert_allclose(found, outputs[0], rtol=1e-12)


@pytest.fixture
def affinities():
    """Return a function: what the caller and a worker may use while both work, and the caller before and after."""

    def found():
        masks, both = {}, threading.Barrier(2)

        def work(todo):
            for _ in todo:
                both.wait(60)
                masks[threading.current_thread() is threading.main_thread()] = os.sched_getaffinity(0)

        before = os.sched_getaffinity(0)
        _fast._share(np, work, 2, 1, 2, True)
        return before, masks[True], masks[False], os.sched_getaffinity(0)

    return found


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="threads cannot be sent to a CPU here")
def test_a_worker_leaves_the_callers_cpu_to_the_caller(monkeypatch, affinities):
    cpus = os.sched_getaffinity(0)
    here = max(cpus)
    for said, worker in ((here, cpus - {here} or cpus), (-1, cpus)):
        monkeypatch.setattr(_fast, "_finder", lambda said=said: lambda: said)
        assert affinities() == (cpus, cpus, worker, cpus)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="threads cannot be sent to a CPU here")
def test_threads_work_where_cpus_are_unknown_or_taken_away(monkeypatch, affinities):
    cpus = os.sched_getaffinity(0)
    monkeypatch.setattr(_fast, "_finder", lambda: None)
    assert not _fast._elsewhere()
    monkeypatch.setattr(_fast, "_elsewhere", lambda: {4000})  # no machine has it, so the system refuses
    assert affinities()[:2] == (cpus, cpus)


@pytest.mark.skipif(sys.platform != "linux", reason="asks a function of Linux")
def test_the_cpu_found_is_one_that_the_caller_may_use():
    assert _fast._finder()() in os.sched_getaffinity(0)
    assert len(_fast._elsewhere()) == len(os.sched_getaffinity(0)) - 1
