"""The command: run the checks, print one JSON document, exit 0 where none failed and 1 where one did."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from typing import Any, Sequence

from .checks import CHECKS
from .runner import Outcome, run_check

__all__ = ["main"]

_SCHEMA = 1


def main(argv: Sequence[str] | None = None) -> int:
    """Run what `argv` asks for; the exit code."""
    options = _parser().parse_args(argv)
    chosen = [check for check in CHECKS if not options.only or check.NAME in options.only]
    # from here on only the document may reach standard output
    document = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    outcomes = []
    for check in chosen:
        outcomes.append(run_check(check, options.package, options.timeout))
        print("{0.name}: {0.ended}, {0.seconds:.1f} s".format(outcomes[-1]), file=sys.stderr)
    report = _report(options.package, outcomes)
    with document:
        json.dump(report, document, indent=1)
        document.write("\n")
    return 0 if report["passed"] else 1


def _parser() -> argparse.ArgumentParser:
    names = [check.NAME for check in CHECKS]
    parser = argparse.ArgumentParser(prog="smoke", description=__doc__)
    parser.add_argument("--package", default="torch", help="the module to look at (default: torch)")
    parser.add_argument(
        "--only", action="append", choices=names, metavar="NAME", help="one of " + ", ".join(names)
    )
    parser.add_argument(
        "--timeout", type=float, default=300.0, metavar="SECONDS", help="for each check (300)"
    )
    return parser


def _report(package: str, outcomes: list[Outcome]) -> dict[str, Any]:
    findings = [finding for outcome in outcomes for finding in outcome.findings]
    return {
        "schema": _SCHEMA,
        "package": package,
        "python": platform.python_version(),
        "executable": sys.executable,
        "prefix": sys.prefix,
        "passed": all(finding["outcome"] != "failed" for finding in findings),
        "checks": [{"name": o.name, "seconds": o.seconds, "ended": o.ended} for o in outcomes],
        "findings": findings,
    }


if __name__ == "__main__":
    sys.exit(main())
