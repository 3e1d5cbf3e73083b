"""The ledger as tables: HTML in a notebook, aligned text in a terminal."""

import json
from pathlib import Path
from typing import Any

from attnsep.checks import text_of
from attnsep.ledger.framework import LEDGER, LEVELS, Claim, alarm_sentence, claims
from attnsep.ledger.record import read_record, require_record
from attnsep.ledger.words import control_words
from attnsep.tables import Link, Table, shown


def card(chapter: str) -> Table:
    """Return the card of a chapter: its definitions and claims, who says them, and how strong the evidence is.

    Parameters
    ----------
    chapter : str
        File name of the chapter, without ending.

    Returns
    -------
    Table

    Raises
    ------
    ValueError
        If the ledger has nothing for this chapter.

    Examples
    --------
    >>> card("no-such-chapter")
    Traceback (most recent call last):
    ...
    ValueError: chapter = 'no-such-chapter': the ledger has nothing for it
    """
    entries = [entry for entry in LEDGER.values() if isinstance(chapter, str) and entry.chapter == chapter]
    if not entries:
        raise ValueError(f"chapter = {text_of(chapter)}: the ledger has nothing for it")
    rows = [
        (Link(e.id, e.chapter), e.mark, e.evidence if isinstance(e, Claim) else "definition", e.source) for e in entries
    ]
    header = ("statement", "who says it", "evidence", "in the source card")
    return Table(header, tuple(rows), about="the claims of this page")


def claims_table(record: dict[str, dict[str, Any]] | None = None) -> Table:
    """Return the whole ledger with the verdicts of a run.

    Parameters
    ----------
    record : dict, optional
        Evidence by claim id; left out, the stored record.

    Returns
    -------
    Table
    """
    record = read_record() if record is None else require_record(record)
    rows = []
    for entry in claims():
        row = record.get(entry.id)
        verdict, slack, control = _found(row) if row else ("not run", "", "")
        tried = f"{entry.evidence}, {row['cases']} cases" if row else entry.evidence
        rows.append(
            (Link(entry.id, entry.chapter), entry.mark, tried, verdict, slack, control, entry.source, entry.chapter)
        )
    header = ("claim", "who says it", "evidence", "verdict", "to spare", "control", "in the source card", "chapter")
    return Table(header, tuple(rows), about="the ledger", filters=("chapter", "who says it", "evidence", "verdict"))


def certified_table(record=None):
    """Return what each certified claim covers: its boxes of real parameters, the n, and how many boxes it took.

    Parameters
    ----------
    record : dict, optional
        Evidence by claim id; left out, the stored record.

    Returns
    -------
    Table
        An identity has no box: it holds for all values of its symbols.
    """
    record = read_record() if record is None else require_record(record)
    rows = []
    for entry in claims():
        if entry.level == "certified" and entry.id in record:
            reached = dict(record[entry.id]["reached"])
            most, n0 = int(reached.pop("boxes")[1]), reached.pop("n0", None)
            reached.pop("false at n", None)
            box = "; ".join(f"{name}: {low:.6g} to {high:.6g}" for name, (low, high) in reached.items())
            first = "–" if n0 is None else " to ".join(dict.fromkeys(f"{n:.6g}" for n in n0))
            rows.append((Link(entry.id, entry.chapter), first, record[entry.id]["cases"], most, box or "identities"))
    return Table(("claim", "first n", "certificates", "most boxes", "sides of the parameters' boxes"), tuple(rows))


def noticed_table():
    """Return, for each claim, the numbers of its statement and from which change on its check notices a wrong one.

    Returns
    -------
    Table
        As `make noticed` found it: whole numbers are changed by 1 and more, others by parts of themselves.  Of some
        numbers no change is noticed, such as a size at which a theorem for every n was tried.  Claims of the paper, and
        those that complete it, say of each number that is noticed late why that may be.  Every claim says it of a
        function that it tests, where no fault of this function refutes it.
    """
    path = Path(__file__).with_name("noticed.json")
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    rows = []
    for entry in claims():
        changes = found.get(entry.id, {"numbers": {}})["numbers"].items()
        words = [_noticed(*pair) for pair in changes if pair[1] not in ("never", "absent", "not tried")]
        reasons = [f"{numbers.replace(' ', ', ')}: {reason}" for numbers, reason in entry.coarse]
        if words or reasons:
            rows.append((Link(entry.id, entry.chapter), "; ".join(words) or "–", "; ".join(reasons)))
    return Table(("claim", "number: noticed from", "why not from less"), tuple(rows))


def _noticed(number, change):
    if number.replace("^", "").isdecimal():
        return f"{number}: ±{abs(int(change))}"
    return f"{number}: {shown(100 * abs(float(change)))} %"


def definitions_table():
    """Return all definitions of the ledger.

    Returns
    -------
    Table
    """
    entries = [entry for entry in LEDGER.values() if not isinstance(entry, Claim)]
    rows = [(Link(entry.id, entry.chapter), entry.mark, entry.source, entry.chapter) for entry in entries]
    return Table(("definition", "who says it", "in the source card", "chapter"), tuple(rows))


def _found(row):
    verdict = row["verdict"] if row["as_expected"] else f"{row['verdict']} – NOT AS EXPECTED"
    slack = "–" if row["margin"] is None else shown(row["margin"])
    rounding = f" (tolerance {shown(row['tolerance'])})" if row.get("tolerance") else ""
    words = control_words(row["expect"], row["smallest_failing"], row["largest_passing"])
    return verdict, slack + rounding, words if row["control_fails"] else "DOES NOT TURN: " + words


def status_line(record=None):
    """Return the state of the ledger in one sentence, counted from a run.

    Parameters
    ----------
    record : dict, optional
        Evidence by claim id; left out, the stored record.

    Returns
    -------
    str
    """
    record = read_record() if record is None else require_record(record)
    entries = claims()
    expected = [entry for entry in entries if record.get(entry.id, {}).get("as_expected")]
    levels = [entry.level for entry in entries]
    split = ", ".join(f"{levels.count(level)} {level}" for level in LEVELS if level in levels)
    proved = sum(entry.is_proved for entry in expected)
    refuted = sum(entry.expect == "refuted" for entry in expected)
    failing = sum(bool(record.get(entry.id, {}).get("control_fails")) for entry in entries)
    alarms = [record[entry.id].get("alarm", 0.0) for entry in entries if entry.id in record]
    return (
        f"{len(expected)} of {len(entries)} claims came out as expected ({split}); "
        f"{proved} of them are proved as well, and Coq has checked the proofs; "
        f"{refuted} of them are refuted, as expected of a sentence of the source card or of our reading of one; "
        f"{failing} of {len(entries)} controls turn the verdict over, as they must. " + alarm_sentence(alarms)
    )


def gpu_table(path=None):
    """Return what the last run on a GPU found (`make gpu`): device, versions, counts, verdicts, timings.

    Parameters
    ----------
    path : str or path, optional
        The result file; left out, the one stored beside the ledger.

    Returns
    -------
    Table
        One row that says "not run yet" where there is no such file.

    Examples
    --------
    >>> gpu_table("no-such-file.json")
    on a GPU                           result
    tests, claims, notebooks, timings  not run yet
    """
    path = Path(__file__).with_name("gpu.json") if path is None else Path(path)
    header = ("on a GPU", "result")
    if not path.exists():
        return Table(header, (("tests, claims, notebooks, timings", "not run yet"),))
    run = json.loads(path.read_text(encoding="utf-8"))
    found = {row["id"]: row for row in run["claims"]["rows"]}
    rows = [
        ("device", run["device"]),
        ("day (UTC)", run["date"]),
        *((f"versions ({name})", _versions(bench)) for name, bench in (run["bench"] or {}).items()),
        ("tests", _counted(run["tests"])),
        ("notebook cells", _counted(run["notebooks"]) if run["notebooks"] else "left out: no Jupyter there"),
        (
            "claims",
            f"{sum(bool(found.get(e.id, {}).get('as_expected')) for e in claims())} of {len(claims())} as expected",
        ),
        ("claims that differ from the stored record", len(run["claims"]["differ_from_record"])),
        *_timings(run["bench"] or {}),
        *((Link(entry.id, entry.chapter), _gpu_verdict(found.get(entry.id))) for entry in claims()),
    ]
    return Table(header, tuple(rows))


def _counted(part):
    counts = ", ".join(f"{part[name]} {name}" for name in ("passed", "failed", "skipped"))
    return f"{counts} in {shown(part['seconds'])} s{', then the time was over' if part.get('stopped') else ''}"


def _versions(bench):
    return ", ".join(f"{name} {number}" for name, number in bench["versions"].items())


def _timings(benches):
    """Return a row for each attention and size, with the time and the memory that each library took."""
    found = {}
    for name, bench in benches.items():
        for row in bench["rows"]:
            size = "" if row["memory"] is None else f" and {shown(row['memory'] / 2**20)} MiB"
            kind = f"{row['mechanism']}, n = {row['n']}, d = {row['d']}, {row['dtype']}"
            found.setdefault(kind, []).append(f"{row['library']} ({name}) {shown(1000 * row['median'])} ms{size}")
    return [(kind, ", ".join(cells)) for kind, cells in found.items()]


def _gpu_verdict(row):
    if row is None:
        return "not run yet"
    return f"{row['verdict']} – NOT AS EXPECTED" if row["as_expected"] is False else row["verdict"]
