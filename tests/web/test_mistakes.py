"""The page of the classifier's mistakes: for the owner alone, with filters and files."""

from tests.web.conftest import Web
from tests.web.test_owner import review, truth


def test_the_owner_sees_mistakes_and_a_reviewer_does_not(web: Web) -> None:
    review(web.campaign, "ann", truth)
    owner, found = web.client("owner"), web.campaign.mistakes()
    page = owner.get("/owner/mistakes")
    assert page.status_code == 200 and found.headline in page.text
    for path in ("/owner/mistakes", "/owner/mistakes/export"):
        assert web.client("reviewer").get(path).status_code == 403
        assert web.client().get(path).status_code == 401
    for kind in ("fp", "fn"):
        text = owner.get(f"/owner/mistakes?kind={kind}").text
        assert web.campaign.mistakes(kind=kind).headline in text
    csv = owner.get("/owner/mistakes/export?kind=fp")
    assert len(csv.text.splitlines()) == 1 + len(web.campaign.mistakes(kind="fp"))
    assert csv.headers["content-disposition"] == 'attachment; filename="spam-mistakes.csv"'


def test_what_cannot_be_asked_for_is_refused(web: Web) -> None:
    owner = web.client("owner")
    for query in ("kind=tp", "classifier=nobody", "slice=secret%3D1", "slice=x"):
        assert owner.get(f"/owner/mistakes?{query}").status_code == 422
    assert owner.get("/owner/mistakes/export?format=xls").status_code == 422
    assert "/owner/mistakes" in owner.get("/owner").text
