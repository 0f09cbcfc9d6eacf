// The curve of a score: moves the threshold and tells the metrics there. Without script the table
// of a dozen thresholds says the same.
for (const box of document.querySelectorAll("[data-curve]")) {
  const { names, rows } = JSON.parse(box.dataset.curve);
  const slider = box.querySelector("input[type=range]");
  const mark = box.querySelector("svg .mark");
  const at = box.querySelector(".curve-at");
  const cells = new Map(names.map((name) => [name, box.querySelector(`[data-metric="${name}"]`)]));

  const show = () => {
    const [threshold, share, x, ...values] = rows[slider.valueAsNumber];
    mark?.setAttribute("transform", `translate(${x} 0)`);
    at.textContent = `Threshold ${threshold}: yes to ${share} of the items`;
    const texts = names.map((name, place) => {
      const [value, interval, band] = values[place];
      const row = cells.get(name).querySelectorAll("td");
      row[0].textContent = value;
      row[1].textContent = interval;
      row[2].textContent = band;
      return `${cells.get(name).dataset.word} ${value}, ${interval}`;
    });
    slider.setAttribute("aria-valuetext", `${threshold}: ${texts.join("; ")}`);
  };

  slider.addEventListener("input", show);
  box.querySelector(".curve-move").hidden = false;
  show();
}
