"""Runs that are killed and go on, and grids of runs on one machine and on a Dask cluster."""

import gc
import json
import logging
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import CancelledError, Future
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from attnsep import cli
from attnsep.learn import grid, table
from attnsep.learn.tasks import MISSING, task
from attnsep.learn.train import train

TINY = {"pairs": 4, "width": 4, "steps": 40, "every": 20, "tests": 3}
MQAR = {"pairs": 3, "n": 32, "words": 40, "batch": 4, "tests": 5, "width": 4, "d": 6}


def without_time(row):
    return {name: value for name, value in row.items() if name != "seconds"}


def test_a_killed_run_goes_on_to_the_same_row(tmp_path, surroundings):
    settings = MQAR | {"steps": 1000, "every": 20, "rate": 1e-4}
    path = tmp_path / "state"
    words = ["learn", "mqar", "--kernel", "elu+1", "--set", *(f"{key}={value}" for key, value in settings.items())]
    words += ["--checkpoint", str(path), "--json"]
    # Both runs must compute alike, though each compiles for itself.
    kept = {key: x for key, x in os.environ.items() if key.startswith(("JAX_", "XLA_"))}
    kept.pop("JAX_COMPILATION_CACHE_DIR", None)
    environment = surroundings | kept
    running = subprocess.Popen([sys.executable, "-m", "attnsep.cli", *words], stdout=subprocess.PIPE, env=environment)
    while not path.exists() and running.poll() is None:
        time.sleep(0.005)
    os.kill(running.pid, signal.SIGKILL)
    assert running.wait() == -signal.SIGKILL, "it ended before it was killed"
    running.stdout.close()
    with np.load(path) as stored:
        log = json.loads(str(stored["text"]))["log"]
    assert 0 < log["step"] < settings["steps"]
    chosen = task("mqar", settings)
    resumed = train(chosen, "elu+1", 0, checkpoint=path)
    assert without_time(resumed) == without_time(train(chosen, "elu+1", 0))
    assert without_time(train(chosen, "elu+1", 0, checkpoint=path)) == without_time(resumed)  # nothing is left to do


@pytest.fixture
def small_grid(tmp_path):
    path = tmp_path / "g.json"
    parts = [{"task": "retrieval", "kernel": ["softmax", "elu+1"], "seed": [0, 1], "settings": TINY}]
    path.write_text(json.dumps(parts), encoding="utf-8")
    return path


def test_a_grid_is_trained_once_and_goes_on_where_it_was(small_grid, tmp_path, capsys):
    out, state = tmp_path / "t.jsonl", tmp_path / "state"
    single = ["learn", "retrieval", "--seed", "1", "--set", *(f"{k}={v}" for k, v in TINY.items()), "--out", str(out)]
    assert cli.main([*single, "--checkpoint", str(state)]) == 0
    assert "attnsep learn retrieval --kernel softmax --seed 1 --set" in capsys.readouterr().out
    words = ["learn", "--grid", str(small_grid), "--jobs", "2", "--out", str(out), "--json"]
    assert cli.main(words) == 0
    captured = capsys.readouterr()
    assert len(captured.out.splitlines()) == 3
    assert captured.err == ""
    assert sorted(map(table.run_of, table.read_rows(out))) == sorted(map(table.run_of, grid.read_grid(small_grid)))
    assert cli.main(words) == 0
    assert capsys.readouterr().out == ""


@pytest.fixture
def after_the_first_row(monkeypatch):
    """Return a function that lets something happen as soon as a row is stored."""

    def arrange(happens):
        real, happened = table.add_row, []

        def add_row(path, row):
            real(path, row)
            if not happened:
                happened.append(happens())

        monkeypatch.setattr(table, "add_row", add_row)

    return arrange


@pytest.fixture
def mixed_grid(tmp_path):
    """One run that is done at once, and two that take minutes."""
    path = tmp_path / "g.json"
    runs = [{"task": "retrieval", "kernel": "softmax", "seed": [0], "settings": TINY}]
    runs.append({"task": "edge", "kernel": "softmax", "seed": [1, 2], "settings": {"steps": 10**6}})
    path.write_text(json.dumps(runs), encoding="utf-8")
    return path


def test_a_killed_process_costs_no_finished_row(mixed_grid, tmp_path, capsys, after_the_first_row):
    after_the_first_row(lambda: [os.kill(child.pid, signal.SIGKILL) for child in multiprocessing.active_children()])
    out = tmp_path / "t.jsonl"
    assert cli.main(["learn", "--grid", str(mixed_grid), "--jobs", "2", "--out", str(out), "--json"]) == 2
    captured = capsys.readouterr()
    assert captured.err == (
        "attnsep: jobs = 2: one of the processes was ended from outside, or memory ran out; try again, perhaps with "
        "fewer; rows that came before are there\n"
    )
    assert [json.loads(line) for line in captured.out.splitlines()] == table.read_rows(out)
    assert len(table.read_rows(out)) == 1


def test_an_interruption_ends_the_processes_and_keeps_the_rows(mixed_grid, tmp_path, capsys, after_the_first_row):
    def interrupt():
        raise KeyboardInterrupt

    after_the_first_row(interrupt)
    out = tmp_path / "t.jsonl"
    assert cli.main(["learn", "--grid", str(mixed_grid), "--jobs", "2", "--out", str(out)]) == 130
    assert capsys.readouterr().err == "attnsep: interrupted\n"
    assert len(table.read_rows(out)) == 1
    assert multiprocessing.active_children() == []


def test_a_run_that_fails_does_not_stop_the_others(small_grid):
    runs = grid.read_grid(small_grid)
    for place, name in ((0, "no-such-setting"), (2, "nor-such")):
        runs[place]["settings"] = {name: 1}
    rows = grid.run_grid(runs)
    assert {table.run_of(next(rows)) for _ in range(2)} == {table.run_of(runs[place]) for place in (1, 3)}
    with pytest.raises(ValueError, match="has no 'no-such-setting'"):
        next(rows)


@pytest.mark.parametrize("jobs", [0, 1025, 1.5])
def test_a_number_of_processes_that_is_none_is_refused(jobs):
    with pytest.raises((ValueError, TypeError), match=f"^jobs = {jobs}: "):
        next(grid.run_grid([], jobs=jobs))


@pytest.mark.parametrize(
    ("package", "more", "sentence"),
    [
        ("tqdm", {}, f"a grid needs tqdm, which {MISSING}"),
        (
            "distributed",
            {"dask": "tcp://x:1"},
            'a Dask cluster needs distributed: pip install ".[learn,cluster]" in the folder of the book',
        ),
    ],
)
def test_what_a_grid_lacks_is_named_with_what_it_comes_with(monkeypatch, package, more, sentence):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError) as caught:
        next(grid.run_grid([], **more))
    assert str(caught.value) == sentence


@pytest.mark.parametrize(("jobs", "runs", "started"), [(1, 3, []), (2, 3, [2]), (3, 2, [2]), (2, 2, [2]), (5, 1, [])])
def test_no_more_processes_are_started_than_asked_for_or_of_use(monkeypatch, jobs, runs, started):
    asked = []

    class Here:
        def __init__(self, jobs):
            asked.append(jobs)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def submit(self, function, run):
            future = Future()
            future.set_result(function(run))
            return future

    monkeypatch.setattr(grid, "FreshProcesses", Here)
    monkeypatch.setattr(grid, "train", lambda chosen, kernel, seed: seed)
    settings = task("retrieval", TINY).settings
    rows = [{"task": "retrieval", "kernel": "softmax", "seed": seed, "settings": settings} for seed in range(runs)]
    assert sorted(grid.run_grid(rows, jobs=jobs)) == [*range(runs)]
    assert asked == started


def test_a_row_comes_as_soon_as_a_process_has_it_whichever_was_asked_for_first(monkeypatch):
    class Ready(Future):
        def result(self, timeout=None):
            assert self.done(), "it is waited for, while the other one is there"
            return super().result(timeout)

    first, second = futures = Ready(), Ready()
    given = iter(futures)
    pool = SimpleNamespace(submit=lambda function, run: next(given))
    monkeypatch.setattr(grid, "FreshProcesses", lambda jobs: nullcontext(pool))
    settings = task("retrieval", TINY).settings
    runs = [{"task": "retrieval", "kernel": "softmax", "seed": seed, "settings": settings} for seed in range(2)]
    rows = grid.run_grid(runs, jobs=2)
    second.set_result("the second")
    assert next(rows) == "the second"
    first.set_result("the first")
    assert [*rows] == ["the first"]


# A Dask cluster


LOST = "dask = 'tcp://x:1': the scheduler or a worker was lost"


def raising(error):
    def call(*_, **__):
        raise error

    return call


def lost_errors():
    distributed = pytest.importorskip("distributed")
    return CancelledError(), OSError("gone"), distributed.KilledWorker("a run", "a worker", 3)


def test_what_a_lost_worker_raises_is_told_from_what_a_run_does():
    for error in lost_errors():
        with pytest.raises(RuntimeError) as caught:
            grid._from_worker(SimpleNamespace(result=raising(error)), "tcp://x:1")
        assert str(caught.value) == (
            f"{LOST} ({type(error).__name__}); rows that came before are there, and the same command with --dask makes "
            "the others"
        )
    with pytest.raises(RuntimeError) as caught:
        grid._from_worker(SimpleNamespace(result=raising(ValueError("no room"))), "tcp://x:1")
    assert str(caught.value) == (
        "dask = 'tcp://x:1': a worker could not train a run (no room); --dask needs workers that have this version of "
        "attnsep, with the extra learn"
    )
    assert grid._from_worker(SimpleNamespace(result=lambda: "a row"), "tcp://x:1") == "a row"


def test_a_cluster_trains_every_run_and_each_row_comes_as_soon_as_it_is_there(monkeypatch):
    pytest.importorskip("distributed")
    given, asked = [], []
    futures = [SimpleNamespace(result=lambda number=number: f"row {number}") for number in range(3)]
    answers = iter([(futures[1:2], futures[::2]), TimeoutError(), (futures[::2], [])])

    def wait(waiting, **more):
        given.append((list(waiting), more))
        answer = next(answers)
        return raising(answer)() if isinstance(answer, Exception) else answer

    client = SimpleNamespace(map=lambda *runs, **more: given.append((*runs, more)) or futures)
    monkeypatch.setattr("distributed.wait", wait)
    monkeypatch.setattr(grid, "_client", lambda address: nullcontext(client))
    monkeypatch.setattr(grid, "_require_worker", lambda *words: asked.append(words))
    runs = [{"task": "retrieval", "kernel": "softmax", "seed": seed, "settings": TINY} for seed in range(4)]
    rows = grid.run_grid(runs, done=runs[3:], dask="tcp://x:1")
    assert next(rows) == "row 1"
    assert len(given) == 2, "nothing is waited for that is not asked for yet"
    assert [*rows] == ["row 0", "row 2"]
    options = {"timeout": grid.ANSWERS_WITHIN, "return_when": "FIRST_COMPLETED"}
    first, *waited = given
    assert first == (grid._trained, runs[:3], {"pure": False})
    assert waited == [(futures, options), (futures[::2], options), (futures[::2], options)]
    assert asked == [(client, "tcp://x:1")] * 3, "before each wait"


def test_the_first_worker_is_waited_for_once_and_not_for_ever(monkeypatch):
    pytest.importorskip("distributed")
    known, waited = {"workers": {}}, []
    client = SimpleNamespace(scheduler=SimpleNamespace(identity="who"), sync=lambda *_, **__: known)
    client.wait_for_workers = lambda *count, **more: waited.append((*count, more))
    grid._require_worker(client, "tcp://x:1")
    assert waited == [(1, {"timeout": grid.WORKER_WITHIN})]
    known["workers"] = {"one": 1}
    grid._require_worker(client, "tcp://x:1")
    assert len(waited) == 1
    known["workers"], client.wait_for_workers = {}, raising(TimeoutError())
    with pytest.raises(RuntimeError) as caught:
        grid._require_worker(client, "tcp://x:1")
    assert str(caught.value) == (
        "dask = 'tcp://x:1': the scheduler has no worker, not even after 30 seconds; start some with `dask worker "
        "tcp://x:1`, then name it again with --dask"
    )


def test_what_dask_says_of_a_lost_connection_is_left_out_only_while_a_grid_is_trained(monkeypatch):
    distributed = pytest.importorskip("distributed")
    logger, logged, handler = logging.getLogger("distributed.client"), [], logging.Handler()
    handler.emit = lambda record: logged.append(record.getMessage())
    logger.addHandler(handler)

    class Client(distributed.Client):
        def __init__(self):
            logger.error("as it begins")

        def __enter__(self):
            logger.error("while it is there")

        def __exit__(self, *error):
            logger.error("as it ends")

        def __del__(self):
            pass

    try:
        for made, fails in ((Client, nullcontext()), (lambda: OSError("gone"), pytest.raises(RuntimeError))):
            monkeypatch.setattr(grid, "_connected", lambda address, made=made: made())
            with fails, grid._client("tcp://x:1"):
                logger.error("in it")
            logger.error("behind it")
    finally:
        logger.removeHandler(handler)
    assert logged == ["behind it"] * 2


def test_a_scheduler_that_is_lost_while_it_is_waited_for_is_one_sentence(small_grid, monkeypatch):
    """Before that it was asked once, and no run had ended."""
    for error in lost_errors()[:2]:
        client = SimpleNamespace(sync=raising(error), scheduler=SimpleNamespace(identity=None))
        with pytest.raises(RuntimeError, match=LOST):
            grid._require_worker(client, "tcp://x:1")
        answers = iter([TimeoutError(), error])
        monkeypatch.setattr("distributed.wait", lambda *_, answers=answers, **__: raising(next(answers))())
        monkeypatch.setattr(grid, "_require_worker", lambda *_: None)
        monkeypatch.setattr(grid, "_client", lambda _: nullcontext(SimpleNamespace(map=lambda *_, **__: ["a run"])))
        with pytest.raises(RuntimeError, match=LOST):
            list(grid.run_grid(grid.read_grid(small_grid), dask="tcp://x:1"))
        assert list(answers) == []
        monkeypatch.undo()


@pytest.fixture
def impatient(monkeypatch):
    """Do not wait long for an answer that never comes."""
    pytest.importorskip("distributed")
    monkeypatch.setattr(grid, "ANSWERS_WITHIN", 0.5)


@pytest.fixture
def patient(monkeypatch):
    """Wait for what does answer however busy the machine is; return a function that ends this."""
    pytest.importorskip("distributed")
    monkeypatch.setattr(grid, "ANSWERS_WITHIN", 300)
    monkeypatch.setattr(grid, "WORKER_WITHIN", 300)
    return lambda: monkeypatch.setattr(grid, "ANSWERS_WITHIN", 0.5)


def free_port():
    with socket.socket() as end:
        end.bind(("127.0.0.1", 0))
        return end.getsockname()[1]


def complaint(capsys, words):
    """Return the one sentence of a command that ends with status 2."""
    assert cli.main(words) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert "output" not in captured.err
    return captured.err


@pytest.mark.filterwarnings("ignore")  # Dask's own
@pytest.mark.parametrize(
    "address", ["", " ", "tcp://", "http://x:1", "nonsense", "tcp://no-such-host.invalid:1", "tls://127.0.0.1:1", None]
)
def test_an_address_without_a_scheduler_is_one_sentence(small_grid, capsys, impatient, address):
    address = f"tcp://127.0.0.1:{free_port()}" if address is None else address
    sentence = complaint(capsys, ["learn", "--grid", str(small_grid), "--dask", address])
    assert sentence.startswith(f"attnsep: dask = {address!r}: ")
    assert "such as --dask tcp://host:8786" in sentence


def test_what_was_given_up_is_not_closed_while_garbage_is_collected(monkeypatch, impatient):
    """Dask closes a client under a lock that its thread may hold already, if it is just starting another one."""
    import distributed

    closed = []
    monkeypatch.setattr(distributed.Client, "close", lambda client, *_, **__: closed.append(client))
    assert isinstance(grid._connected(f"tcp://127.0.0.1:{free_port()}"), Exception)
    gc.collect()
    assert closed == []


@pytest.mark.filterwarnings("ignore")
def test_who_listens_and_says_nothing_is_not_waited_for(small_grid, capsys, impatient):
    with socket.socket() as end:
        end.bind(("127.0.0.1", 0))
        end.listen()
        address = "tcp://{}:{}".format(*end.getsockname())
        sentence = complaint(capsys, ["learn", "--grid", str(small_grid), "--dask", address])
        assert "no scheduler answers there (what listens there says nothing)" in sentence


@pytest.mark.filterwarnings("ignore")
def test_a_scheduler_whose_workers_never_come_is_one_sentence(small_grid, capsys, monkeypatch, patient):
    import distributed

    monkeypatch.setattr(grid, "WORKER_WITHIN", 0.5)

    with distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=None, protocol="tcp://") as cluster:
        address = cluster.scheduler_address
        sentence = complaint(capsys, ["learn", "--grid", str(small_grid), "--dask", address])
    assert f"dask = {address!r}: the scheduler has no worker" in sentence
    assert f"`dask worker {address}`" in sentence


@pytest.mark.filterwarnings("ignore")
def test_a_scheduler_that_dies_costs_no_finished_row(mixed_grid, tmp_path, capsys, patient, after_the_first_row):
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    address = f"tcp://127.0.0.1:{free_port()}"
    dask = [sys.executable, "-m", "distributed.cli.dask_"]
    scheduler = subprocess.Popen(
        [*dask[:2], f"{dask[2]}scheduler", "--host", address, "--no-dashboard"], cwd=tmp_path, **pipes
    )
    worker = subprocess.Popen(
        [*dask[:2], f"{dask[2]}worker", address, "--no-nanny", "--no-dashboard", "--nthreads", "1"],
        cwd=tmp_path,
        **pipes,
    )
    after_the_first_row(lambda: (scheduler.kill(), scheduler.wait(), patient()))
    try:
        import distributed

        distributed.Client(address, timeout=300).close()
        out = tmp_path / "t.jsonl"
        sentence = complaint(capsys, ["learn", "--grid", str(mixed_grid), "--dask", address, "--out", str(out)])
        assert f"dask = {address!r}: the scheduler or a worker was lost" in sentence
        assert len(table.read_rows(out)) == 1
    finally:
        for child in (scheduler, worker):
            child.kill()
            child.wait()


@pytest.mark.filterwarnings("ignore")  # Dask's own
def test_a_grid_on_a_dask_cluster_gives_the_same_rows(small_grid):
    distributed = pytest.importorskip("distributed")
    runs = grid.read_grid(small_grid)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        found = list(grid.run_grid(runs, dask=cluster.scheduler_address))
    wanted = [train(task(run["task"], run["settings"]), run["kernel"], run["seed"]) for run in runs]
    assert sorted(map(str, map(without_time, found))) == sorted(map(str, map(without_time, wanted)))
