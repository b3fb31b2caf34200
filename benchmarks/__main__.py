"""Run benchmarks: python -m benchmarks papers --table oak-regression | peers | core | ... ."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from benchmarks.data import NoDataError
from benchmarks.figures import Figure, machine, summary
from benchmarks.harness.command import add_options, run_table
from benchmarks.harness.readme import write_short_table
from benchmarks.harness.tables import TABLES

BENCHMARKS = {
    "core": "one value and gradient beside LAPACK and BoTorch; compiling and importing",
    "quality": "the defaults on four tables, beside the official code of the OAK paper",
    "starts": "whether the optimum depends on the start",
    "sobol": "the indices of 8191 terms",
    "memory": "the peak memory of an exact fit of 4000 rows",
    "engines": "where the sparse engine overtakes the exact one, and what it costs in accuracy",
    "sparse": "one value and gradient of many rows beside BLAS, and the peak memory of a million",
    "airline": "two million flights, beside LightGBM",
    "churn": "which customers leave, beside EBM, LightGBM and the OAK paper",
    "late": "which of two million flights are late, from minibatches, beside LightGBM",
    "logits": "five million rows with known log odds, killed and resumed",
    "directions": "made-up functions and faces, along directions and beside them",
    "grid": "grid interpolation along directions, beside GPyTorch",
    "snelson": "activation features of one column, and what orthogonal variables mend",
    "svgp": "a step of minibatches along the angle, beside GPflow's",
    "delays": "a million flights by activation features and orthogonal variables",
    "deep": "made-up functions by networks, and which columns act together",
    "networks": "real tables by networks, many runs, fewer rows, and OAK with the terms that they find",
    "pumadyn": "how few terms and inducing rows the robot arm needs",
}
PEERS = "peers"
PAPERS = tuple(name for name in TABLES if name != PEERS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for and print every figure as it comes."""
    options = _parser().parse_args(arguments)
    if options.benchmark in ("papers", PEERS):
        tables = [PEERS] if options.benchmark == PEERS else options.table or PAPERS
        try:
            return max(run_table(name, options) for name in tables)
        except KeyboardInterrupt:
            print("stopped; the same command goes on from here", file=sys.stderr)
            return 130
    if options.benchmark == "readme":
        write_short_table()
        return 0
    return _measure(list(BENCHMARKS) if options.benchmark == "all" else [options.benchmark], options)


def _measure(names: Sequence[str], options: argparse.Namespace) -> int:
    results: dict[str, list[Figure]] = {}
    failed = False
    for name in names:
        try:
            results[name] = _run(name, options.quick)
        except NoDataError as error:
            print(error, file=sys.stderr)
            failed = True
    if not results:
        return 1
    print(summary([figure for figures in results.values() for figure in figures]))
    if options.json:
        figures = {name: [figure.plain() for figure in found] for name, found in results.items()}
        command = " ".join(["python -m benchmarks", options.benchmark, *["--quick"] * options.quick])
        content = {"command": command, "machine": machine(), "figures": figures}
        options.json.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return int(failed)


def _run(name: str, quick: bool) -> list[Figure]:
    print(f"{name}: {BENCHMARKS[name]}", flush=True)
    figures = []
    for figure in import_module(f"benchmarks.{name}").run(quick):
        print(figure.line(), flush=True)
        figures.append(figure)
    return figures


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure Termwise.")
    commands = parser.add_subparsers(dest="benchmark", required=True, metavar="BENCHMARK")
    papers = commands.add_parser("papers", help="the papers' tables, with our models and the peers")
    papers.add_argument(
        "--table", choices=PAPERS, action="append", help="which table, may be repeated; all if not given"
    )
    papers.add_argument("--row-number", action="store_true", help="of oak-classification: as in the paper")
    peers = commands.add_parser(PEERS, help="our models and the peers on honest tasks of other tables")
    peers.set_defaults(row_number=False)
    for tables in (papers, peers):
        add_options(tables)
    commands.add_parser("readme", help="write the short table of README.md from benchmarks/results")
    for name, text in {**BENCHMARKS, "all": "all from core on"}.items():
        single = commands.add_parser(name, help=text)
        single.add_argument("--quick", action="store_true", help="fewer rows and repeats, to see it work")
        single.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to FILE")
    return parser


if __name__ == "__main__":
    sys.exit(main())
