"""Which customers of a bank leave: five stratified folds beside EBM, LightGBM and the OAK paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from benchmarks.data import Whole, read
from benchmarks.figures import Figure
from benchmarks.peers.registry import PEERS, NotInstalledError
from benchmarks.timing import seconds
from termwise import OAKClassifier

FOLDS = 5
PAPER_AUC = 0.856  # OAK section 5.3
BEHIND, LOST = 0.003, 0.003  # at most: behind EBM, and by pruning
MOST_TERMS, MOST_SECONDS = 8, 60.0
SHOWN = 8
COMPARED = ("EBM", "LightGBM")
FIGURE_8 = {"Age", "IsActiveMember", "Geography", "Gender", "NumOfProducts"}


@dataclass(frozen=True)
class Fold:
    """One fold: the score of the whole model and of the pruned one, and what leads."""

    auc: float
    pruned: float
    kept: int
    seconds: float
    shares: Mapping[str, float]


def run(quick: bool = False) -> Iterator[Figure]:
    """All folds of our model and of the peers that are installed; quick with one fold."""
    whole = read("churn")
    y = (whole.y == np.max(whole.y)).astype(int)
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(y, y))[: 1 if quick else FOLDS]
    found = [ours(whole, y, train, test) for train, test in folds]
    auc = float(np.mean([fold.auc for fold in found]))
    yield Figure("OAK, order 2: AUC", auc, at_least=PAPER_AUC)
    pruned = float(np.mean([fold.pruned for fold in found]))
    yield Figure(f"  AUC pruned to {MOST_TERMS} terms", pruned, at_least=auc - LOST)
    yield Figure("  terms kept, the most of all folds", max(fold.kept for fold in found), at_most=MOST_TERMS)
    yield Figure("  seconds of the longest fit", max(f.seconds for f in found), "s", at_most=MOST_SECONDS)
    for name, share in leading([fold.shares for fold in found]):
        yield Figure(f"  share of {name}", share)
    yield from _as_in_the_paper(whole, y, folds)
    yield from _single_features(whole, y, folds)
    for name in COMPARED:
        try:
            theirs = float(np.mean([peer_auc(name, whole, y, train, test) for train, test in folds]))
        except NotInstalledError as error:
            print(f"  {name} is not compared: {error}")
            continue
        yield Figure(f"{name}: AUC", theirs)
        if name == "EBM":
            yield Figure("  OAK's AUC above it", auc - theirs, at_least=-BEHIND)


def ours(whole: Whole, y: np.ndarray, train: np.ndarray, test: np.ndarray, **options: Any) -> Fold:
    """Our model, with its defaults but for the options that are given."""
    X, X_test = ({name: x[rows] for name, x in whole.X.items()} for rows in (train, test))
    model = OAKClassifier(**{"max_order": 2, "categorical": whole.categorical, **options})
    time = seconds(lambda: model.fit(X, y[train]))
    shares = model.sobol_["share"]
    pruned = model.prune(n_terms=MOST_TERMS)
    scores = [roc_auc_score(y[test], one.predict_proba(X_test)[:, 1]) for one in (model, pruned)]
    terms = dict(zip(model.sobol_["term"].tolist(), shares.tolist(), strict=True))
    return Fold(scores[0], scores[1], len(pruned.terms_), time, terms)


def _as_in_the_paper(whole: Whole, y: np.ndarray, folds: Sequence[Any]) -> Iterator[Figure]:
    """The form of the paper: squared exponential, normal measures, an encoding that is not learned."""
    numbers = {name: "normal" for name in whole.X if name not in whole.categorical}
    form = {"kernel": "se", "flow": "fixed", "measure": numbers}
    found = [ours(whole, y, train, test, **form) for train, test in folds[:1]]
    yield Figure("OAK as in the paper, first fold: AUC", found[0].auc)
    for name, share in leading([fold.shares for fold in found]):
        yield Figure(f"  share of {name}", share)


def _single_features(whole: Whole, y: np.ndarray, folds: Sequence[Any]) -> Iterator[Figure]:
    """Without pairs, which take over what single features tell where columns go together."""
    found = ours(whole, y, *folds[0], max_order=1)
    yield Figure("OAK of order 1, first fold: AUC", found.auc)
    first = [name for name, _ in leading([found.shares])][: len(FIGURE_8)]
    yield Figure("  of figure 8's features among the first five", len(FIGURE_8 & {*first}), at_least=5)


def leading(folds: Sequence[Mapping[str, float]]) -> list[tuple[str, float]]:
    """The terms with the largest mean share."""
    names = {name for fold in folds for name in fold}
    means = {name: float(np.mean([fold.get(name, 0.0) for fold in folds])) for name in names}
    return sorted(means.items(), key=lambda pair: -pair[1])[:SHOWN]


def peer_auc(name: str, whole: Whole, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> float:
    """One of the peers with its defaults."""
    X, X_test = ({column: x[rows] for column, x in whole.X.items()} for rows in (train, test))
    model = PEERS[name].model("classification")
    model.fit(X, y[train], whole.categorical)
    return float(roc_auc_score(y[test], model.predict(X_test).mean))
