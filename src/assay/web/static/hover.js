// A picture says what its nearest point is where a pointer or a finger is. Its table says the same.

function tell(event) {
  const picture = event.target.closest?.(".picture[data-points]");
  for (const mark of document.querySelectorAll(".hover")) if (mark.parentElement !== picture) mark.remove();
  const square = picture?.querySelector("svg").getBoundingClientRect();
  const points = picture ? JSON.parse(picture.dataset.points) : [];
  if (points.length === 0 || event.clientX < square.left - 8 || event.clientX > square.right + 8) return;
  const at = (1000 * (event.clientX - square.left)) / square.width;
  const far = ([x]) => Math.abs(x - at);
  const [x, words] = points.reduce((best, point) => (far(point) < far(best) ? point : best));
  const mark = picture.querySelector(".hover") ?? picture.appendChild(document.createElement("p"));
  mark.className = "hover number";
  mark.textContent = words;
  mark.classList.toggle("hover-left", x > 500);
  const box = picture.getBoundingClientRect();
  mark.style.left = `${square.left - box.left + (x * square.width) / 1000}px`;
  mark.style.height = `${square.bottom - box.top}px`;
}

document.addEventListener("pointermove", tell);
document.addEventListener("pointerdown", tell);
