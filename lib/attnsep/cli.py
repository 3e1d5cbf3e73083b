"""The command line: `attnsep claims` lists the ledger, `attnsep verify` runs it."""

import argparse
import json
import sys

from attnsep.arrays import BACKENDS, namespace
from attnsep.claims import claims_table, status_line, verify
from attnsep.claims.framework import claims, find
from attnsep.claims.record import differences, read_record


def main(arguments=None):
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words after `attnsep`; left out, those of the process.

    Returns
    -------
    int
        Exit status: 0, 1 if a claim is not as expected (or differs from the record), 2 for bad usage.
    """
    parser = argparse.ArgumentParser(
        prog="attnsep", description="Claims about softmax and linear attention, and their checks."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    list_parser = commands.add_parser("claims", help="list the ledger with the verdicts of the last recorded run")
    list_parser.add_argument("--json", action="store_true", help="print a list of objects")
    run_parser = commands.add_parser("verify", help="run claims and their controls")
    run_parser.add_argument("ids", nargs="*", metavar="id", help="claims to run; all of them if left out")
    run_parser.add_argument("--backend", choices=BACKENDS, help="array library (default: ATTNSEP_BACKEND, else auto)")
    run_parser.add_argument("--json", action="store_true", help="print a list of objects")
    run_parser.add_argument("--compare", action="store_true", help="fail also where the run differs from the record")
    options = parser.parse_args(arguments)
    try:
        return {"claims": _claims, "verify": _verify}[options.command](options)
    except BrokenPipeError:  # the reader of a pipe went away
        sys.stdout = None
        return 1


def _claims(options):
    if options.json:
        print(json.dumps([_entry(entry) for entry in claims()], indent=1, ensure_ascii=False))
        return 0
    print(claims_table())
    print()
    print(status_line())
    return 0


def _entry(entry):
    fields = ("id", "mark", "source", "level", "expect", "chapter", "statement", "assumes", "uses", "control")
    verdict = read_record().get(entry.id, {}).get("verdict", "not run")
    return {name: getattr(entry, name) for name in fields} | {"verdict": verdict}


def _verify(options):
    try:
        for id in options.ids:
            find(id)
        xp = namespace(options.backend)
    except (ValueError, RuntimeError) as error:
        print(f"attnsep: {error}", file=sys.stderr)
        return 2
    evidence = verify(options.ids, xp=xp, progress=not options.json)
    if options.json:
        print(json.dumps([item.to_json() for item in evidence], indent=1, ensure_ascii=False))
    else:
        for item in evidence:
            print(f"{'ok  ' if item.as_expected else 'FAIL'} {item.claim.id}: {item.line}")
    differing = differences(evidence, read_record()) if options.compare else []
    for sentence in differing:
        print(f"attnsep: {sentence}; run `make notebooks` if this is meant", file=sys.stderr)
    failed = sum(not item.as_expected for item in evidence)
    if not options.json:
        print(f"{len(evidence) - failed} passed, {failed} failed")
    return int(failed > 0 or bool(differing))


if __name__ == "__main__":
    sys.exit(main())
