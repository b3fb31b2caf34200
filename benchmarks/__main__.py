"""Run benchmarks: python -m benchmarks core | quality | starts | sobol | memory | all."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from benchmarks.data import NoDataError
from benchmarks.figures import Figure, machine, summary

BENCHMARKS = {
    "core": "one value and gradient beside LAPACK and BoTorch; compiling and importing",
    "quality": "the defaults on four tables, beside the official code of the OAK paper",
    "starts": "whether the optimum depends on the start",
    "sobol": "the indices of 8191 terms",
    "memory": "the peak memory of a fit of 4000 rows",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks that are asked for and print every figure as it comes."""
    options = _parser().parse_args(arguments)
    names = list(BENCHMARKS) if options.benchmark == "all" else [options.benchmark]
    results: dict[str, list[Figure]] = {}
    try:
        for name in names:
            results[name] = _run(name, options.quick)
    except NoDataError as error:
        print(error, file=sys.stderr)
        return 1
    print(summary([figure for figures in results.values() for figure in figures]))
    if options.json:
        command = f"python -m benchmarks {options.benchmark}{' --quick' if options.quick else ''}"
        figures = {name: [figure.plain() for figure in found] for name, found in results.items()}
        content = {"command": command, "machine": machine(), "figures": figures}
        options.json.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return 0


def _run(name: str, quick: bool) -> list[Figure]:
    print(f"{name}: {BENCHMARKS[name]}", flush=True)
    figures = []
    for figure in import_module(f"benchmarks.{name}").run(quick):
        print(figure.line(), flush=True)
        figures.append(figure)
    return figures


def _parser() -> argparse.ArgumentParser:
    listed = "\n".join(f"  {name:<8} {text}" for name, text in BENCHMARKS.items())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=f"Measure Termwise.\n\n{listed}\n  all      all of these",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("benchmark", choices=[*BENCHMARKS, "all"])
    parser.add_argument("--quick", action="store_true", help="fewer rows and repeats, to see that it works")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to FILE")
    return parser


if __name__ == "__main__":
    sys.exit(main())
