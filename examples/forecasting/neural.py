"""Nixtla's neuralforecast on ETTh1, as Deep RC ran it (arXiv 2502.20724): three of its eleven models, or all. Wants PyPI's neuralforecast; by hand.

volley reads and scales the hours and makes the long table (unique_id, ds, y) that neuralforecast draws its windows of; it goes over by Arrow.
"""

from __future__ import annotations

import argparse
import time

import neuralforecast.auto
import neuralforecast.models as nf
import volley as vo
from data import COLUMNS, FILE, TEST, TRAIN, VALIDATE
from neuralforecast import NeuralForecast

FEW = ["NLinear", "NBEATS", "TiDE"]
ALL = [*FEW, "Autoformer", "DeepAR", "GRU", "AutoNHITS", "PatchTST", "TFT", "TimesNet", "VanillaTransformer"]


def long_table(columns: list[str]) -> vo.Table:
    """A row for each column and hour up to the end of the test."""
    hours = vo.read_csv(FILE).slice(0, TRAIN + VALIDATE + TEST)
    known = hours.slice(0, TRAIN)
    parts = []
    for n in columns:
        k = known.lazy().agg(vo.col(n).mean().alias("m"), vo.col(n).std(ddof=0).alias("s")).collect().to_pydict()
        parts.append(hours.select(vo.lit(n).alias("unique_id"), vo.col("date").alias("ds"), ((vo.col(n) - k["m"][0]) / k["s"][0]).alias("y")))
    return vo.concat(parts)


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--all", action="store_true", help="all eleven models")
    p.add_argument("--models", help="models by name, with commas")
    p.add_argument("--columns", default=",".join(COLUMNS))
    p.add_argument("--horizon", type=int, default=96)
    p.add_argument("--history", type=int, default=336)
    p.add_argument("--steps", type=int, default=300)
    p.add_argument("--windows", type=int, default=1024, help="of a step: models with attention want less memory and time with 64")
    p.add_argument("--set", default="", help="whole numbers for the models, by neuralforecast's names, with commas: hidden_size=16,top_k=2")
    a = p.parse_args()
    given = {name: int(value) for name, value in (one.split("=") for one in a.set.split(",") if one)}
    names = a.models.split(",") if a.models else ALL if a.all else FEW
    frame = long_table(a.columns.split(",")).to_pandas()
    frame["ds"] = frame["ds"].astype("datetime64[ns]")
    for name in names:
        plain = {"enable_progress_bar": False, "logger": False, "enable_checkpointing": False, "accelerator": "cpu"}
        few = {"windows_batch_size": a.windows, "inference_windows_batch_size": a.windows}
        if hasattr(nf, name):
            model = getattr(nf, name)(h=a.horizon, input_size=a.history, max_steps=a.steps, alias=name, **few, **plain, **given)
        else:  # two trials of what its search would try
            fixed = {"input_size": a.history, "max_steps": a.steps, **few, **plain}
            search = getattr(neuralforecast.auto, name)
            tried = search.get_default_config(a.horizon, "optuna")
            model = search(h=a.horizon, num_samples=2, alias=name, backend="optuna", config=lambda t, tried=tried, fixed=fixed: {**tried(t), **fixed})
        start = time.perf_counter()
        made = NeuralForecast(models=[model], freq="h").cross_validation(frame, val_size=VALIDATE, test_size=TEST, step_size=a.horizon, n_windows=None)
        said = name if name in made else f"{name}-median"
        difference = made[said] - made["y"]
        print(f"{name}: MSE {(difference**2).mean():.3f}, MAE {difference.abs().mean():.3f}, {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
