"""Every family's tiny configuration validates green, from config.json alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.core.validation_events import CheckStatus, VerdictStatus
from tests.families.cases import CASES
from tests.family_models import FamilyCase, write_folder
from tests.validation_tools import SMOKE, different, red, report_on, statuses

# Their code lies in their repositories, which is not executed; transformers has no class.
WITHOUT_REFERENCE = ("internlm2", "internlm2 dynamic")
_ROWS = {"recognised", "reference", "differences_model", "rope_tables", *SMOKE}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_family_is_green(case: FamilyCase, tmp_path: Path) -> None:
    folder = write_folder(case, tmp_path / "folder")
    (tmp_path / "only").mkdir()
    config = (folder / "config.json").read_bytes()
    (tmp_path / "only" / "config.json").write_bytes(config)
    report = report_on(tmp_path / "only")
    failures = {check.name: check.detail for check in report.failed}
    assert failures == {}
    assert report.verdict.status is VerdictStatus.CONVERT
    assert different(report) == set()
    ran = {name for name in _ROWS if statuses(report)[name] is CheckStatus.PASS}
    assert ran == ({"recognised"} if case.name in WITHOUT_REFERENCE else _ROWS)
    assert red(report) == set()
