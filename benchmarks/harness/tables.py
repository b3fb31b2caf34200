"""The tables: which sets, how they are split, and which models by themselves."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.harness.ours import ADDITIVE, DEEP
from benchmarks.harness.ours import PROJECTED as PROJECTED_MODELS
from benchmarks.harness.ours import SPHERICAL as SPHERICAL_MODELS
from benchmarks.harness.sets import Asked
from benchmarks.peers.registry import PEERS

SPLITS = 10
LEAKING = ("casual", "registered", "yr", "mnth")  # of bike: two add up to the target, two are there twice


@dataclass(frozen=True)
class Table:
    """Sets of one task, in the order in which they are shown."""

    name: str
    about: str
    sets: tuple[str, ...]
    asked: Asked
    scores: tuple[str, ...]
    models: tuple[str, ...] = ()  # run if none are asked for; all if empty
    splits: int = SPLITS
    printed: tuple[tuple[str, str], ...] = ()  # the published table of a score
    orders: str = ""  # the published table of the variances by order
    reference: str = "OAK"  # the model that is held against every other


# In the order of OAK table 5, with the names that the sets have here.
OAK_REGRESSION = (
    "housing energy naval power winered winewhite protein yacht_raw airfoil forest parkinsons stock "
    "fertility machine pendulum servo wine tamielectric kin40k gas keggdirected bike pol elevators"
)
# In the order of OAK table 7.
OAK_CLASSIFICATION = (
    "acute-inflammation acute-nephritis bank blood chess-krvkp congressional-voting sonar credit-approval "
    "cylinder-bands echocardiogram fertility-diagnosis haberman-survival heart-hungarian hepatitis "
    "hill-valley horse-colic ilpd-indian-liver mammographic molec-biol-promoter monks-1 monks-2 monks-3 "
    "mushroom musk-1 musk-2 oocytes_merluccius_nucleus_4d oocytes_trisopterus_nucleus_2f ozone "
    "parkinsons-voice"
)
PROJECTED = (
    "challenger fertility concreteslump autos servo breastcancer machine yacht autompg housing forest stock "
    "energy concrete airfoil gas"
)
NUMBERS = ("rmse", "log_density")
LABELS = ("accuracy", "log_density", "auc")
REGRESSION, CLASSIFICATION = Asked("regression"), Asked("classification")
FAMILY = ("OAK", "additive", "GAM", "SE")
# The tables of the OAK paper are OAK beside others: its older relatives have tables of their own.
BESIDE_OAK = {
    task: ("OAK", *(name for name, peer in PEERS.items() if task in peer.tasks))
    for task in ("regression", "classification")
}
MOST = ("OAK", *ADDITIVE, *PROJECTED_MODELS, *BESIDE_OAK["regression"][1:])  # all but those of one paper

TABLES = {
    table.name: table
    for table in (
        Table(
            "oak-regression",
            "OAK tables 5 and 6",
            tuple(OAK_REGRESSION.split()),
            REGRESSION,
            NUMBERS,
            BESIDE_OAK["regression"],
            printed=(("rmse", "oak-5"), ("log_density", "oak-6")),
        ),
        Table(
            "oak-classification",
            "OAK tables 7 and 8",
            tuple(OAK_CLASSIFICATION.split()),
            CLASSIFICATION,
            LABELS,
            BESIDE_OAK["classification"],
            printed=(("accuracy", "oak-7"), ("log_density", "oak-8")),
        ),
        Table(
            "additive-gp",
            "additive GP tables 1, 2 and 3",
            ("bach_synth", "concrete", "pumadyn8nh", "servo_raw", "housing"),
            REGRESSION,
            ("mse", "log_density"),
            FAMILY,
            printed=(("mse", "additive-2"), ("log_density", "additive-3")),
            orders="additive-1",
        ),
        Table(
            "classification",
            "additive GP tables 4 and 5",
            ("breast", "pima", "sonar", "ionosphere", "liver", "heart"),
            Asked("classification", folds=True),
            LABELS,
            FAMILY,
            printed=(("accuracy", "additive-4"), ("log_density", "additive-5")),
            orders="additive-1",
        ),
        Table(
            "projected",
            "projected additive GP table 1",
            tuple(PROJECTED.split()),
            REGRESSION,
            NUMBERS,
            tuple(PROJECTED_MODELS),
            printed=(("rmse", "projected-1"),),
            reference="DPA-GP-ARD",
        ),
        Table(
            "deep",
            "interpretable deep kernels, table 4",
            ("skillcraft", "parkinsons", "elevators", "bike", "california"),
            Asked("regression", dropped=(("bike", LEAKING[:2]),)),
            ("rmse", "mae", "log_density"),
            (*DEEP, *MOST),
            splits=5,
        ),
        Table(
            "spherical",
            "spherical features, section 3.6.2",
            ("yacht_raw", "concrete", "energy", "kin8nm", "power"),
            REGRESSION,
            NUMBERS,
            tuple(SPHERICAL_MODELS),
            splits=5,
            reference="arccos1 softplus 128+128",
        ),
        Table(
            "peers",
            "honest tasks that no paper's table has",
            ("autompg", "concreteslump_strength", "bike", "california", "kin8nm", "skillcraft"),
            Asked("regression", dropped=(("bike", LEAKING), ("skillcraft", ("GameID",)))),
            NUMBERS,
            MOST,
            splits=5,
        ),
    )
}
