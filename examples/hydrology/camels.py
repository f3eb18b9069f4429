"""Reads and writes the published layout of CAMELS (Newman et al. 2015; Addor et al. 2017), text files of one basin each:

    basin_mean_forcing/daymet/<region>/<gauge>_lump_cida_forcing_leap.txt   latitude, elevation and area in m² on three lines, names, then days
    usgs_streamflow/<region>/<gauge>_streamflow_qc.txt                      gauge, year, month, day, flow in cubic feet a second, flag

A flow below zero, such as -999, is missing. Region is two digits, gauge eight.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from pathlib import Path

FORCINGS = ["dayl(s)", "prcp(mm/day)", "srad(W/m2)", "swe(mm)", "tmax(C)", "tmin(C)", "vp(Pa)"]
CUBIC_FOOT = 0.028316846592  # m³
DAY = 86400  # seconds


@dataclass
class Basin:
    """A basin's days. flow is in mm a day over the basin, None where it is missing."""

    gauge: str
    region: str
    latitude: float
    elevation: float
    area: float  # m²
    days: list[datetime.date]
    forcings: dict[str, list[float]]
    flow: list[float | None]


def _fail(path: Path, line: int, what: str) -> ValueError:
    return ValueError(f"{path}, line {line}: {what}")


def read(folder: str | Path, product: str = "daymet") -> list[Basin]:
    """All basins of a folder, by gauge."""
    folder = Path(folder)
    files = sorted((folder / "basin_mean_forcing" / product).glob("*/*_forcing_leap.txt"), key=lambda f: f.name)
    if not files:
        raise FileNotFoundError(f"{folder} has no basin_mean_forcing/{product}/*/*_forcing_leap.txt")
    return [_basin(folder, f) for f in files]


def _basin(folder: Path, file: Path) -> Basin:
    gauge, region = file.name.split("_")[0], file.parent.name
    lines = file.read_text().splitlines()
    try:
        latitude, elevation, area = (float(line) for line in lines[:3])
    except ValueError:
        raise _fail(file, 1, "latitude, elevation and area are wanted on the first three lines") from None
    names = lines[3].split() if len(lines) > 3 else []
    if [n.lower() for n in names[:4]] != ["year", "mnth", "day", "hr"]:
        raise _fail(file, 4, f"names beginning with Year Mnth Day Hr are wanted, not {names[:4]}")
    days: list[datetime.date] = []
    columns: list[list[float]] = [[] for _ in names[4:]]
    for i, line in enumerate(lines[4:], 5):
        fields = line.split()
        if len(fields) != len(names):
            raise _fail(file, i, f"{len(fields)} fields, not {len(names)}")
        try:
            days.append(datetime.date(*(int(v) for v in fields[:3])))
            for column, v in zip(columns, fields[4:]):
                column.append(float(v))
        except ValueError as e:
            raise _fail(file, i, str(e)) from None
    flows = _flows(folder / "usgs_streamflow" / region / f"{gauge}_streamflow_qc.txt", area)
    return Basin(gauge, region, latitude, elevation, area, days, dict(zip(names[4:], columns)), [flows.get(d) for d in days])


def _flows(file: Path, area: float) -> dict[datetime.date, float]:
    made = {}
    for i, line in enumerate(file.read_text().splitlines(), 1):
        fields = line.split()
        try:
            day, flow = datetime.date(int(fields[1]), int(fields[2]), int(fields[3])), float(fields[4])
        except (ValueError, IndexError) as e:
            raise _fail(file, i, f"gauge, year, month, day and flow are wanted: {e}") from None
        if flow >= 0:
            made[day] = flow * CUBIC_FOOT * DAY / area * 1000
    return made


def write(folder: str | Path, basins: list[Basin], product: str = "daymet") -> None:
    """Writes basins in the layout that read reads."""
    for b in basins:
        forcing = Path(folder) / "basin_mean_forcing" / product / b.region / f"{b.gauge}_lump_cida_forcing_leap.txt"
        flow = Path(folder) / "usgs_streamflow" / b.region / f"{b.gauge}_streamflow_qc.txt"
        forcing.parent.mkdir(parents=True, exist_ok=True)
        flow.parent.mkdir(parents=True, exist_ok=True)
        names = list(b.forcings)
        lines = [f"{b.latitude:.2f}", f"{b.elevation:.2f}", f"{b.area:.0f}", "Year Mnth Day Hr\t" + "\t".join(names)]
        for i, d in enumerate(b.days):
            lines.append(f"{d.year} {d.month:02} {d.day:02} 12\t" + "\t".join(f"{b.forcings[n][i]:.4f}" for n in names))
        forcing.write_text("\n".join(lines) + "\n")
        rows = []
        for d, mm in zip(b.days, b.flow):
            value, flag = ("-999.00", "M") if mm is None else (f"{mm / 1000 * b.area / DAY / CUBIC_FOOT:.4f}", "A")
            rows.append(f"{b.gauge} {d.year} {d.month:02} {d.day:02} {value:>10} {flag}")
        flow.write_text("\n".join(rows) + "\n")
