"""The page of the score's curve: for the owner alone; where there is none it says why."""

import re

from tests.web.conftest import Web
from tests.web.test_owner import review, truth


def test_the_owner_sees_the_curve_and_a_reviewer_does_not(web: Web) -> None:
    review(web.campaign, "ann", truth)
    owner = web.client("owner")
    page = owner.get("/owner/curve")
    assert page.status_code == 200
    assert web.client("reviewer").get("/owner/curve").status_code == 403
    assert web.client().get("/owner/curve").status_code == 401
    assert "/owner/curve" in owner.get("/owner").text
    assert "data-curve=" in page.text or "There is no curve to show" in page.text
    assert not re.search(r"<[^>]+\sstyle=", page.text)  # the page's policy forbids it
