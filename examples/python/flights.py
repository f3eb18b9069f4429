# # Flights: pandas in, volley, a PyTorch tensor out
#
# A million US domestic flights of 2001 and the airports that they leave from. Run it in the repository's root:
# `python examples/python/flights.py`, with pandas, pyarrow and PyTorch installed.

# %%
import pandas as pd
import torch
import volley as vo
from volley import col

flights = pd.read_parquet("testdata/flights/flights-1m.parquet")
airports = pd.read_csv("testdata/flights/airports.csv", keep_default_na=False)

# The frame's numbers stay where pandas has them; its texts come in without a copy too, if Arrow holds them.

# %%
t = vo.Table(flights)
print(t.shape, t.schema)
assert t["delay"].to_numpy().sum() == flights["delay"].sum()

# Which states' long flights are late? Nothing runs before `collect`, and `explain` says what will.

# %%
late = (
    t.lazy()
    .filter(col("distance") >= 500)
    .join(vo.Table(airports[["iata", "state", "latitude", "longitude"]]), left_on="origin", right_on="iata")
    .with_columns(hour=col("date").hour(), late=col("delay") > 15)
)
states = late.group_by("state").agg(vo.count(), col("delay").mean(), col("late").mean().alias("late")).sort("mean_delay", descending=True)
print(states.head(3).collect())

# The same in pandas, to see that it is the same.

# %%
both = flights[flights["distance"] >= 500].merge(airports, left_on="origin", right_on="iata")
want = both.groupby("state")["delay"].mean().sort_values(ascending=False)
got = states.collect()
assert got["state"].to_pylist() == want.index.tolist()
assert max(abs(a - b) for a, b in zip(got["mean_delay"].to_pylist(), want)) < 1e-9

# What is left goes to PyTorch as tensors of the same memory: nothing is copied, and nothing may be written to.

# %%
table = late.select("distance", "hour", "latitude", "longitude", "delay").collect()
column = table["delay"]  # the chunks of the table, put together
delay = column.to_torch()
assert delay.data_ptr() == column.to_numpy().ctypes.data
print(delay.shape, delay.dtype, float(delay.double().mean()))

# A least-squares fit of the delay to distance, hour and position, by PyTorch.

# %%
terms = [table[name].to_torch().double() for name in ("distance", "hour", "latitude", "longitude")]
x = torch.stack([torch.ones(len(delay), dtype=torch.float64), *terms], dim=1)
fit = torch.linalg.lstsq(x, delay.double()[:, None]).solution[:, 0]
print("minutes of delay: {:.1f}, a thousand miles {:+.2f}, an hour {:+.2f}".format(float(fit[0]), 1000 * float(fit[1]), float(fit[2])))
