"""Runs that are killed and go on, and grids of runs on one machine and on a Dask cluster."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from attnsep import cli
from attnsep.learn import grid, table
from attnsep.learn.tasks import task
from attnsep.learn.train import train

TINY = {"pairs": 4, "width": 4, "steps": 40, "every": 20, "tests": 3}
LONG = {
    "retrieval": {"pairs": 5, "batch": 4, "tests": 2, "width": 4},
    "mqar": {"pairs": 3, "batch": 4, "tests": 5, "width": 4, "d": 6},
}


def without_time(row):
    return {name: value for name, value in row.items() if name != "seconds"}


@pytest.mark.parametrize("name", ["retrieval", "mqar"])
def test_a_killed_run_goes_on_to_the_same_row(tmp_path, surroundings, name):
    settings = LONG[name] | {"steps": 3000, "every": 20, "rate": 1e-4}
    path = tmp_path / "state"
    words = ["learn", name, "--kernel", "elu+1", "--set", *(f"{key}={value}" for key, value in settings.items())]
    words += ["--checkpoint", str(path), "--json"]
    # Both runs must compute alike.
    environment = surroundings | {key: x for key, x in os.environ.items() if key.startswith(("JAX_", "XLA_"))}
    running = subprocess.Popen([sys.executable, "-m", "attnsep.cli", *words], stdout=subprocess.PIPE, env=environment)
    while not path.exists() and running.poll() is None:
        time.sleep(0.005)
    os.kill(running.pid, signal.SIGKILL)
    assert running.wait() == -signal.SIGKILL, "it ended before it was killed"
    running.stdout.close()
    with np.load(path) as stored:
        log = json.loads(str(stored["text"]))["log"]
    assert 0 < log["step"] < settings["steps"]
    chosen = task(name, settings)
    resumed = train(chosen, "elu+1", 0, checkpoint=path)
    assert without_time(resumed) == without_time(train(chosen, "elu+1", 0))
    assert without_time(train(chosen, "elu+1", 0, checkpoint=path)) == without_time(resumed)  # nothing is left to do


@pytest.fixture
def small_grid(tmp_path):
    path = tmp_path / "g.json"
    parts = [{"task": "retrieval", "kernel": ["softmax", "elu+1"], "seed": [0, 1], "settings": TINY}]
    path.write_text(json.dumps(parts), encoding="utf-8")
    return path


@pytest.mark.filterwarnings(
    "ignore:.*fork"
)  # some versions of JAX warn of the fork with which joblib starts Python anew
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


@pytest.mark.filterwarnings("ignore")  # Dask's own
def test_a_grid_on_a_dask_cluster_gives_the_same_rows(small_grid):
    distributed = pytest.importorskip("distributed")
    runs = grid.read_grid(small_grid)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        found = list(grid.run_grid(runs, dask=cluster.scheduler_address))
    wanted = [train(task(run["task"], run["settings"]), run["kernel"], run["seed"]) for run in runs]
    assert sorted(map(str, map(without_time, found))) == sorted(map(str, map(without_time, wanted)))
