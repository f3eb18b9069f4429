"""Makes basins with weather and streamflow, since CAMELS itself cannot be passed on.

Weather: temperature is a sine of the year, colder with latitude and height, with noise that lasts some days (an AR(1) of 0.8); rain falls on days that a
two-state Markov chain calls wet (0.25 after a dry day, 0.6 after a wet one), as much as an exponential distribution says. Streamflow: precipitation below
0 °C lies as snow, of which 3 mm a day and degree melt; water comes into a soil of 150 mm that evaporates by temperature and how full it is; what the
soil cannot hold, and a share of what is in it, goes into two reservoirs that empty by a third and by 3 % a day. One day of a hundred is not observed.
"""

from __future__ import annotations

import datetime
import math
import random

from camels import FORCINGS, Basin


def basin(number: int, days: int, seed: int) -> Basin:
    """A basin of so many days from 1990-10-01 on; the same for the same number and seed."""
    r = random.Random(f"{seed} {number}")
    latitude, elevation, area = r.uniform(30, 48), r.uniform(50, 2500), r.uniform(2e7, 2e9)
    wetness = r.uniform(4, 14)  # mm of a wet day
    forcings: dict[str, list[float]] = {name: [] for name in FORCINGS}
    flow: list[float | None] = []
    first = datetime.date(1990, 10, 1)
    dates = [first + datetime.timedelta(d) for d in range(days)]
    noise, wet, snow, soil, quick, slow = 0.0, False, 0.0, 75.0, 0.0, 20.0
    for d in dates:
        angle = 2 * math.pi * (d.timetuple().tm_yday - 110) / 365.25
        noise = 0.8 * noise + r.gauss(0, 2)
        mean = 26 - 0.5 * (latitude - 30) - 0.005 * elevation + 11 * math.sin(angle) + noise
        wet = r.random() < (0.6 if wet else 0.25)
        rain = r.expovariate(1 / wetness) if wet else 0.0
        if mean < 0:
            snow, water = snow + rain, 0.0
        else:
            melt = min(snow, 3 * mean)
            snow, water = snow - melt, rain + melt
        soil += water
        soil -= min(soil, max(0.0, 0.2 * mean) * soil / 150)
        over, seep = max(0.0, soil - 150), 0.02 * soil
        soil -= over + seep
        quick, slow = quick + over + 0.3 * seep, slow + 0.7 * seep
        out = quick / 3 + 0.03 * slow
        quick, slow = quick * 2 / 3, slow * 0.97
        flow.append(None if r.random() < 0.01 else out)
        light = 43200 + 10000 * math.sin(angle) * math.sin(math.radians(latitude))
        of_day = [light, rain, 180 + 120 * math.sin(angle) - 3 * rain, snow, mean + 5, mean - 5, 611 * math.exp(0.06 * max(mean - 5, -40))]
        for name, value in zip(FORCINGS, of_day):
            forcings[name].append(value)
    return Basin(f"{1000000 + number:08}", f"{1 + number % 18:02}", latitude, elevation, area, dates, forcings, flow)
