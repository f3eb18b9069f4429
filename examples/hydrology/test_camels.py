"""The reader of CAMELS' layout on a made sample."""

import datetime
from pathlib import Path

import camels
import generate
import pytest

FORCING = """  44.50
 250.25
2303550000
Year Mnth Day Hr\tdayl(s)\tprcp(mm/day)\tsrad(W/m2)\tswe(mm)\ttmax(C)\ttmin(C)\tvp(Pa)
1980 01 01 12\t30172.51\t0.00\t153.40\t0.00\t-6.54\t-16.30\t171.69
1980 01 02 12\t30253.10\t2.50\t145.27\t1.00\t-6.18\t-15.22\t185.94
"""
FLOW = "01013500 1980 01 01   655.00 A\n01013500 1980 01 02  -999.00 M\n01013500 1980 01 03   630.00 A\n"


def sample(folder: Path, forcing: str = FORCING, flow: str = FLOW) -> Path:
    for path, text in (("basin_mean_forcing/daymet/01/01013500_lump_cida_forcing_leap.txt", forcing), ("usgs_streamflow/01/01013500_streamflow_qc.txt", flow)):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def test_published_layout(tmp_path: Path) -> None:
    (b,) = camels.read(sample(tmp_path))
    assert (b.gauge, b.region, b.latitude, b.elevation, b.area) == ("01013500", "01", 44.5, 250.25, 2303550000)
    assert b.days == [datetime.date(1980, 1, 1), datetime.date(1980, 1, 2)]
    assert list(b.forcings) == camels.FORCINGS and b.forcings["prcp(mm/day)"] == [0, 2.5]
    assert b.flow[0] == pytest.approx(655 * 0.028316846592 * 86400 / 2303550000 * 1000) and b.flow[1] is None


def test_what_is_written_is_read(tmp_path: Path) -> None:
    made = [generate.basin(i, 40, 3) for i in range(3)]
    camels.write(tmp_path, made)
    for wrote, b in zip(made, camels.read(tmp_path), strict=True):
        assert (b.gauge, b.days) == (wrote.gauge, wrote.days)
        for got, want in zip(b.flow, wrote.flow, strict=True):
            assert (got is None) == (want is None) and (got is None or got == pytest.approx(want, abs=1e-2))
        assert b.forcings["tmin(C)"] == pytest.approx(wrote.forcings["tmin(C)"], abs=1e-3)


def test_errors_name_file_and_line(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="basin_mean_forcing"):
        camels.read(tmp_path)
    for forcing, flow, want in (
        (FORCING.replace("-6.18\t", ""), FLOW, r"leap.txt, line 6: 10 fields, not 11"), (FORCING.replace("01 02 12", "02 31 12"), FLOW, "line 6: day is out of range"),
        (FORCING.replace("Year", "Date"), FLOW, "line 4"), (FORCING.replace("44.50", "north"), FLOW, "line 1"), (FORCING, "01013500 1980 01\n", "qc.txt, line 1"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=want):
            camels.read(sample(tmp_path, forcing, flow))
