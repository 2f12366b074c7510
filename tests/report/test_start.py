"""`show` and `report` load no library that they do not need: each takes up to a second."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from delaylab_study.charts import vega
from delaylab_study.charts.lazy import alt
from tests import synthetic
from tests.synthetic import Condition, constant

OF_NEITHER = (
    *("scipy", "statsmodels", "pandas", "yaml"),
    *("delaylab.spec.lab", "delaylab_study.study_file.combine", "delaylab.topology.formats"),
    *("delaylab.plan", "delaylab.routing", "delaylab.machines", "delaylab_study.verbs.study_file"),
)
"""Libraries and models that read files, which a dataset does not need."""
HEAVY = {
    "show": (*OF_NEITHER, "altair.vegalite", "vl_convert.vl_convert", "jinja2", "urllib.request"),
    "report": OF_NEITHER,
}
SCRIPT = """
import sys
from delaylab import cli
sys.argv = ["delaylab", sys.argv[1], sys.argv[2]]
try:
    cli.main()
finally:
    print(*sys.modules, file=sys.stderr)
"""


@pytest.mark.parametrize("verb", HEAVY)
def test_a_study_is_shown_without_heavy_libraries(tmp_path: Path, verb: str) -> None:
    """The claims compare medians and test them, which took scipy and statsmodels."""
    slow = {("request", "sender.uplink"): constant(5000)}
    conditions = [Condition("native"), Condition("native", "network", delays=slow, seed=1)]
    claims = ["network-adds-most", "kernel-closer-than-user", "sending-not-receiving"]
    place = synthetic.write(tmp_path, conditions, claims)
    words = [sys.executable, "-c", SCRIPT, verb, str(place)]
    ran = subprocess.run(words, capture_output=True, text=True, check=True)
    loaded = set(ran.stderr.split())
    assert "polars" in loaded
    assert [name for name in HEAVY[verb] if name in loaded] == []


def test_a_chart_has_its_data_however_often_it_is_rendered() -> None:
    base = alt.Chart(vega.inline([{"a": 1, "b": "first"}, {"a": 2, "b": "second"}]))
    for mark in (base.mark_bar(), base.mark_line(point=True)):
        for _ in range(2):
            chart = vega.render("n", "t", "c", mark.encode(x="a:Q", y="b:N"))
            assert ">first<" in chart.svg
            assert ">second<" in chart.svg


def test_a_chart_keeps_its_rows_however_many_others_are_made() -> None:
    base = alt.Chart(vega.inline([{"a": 1, "b": "first"}])).mark_bar().encode(x="a:Q", y="b:N")
    for _ in range(2000):
        vega.inline([])
    assert ">first<" in vega.render("n", "t", "c", base + base.mark_point()).svg
