"""Run benchmarks: python -m benchmarks core | quality | ... | all."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.data import NoDataError
from benchmarks.figures import Figure, machine, summary

BENCHMARKS = {
    "core": "one value and gradient beside LAPACK and BoTorch; compiling and importing",
    "quality": "the defaults on four tables, beside the official code of the OAK paper",
    "starts": "whether the optimum depends on the start",
    "sobol": "the indices of 8191 terms",
    "memory": "the peak memory of an exact fit of 4000 rows",
    "engines": "where the sparse engine overtakes the exact one, and what it costs in accuracy",
    "sparse": "one value and gradient of many rows beside BLAS, and the peak memory of a million",
    "large": "the defaults on ten larger tables, beside the OAK paper",
    "airline": "two million flights, beside LightGBM",
    "churn": "which customers leave, beside EBM, LightGBM and the OAK paper",
    "late": "which of two million flights are late, from minibatches, beside LightGBM",
    "logits": "five million rows with known log odds, killed and resumed",
    "pumadyn": "how few terms and inducing rows the robot arm needs",
    "papers": "the tables of the papers: classification of the additive GP paper (tables 4 and 5)",
}
PARTED = ("large", "papers")  # can be run set by set
PARTS = " and ".join(PARTED)
TABLES = ("classification",)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks that are asked for and print every figure as it comes."""
    options = _options(arguments)
    names = list(BENCHMARKS) if options.benchmark == "all" else [options.benchmark]
    results: dict[str, list[Figure]] = {}
    try:
        for name in names:
            results[name] = _run(name, options)
    except NoDataError as error:
        print(error, file=sys.stderr)
        return 1
    print(summary([figure for figures in results.values() for figure in figures]))
    if options.json:
        figures = {name: [figure.plain() for figure in found] for name, found in results.items()}
        content = {"command": _command(options), "machine": machine(), "figures": figures}
        options.json.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return 0


def _run(name: str, options: argparse.Namespace) -> list[Figure]:
    print(f"{name}: {BENCHMARKS[name]}", flush=True)
    figures = []
    for figure in import_module(f"benchmarks.{name}").run(options.quick, **_parts(options)):
        print(figure.line(), flush=True)
        figures.append(figure)
    return figures


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = _parser()
    options = parser.parse_args(arguments)
    if _parts(options) and options.benchmark not in PARTED:
        parser.error(f"--datasets and --splits are for {' and '.join(PARTED)}")
    if options.table and options.benchmark != "papers":
        parser.error("--table is for papers")
    return options


def _parts(options: argparse.Namespace) -> dict[str, Any]:
    """The part of the benchmark that is asked for; empty for all of it."""
    asked = {"datasets": options.datasets, "splits": options.splits}
    return {name: value for name, value in asked.items() if value is not None}


def _command(options: argparse.Namespace) -> str:
    datasets = ["--datasets", ",".join(options.datasets)] if options.datasets else []
    splits = ["--splits", str(options.splits)] if options.splits is not None else []
    quick = ["--quick"] if options.quick else []
    return " ".join(["python -m benchmarks", options.benchmark, *datasets, *splits, *quick])


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
    parser.add_argument(
        "--datasets", type=lambda text: text.split(","), metavar="A,B", help=f"of {PARTS}: only these sets"
    )
    parser.add_argument("--splits", type=int, metavar="K", help=f"of {PARTS}: only the first K splits")
    parser.add_argument("--table", choices=TABLES, help="of papers: which table; all if not given")
    return parser


if __name__ == "__main__":
    sys.exit(main())
