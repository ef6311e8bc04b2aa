"""Fits of one library in its own environment: ``python fits.py FOLDER < requests > results``.

A request is a line of JSON with ``fit``, one of ``FITS``, ``part``, the training part
``FOLDER/<part>.npz``, and ``setting``; ``test`` names the pairs to predict, and ``save`` the file
of the predictions. Results are lines: "ready", the seconds of the fit, of the wall and of this
process, from the library's own kind of input, and "done". This file needs NumPy and the library, so
that it runs in any environment.
"""

import importlib
import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

RANK, PLACES = 10, 100


@dataclass
class Fit:
    """How to turn arrays into input, to fit, and to predict; only ``fit`` is measured.

    ``predict`` returns ratings of pairs of users and items, or lists of items of users.
    """

    prepare: Callable[[Any], Any]
    fit: Callable[[Any, dict[str, Any]], Any]
    predict: Callable[[Any, Any], Any]


def module(name: str) -> Any:
    return importlib.import_module(name)


def cmfrec() -> Fit:
    def prepare(data: Any) -> Any:
        shape = int(data["users"].max()) + 1, int(data["n_items"])
        places = data["users"], data["items"]
        return module("scipy.sparse").coo_array((data["values"], places), shape=shape)

    def fit(matrix: Any, given: dict[str, Any]) -> Any:
        model = module("cmfrec").CMF(
            k=RANK, lambda_=given["strength"], niter=given["passes"], nthreads=1, verbose=False
        )
        return model.fit(matrix)

    return Fit(prepare, fit, lambda model, test: model.predict(test["users"], test["items"]))


def surprise() -> Fit:
    def prepare(data: Any) -> Any:
        columns = {name: data[name] for name in ("users", "items", "values")}
        frame = module("pandas").DataFrame(columns)
        scale = float(data["values"].min()), float(data["values"].max())
        reader = module("surprise").Reader(rating_scale=scale)
        return module("surprise").Dataset.load_from_df(frame, reader).build_full_trainset()

    def fit(table: Any, given: dict[str, Any]) -> Any:
        model = module("surprise").SVD(
            n_factors=RANK,
            n_epochs=given["passes"],
            reg_all=given["strength"],
            lr_all=given["step"],
            random_state=0,
        )
        return model.fit(table)

    def predict(model: Any, test: Any) -> Any:
        table, pairs = model.trainset, zip(test["users"], test["items"], strict=True)
        found = []
        for user, item in pairs:
            known = table._raw2inner_id_users.get(user), table._raw2inner_id_items.get(item)
            rating = table.global_mean
            if known[0] is not None:
                rating += model.bu[known[0]]
            if known[1] is not None:
                rating += model.bi[known[1]]
            if None not in known:
                rating += model.pu[known[0]] @ model.qi[known[1]]
            found.append(rating)
        return np.array(found)

    return Fit(prepare, fit, predict)


def libmf() -> Fit:
    def prepare(data: Any) -> Any:
        mean = data["values"].mean()
        columns = data["users"], data["items"], data["values"] - mean
        return np.column_stack(columns).astype(np.float32), float(mean)

    def fit(table: Any, given: dict[str, Any]) -> Any:
        model = module("libmf.mf").MF(
            k=RANK,
            nr_threads=1,
            nr_iters=given["passes"],
            lambda_p2=given["strength"],
            lambda_q2=given["strength"],
            lambda_p1=0.0,
            lambda_q1=0.0,
            eta=given["step"],
            quiet=True,
        )
        model.fit(table[0])
        return model, table[1]

    def predict(model: Any, test: Any) -> Any:  # that of version 0.9.2 reads other entries
        users, items = (
            np.nan_to_num(factors)[np.minimum(test[name], len(factors) - 1)]
            for name, factors in (
                ("users", model[0].p_factors()),
                ("items", model[0].q_factors()),
            )
        )
        return np.einsum("kr,kr->k", users, items).astype(np.float64) + model[1]

    return Fit(prepare, fit, predict)


def spark() -> Fit:
    """ALS on the processors of this machine; the session has begun, and the file is read."""
    session = module("pyspark.sql").SparkSession
    builder = session.builder.master("local[2]").config("spark.driver.memory", "5g")
    # Every pass lengthens what Spark writes recursively; the usual stack is too small for 20.
    builder = builder.config("spark.driver.extraJavaOptions", "-Xss64m")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    context = builder.config("spark.ui.enabled", "false").getOrCreate()
    context.sparkContext.setLogLevel("ERROR")

    def prepare(data: Any) -> Any:
        path = str(data["parquet"])
        context.read.parquet(path).count()  # starts the machinery
        return path

    def fit(path: Any, given: dict[str, Any]) -> Any:
        als = module("pyspark.ml.recommendation").ALS(
            rank=RANK,
            maxIter=given["passes"],
            regParam=given["strength"],
            userCol="users",
            itemCol="items",
            ratingCol="values",
            seed=0,
        )
        return als.fit(context.read.parquet(path))

    def predict(model: Any, test: Any) -> Any:
        factors = []
        for frame in (model.userFactors, model.itemFactors):
            rows = frame.collect()
            table = np.zeros((max(row["id"] for row in rows) + 1, RANK))
            table[[row["id"] for row in rows]] = [row["features"] for row in rows]
            factors.append(table)
        users, items = (
            np.where(ids < len(table), ids, 0)
            for ids, table in zip((test["users"], test["items"]), factors, strict=True)
        )
        return np.einsum("kr,kr->k", factors[0][users], factors[1][items])

    return Fit(prepare, fit, predict)


def implicit() -> Fit:
    def prepare(data: Any) -> Any:
        shape = int(data["users"].max()) + 1, int(data["n_items"])
        ones = np.ones(len(data["users"]), dtype=np.float32)
        return module("scipy.sparse").csr_matrix((ones, (data["users"], data["items"])), shape)

    def fit(rows: Any, given: dict[str, Any]) -> Any:
        model = module("implicit.als").AlternatingLeastSquares(
            factors=64,
            alpha=given["alpha"],
            regularization=given["strength"],
            iterations=given["passes"],
            random_state=0,
            num_threads=1,
        )
        model.fit(rows, show_progress=False)
        return model, rows

    def predict(model: Any, test: Any) -> Any:
        users = np.unique(test["users"])
        return model[0].recommend(users, model[1][users], N=PLACES)[0]

    return Fit(prepare, fit, predict)


def ours(name: str, prepare: str = "ratings_of") -> Fit:
    """Return a fit of ``ours.py``."""
    own = module("benchmarks.libraries.ours")
    return Fit(getattr(own, prepare), getattr(own, name), lambda predict, test: predict(test))


def ours_on_ray() -> Fit:
    """Agents on a cluster that has begun; each reads its users' ratings from the file."""
    options = {"include_dashboard": False, "logging_level": "ERROR", "log_to_driver": False}
    module("ray").init("local", num_cpus=2, **options)
    return ours("fit_on_ray", "parts_of")


def ours_of_events() -> Fit:
    estimators, tables = module("grassvine.estimators"), module("grassvine.data.tables")

    def prepare(data: Any) -> Any:
        ones = np.ones(len(data["users"]))
        return tables.ratings_from_arrays(data["users"], data["items"], ones)

    def fit(table: Any, given: dict[str, Any]) -> Any:
        events = module("grassvine.data.tables.event_table").EventTable.of(table)
        return estimators.ImplicitRecommender(
            64, unobserved=given["unobserved"], regularization=given["strength"]
        ).fit(events)

    def predict(model: Any, test: Any) -> Any:
        users, private = np.unique(test["users"]), model.model_
        lists, _ = private.best_by_number(private.private.users.numbers(users, "user"), PLACES)
        items = np.asarray(private.shared.items.series.to_numpy())
        return np.where(lists < 0, -1, items[lists])

    return Fit(prepare, fit, predict)


FITS: dict[str, Callable[[], Fit]] = {
    "cmfrec": cmfrec,
    "scikit-surprise": surprise,
    "libmf": libmf,
    "pyspark": spark,
    "implicit": implicit,
    "ours, map": lambda: ours("fit_map"),
    "ours, bayes": lambda: ours("fit_bayes"),
    "ours on Ray": ours_on_ray,
    "ours, events": ours_of_events,
}


def main() -> None:
    folder, results = Path(sys.argv[1]), os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no result
    warnings.simplefilter("ignore")
    known: dict[Any, Any] = {}

    def write(result: Any) -> None:
        results.write(json.dumps(result) + "\n")
        results.flush()

    for line in sys.stdin:
        asked = json.loads(line)
        name, part = asked["fit"], asked["part"]
        if name not in known:
            known[name] = FITS[name]()
        fit = known[name]
        if (name, part) not in known:
            stored = np.load(folder / f"{part}.npz")
            data = {key: stored[key] for key in stored.files}
            known[name, part] = fit.prepare({**data, "parquet": folder / f"{part}.parquet"})
        write("ready")
        wall, cpu = time.perf_counter(), time.process_time()
        model = fit.fit(known[name, part], asked["setting"])
        write({"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu})
        if "save" in asked:
            np.save(asked["save"], fit.predict(model, np.load(folder / f"{asked['test']}.npz")))
        write("done")


if __name__ == "__main__":
    main()
