"""Metrics by threshold in a browser: the threshold moves by keyboard and by touch."""

from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, expect

import assay
from assay.cli.curve import curve_file
from assay.core.types import Bools
from tests.browser.house import DESKTOP, PHONE, Enter, House, OpenHouse


def made(tmp_path: Path) -> tuple[Path, Bools]:
    rng = np.random.default_rng(5)
    score = rng.beta(0.6, 0.8, 4000)
    file = tmp_path / "p.csv"
    file.write_text("p\n" + "\n".join(map(repr, score.tolist())) + "\n")
    return file, rng.random(4000) < score


def judged(house: House, truth: Bools) -> None:
    campaign = house.campaign()
    while not campaign.done:
        campaign.tell({item.id: bool(truth[int(item.id)]) for item in campaign.ask(100)})


def test_the_threshold_moves_by_keyboard_and_touch(
    enter: Enter, open_house: OpenHouse, tmp_path: Path
) -> None:
    file, truth = made(tmp_path)
    house = open_house(
        predictions=file, score="p", threshold=0.5, metric="accuracy", budget=200, id=None, show=()
    )
    judged(house, truth)
    page = enter(house, "olga", role="owner").open("/owner/curve")
    slider = page.get_by_role("slider", name="Move the threshold")
    slider.focus()
    at, recall = page.locator(".curve-at"), page.locator('[data-metric="recall"] td')
    before = float(recall.first.inner_text())
    for _ in range(20):
        page.keyboard.press("ArrowRight")
    assert float(recall.first.inner_text()) < before
    page.keyboard.press("Home")
    expect(at).to_contain_text("yes to 100.0%")
    expect(recall.first).to_have_text("1.000")
    assert "recall 1.000" in (slider.get_attribute("aria-valuetext") or "")
    page.keyboard.press("End")
    expect(at).to_contain_text("yes to 0.0%")
    phone = enter(house, "otto", role="owner", viewport=PHONE, touch=True).open("/owner/curve")
    box = phone.get_by_role("slider").bounding_box()
    assert box is not None and box["height"] >= 44
    phone.touchscreen.tap(box["x"] + 10, box["y"] + box["height"] / 2)
    expect(phone.locator('[data-metric="recall"] td').first).to_have_text("1.000")
    assert phone.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for each in (page, phone):
        assert each.evaluate(_MISPLACED) == []


# The slider is as long as the picture's axis, no letter of the picture is cut off, and what is
# known at the threshold needs no scrolling.
_MISPLACED = """() => {
  const svg = document.querySelector(".curve-picture"), around = svg.getBoundingClientRect();
  const slider = document.querySelector("input[type=range]").getBoundingClientRect();
  const scale = around.width / 760, found = [];
  if (Math.abs(slider.left - around.left - 52 * scale) > 6) found.push("slider begins elsewhere");
  if (Math.abs(around.right - 20 * scale - slider.right) > 6) found.push("slider ends elsewhere");
  for (const text of svg.querySelectorAll("text")) {
    const box = text.getBoundingClientRect();
    const inside = box.left >= around.left - 1 && box.right <= around.right + 1;
    if (!inside) found.push(text.textContent);
  }
  const table = document.querySelector(".curve table").parentElement;
  if (table.scrollWidth > table.clientWidth) found.push("the table is cut off");
  return found;
}"""


def test_the_saved_page_moves_without_a_server(chromium: Browser, tmp_path: Path) -> None:
    file, truth = made(tmp_path)
    campaign = assay.create_campaign(file, score="p", threshold=0.5, metric="f1", budget=150)
    while not campaign.done:
        campaign.tell({item.id: bool(truth[int(item.id)]) for item in campaign.ask(50)})
    saved = tmp_path / "curve.html"
    saved.write_bytes(curve_file(campaign.curve(), "spam", "html"))
    page = chromium.new_page()
    page.goto(saved.as_uri())
    slider = page.get_by_role("slider")
    slider.focus()
    page.keyboard.press("Home")
    expect(page.locator('[data-metric="recall"] td').first).to_have_text("1.000")
    for size in (DESKTOP, PHONE):
        page.set_viewport_size(size)
        assert page.evaluate(_MISPLACED) == []
    page.close()
