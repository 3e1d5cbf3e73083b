"""The benchmark's rows, its file and its readings; never how long anything takes."""

import json

import pytest

from attnsep import bench, cli


def rows_of(softmax, linear, d=8, dtype="float64"):
    return [
        {"mechanism": name, "n": n, "d": d, "dtype": dtype, "median": time}
        for name, times in (("softmax", softmax), ("linear", linear))
        for n, time in times.items()
    ]


def test_one_row_for_each_mechanism_and_size():
    result = bench.bench([4, 8], [3], "float32", seconds=0.001)
    found = [(row["mechanism"], row["n"], row["d"], row["dtype"]) for row in result["rows"]]
    assert found == [(name, n, 3, "float32") for n in (4, 8) for name in ("softmax", "linear")]
    for row in result["rows"]:
        assert bench.LEAST_REPEATS <= row["repeats"] <= bench.MOST_REPEATS
        assert 0 < row["min"] <= row["median"] <= row["max"]
    assert {"date", "machine", "versions", "blas", "settings", "rows"} == set(result)
    assert result["machine"]["cpu"]


def test_crossover_is_the_last_change():
    times = {2: 1.0, 4: 1.0, 8: 5.0, 16: 5.0}
    assert bench.crossover(rows_of(times, {2: 0.5, 4: 2.0, 8: 1.0, 16: 1.0}), 8) == 8
    assert bench.crossover(rows_of(times, dict.fromkeys(times, 0.1)), 8) == 2
    assert bench.crossover(rows_of(times, dict.fromkeys(times, 9.0)), 8) is None
    assert bench.crossover(rows_of({2: 1.0}, {2: 1.0}), 8) is None  # equal is not less
    assert list(bench.medians(rows_of({4: 1.0, 2: 3.0}, {2: 1.0, 4: 1.0}), 8)) == [2, 4]


def test_file_is_written_whole_and_read_back(tmp_path):
    path, result = tmp_path / "b.json", {"date": "2026-01-31", "rows": rows_of({2: 1.0}, {2: 2.0})}
    bench.write_result(path, result)
    assert bench.read_result(path) == result
    assert [item.name for item in tmp_path.iterdir()] == ["b.json"]
    with pytest.raises(TypeError):
        bench.write_result(path, result | {"date": object()})
    assert bench.read_result(path) == result
    assert [item.name for item in tmp_path.iterdir()] == ["b.json"]


@pytest.mark.parametrize("text", [None, "{", "{}", '{"rows": [{"median": "x"}]}', '{"rows": [{"median": 0}]}'])
def test_other_files_are_rejected(tmp_path, text):
    path = tmp_path / "b.json"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match="is no result of attnsep bench"):
        bench.read_result(path)


def test_the_stored_result_has_every_size_and_names_the_machine():
    result = bench.read_result()
    for d in bench.D:
        assert list(bench.medians(result["rows"], d)) == list(bench.N)
    assert result["date"]
    assert result["machine"]["cpu"]
    assert result["machine"]["cores"] >= 1
    assert result["versions"]["NumPy"]
    assert result["settings"] == {}


def test_multiply_adds_cross_at_d_plus_one():
    for d in (1, 5, 64):
        softmax, linear = ([bench.multiply_adds(n, d, name) for n in (d, d + 1, d + 2)] for name in bench.PAIR)
        assert [a - b > 0 for a, b in zip(softmax, linear, strict=True)] == [False, False, True]
        assert softmax[1] == linear[1]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([0], [3]), {}, "n = 0"),
        (([4], [0]), {}, "d = 0"),
        (([4], [3]), {"dtype": "int8"}, "dtype = 'int8'"),
        (([4], [3]), {"seconds": 0}, "seconds = 0"),
    ],
)
def test_bad_parameters_are_rejected(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        bench.bench(*arguments, **options)


def test_other_bad_input_is_rejected():
    with pytest.raises(ValueError, match="d = 9"):
        bench.medians(rows_of({2: 1.0}, {2: 1.0}), 9)
    with pytest.raises(ValueError, match="kernel = 'hard'"):
        bench.multiply_adds(2, 2, "hard")
    with pytest.raises(ValueError, match="n = 0"):
        bench.multiply_adds(0, 2, "linear")


SMALL = ["bench", "--n", "4", "8", "--d", "3", "--seconds", "0.001"]


def test_command_prints_and_stores(capsys, tmp_path, monkeypatch):
    for name in bench.BLAS_SETTINGS:
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "b.json"
    assert cli.main([*SMALL, "--json", "--out", str(path)]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out) == bench.read_result(path)
    assert captured.err == ""
    assert cli.main(SMALL) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines[1:3]] == ["4", "8"]
    assert lines[3].startswith("d = 3: ")


def test_command_says_what_is_wrong(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    assert cli.main([*SMALL, "--json"]) == 0
    assert "OPENBLAS_CORETYPE set" in capsys.readouterr().err
    for words, message in (
        (["--out", str(tmp_path / "none" / "b.json")], "does not exist"),
        (["--n", "0"], "n = 0"),
        (["--dtype", "int8"], "dtype"),
    ):
        assert cli.main([*SMALL, *words]) == 2
        captured = capsys.readouterr()
        assert message in captured.err
        assert captured.out == ""
