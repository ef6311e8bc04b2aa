"""
Three clinics learn together
============================

Plays on one computer what three clinics would do on three: the whole ceremony of
``grassvine peer``, with a process and a folder for each clinic. The data are the 442 patients of
scikit-learn's diabetes study, divided among the clinics; each clinic wants to predict the progress
of the disease for its wards.

    python examples/three_clinics/run.py [FOLDER]

Nothing but the cards and the plan is passed from folder to folder.
"""

import json
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
from scipy.linalg import subspace_angles
from sklearn.datasets import load_diabetes

import grassvine as gv

CLINICS = ("clinic-a", "clinic-b", "clinic-c")
TARGET, WARD, RANK, SEED = "progression", "ward", 2, 0


def grassvine(*arguments, folder, wait=True):
    """Start a command of a clinic in its folder; return what it prints as JSON if it ends."""
    program = "from grassvine.cli import main; main()"
    command = [sys.executable, "-c", program, *map(str, arguments)]
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    return finished(process) if wait else process


def finished(process):
    """Return what a command has printed, or stop with its error."""
    output, errors = process.communicate()
    if process.returncode:
        sys.exit(f"{process.args[4:]} ended with code {process.returncode}: {errors}")
    return json.loads(output)


def patients_of_clinics():
    """Return the patients of each clinic, by ward: one ward per sex and age group.

    The clinics see different patients: the first has more of the young, the third more of the old.
    """
    patients = load_diabetes(scaled=False)
    table = pl.DataFrame(patients.data, schema=patients.feature_names, orient="row")
    age = table["age"].to_numpy()
    rng = np.random.default_rng(SEED)
    clinic = rng.integers(len(CLINICS), size=len(table))
    clinic = np.clip(clinic + (age > 60) - (age < 35), 0, len(CLINICS) - 1)
    ward = [
        f"{'women' if sex == 2 else 'men'}-{'young' if age < 45 else 'old'}"
        for sex, age in table.select("sex", "age").iter_rows()
    ]
    table = table.drop("sex").with_columns(
        pl.Series(TARGET, patients.target), pl.Series(WARD, ward)
    )
    tables = [table.filter(pl.Series(clinic == number)) for number in range(len(CLINICS))]
    return tables, [name for name in table.columns if name not in (TARGET, WARD)]


def free_ports(count):
    """Return ports that nobody uses."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def fitted(tables, features):
    """Return the model of a single owner of some tables, whose wards stay apart."""
    table = pl.concat(
        one.with_columns(pl.col(WARD) + f" {number}") for number, one in enumerate(tables)
    )
    owner = gv.MultitaskRegressor(rank=RANK, agents=1)
    return owner.fit(table.select(features).to_numpy(), table[TARGET].to_numpy(), table[WARD])


def main(root):
    """Play the ceremony, and compare what comes of it with one owner of all patients."""
    tables, features = patients_of_clinics()
    houses = [root / name for name in CLINICS]
    for house, table in zip(houses, tables, strict=True):
        house.mkdir()
        table.write_csv(house / "patients.csv")

    print("1. Everybody makes an identity. The firewall of the third clinic lets nobody in.")
    addresses = [f"127.0.0.1:{port}" for port in free_ports(2)]
    for house, address in zip(houses, [*addresses, None], strict=True):
        reach = ["--listen", address] if address else ["--dial-only"]
        grassvine("peer", "init", house.name, *reach, "--folder", "private", "--json", folder=house)

    print("2. The cards go to clinic-a, which drafts the plan and sends it to all.")
    for house in houses[1:]:
        shutil.copy(house / f"{house.name}.card", houses[0])
    plan = grassvine(
        *("peer", "plan", *[f"{name}.card" for name in CLINICS], "--kind", "tasks"),
        *("--features", ",".join(features), "--target", TARGET, "--task", WARD),
        *("--rank", RANK, "--holdout", 0, "-o", "plan.toml", "--json"),
        folder=houses[0],
    )
    for house in houses[1:]:
        shutil.copy(houses[0] / "plan.toml", house)

    print(f"3. They compare eight words: {plan['words']}.")
    print("   Then everybody joins.")
    running = [
        grassvine(
            *("peer", "join", "plan.toml", "patients.csv", "-o", "model"),
            *("--folder", "private", "--words", plan["words"], "--json"),
            folder=house,
            wait=False,
        )
        for house in houses
    ]
    for process in running:
        finished(process)

    shared = [(house / "model" / "shared.safetensors").read_bytes() for house in houses]
    same = all(one == shared[0] for one in shared)
    print(f"The shared part of the model is {'the same' if same else 'DIFFERENT'} in all clinics.")
    models = [gv.load(house / "model") for house in houses]
    pooled = fitted(tables, features)
    apart = np.sin(subspace_angles(models[0].shared.basis, pooled.model_.shared.basis)).max()
    print(f"Largest difference from the subspace of one owner of all patients: {apart:.0e}")
    return same, apart


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).mkdir(parents=True)
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
