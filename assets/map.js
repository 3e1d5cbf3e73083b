// The map of claims: the mark that is pointed at, or has the focus, shows its name and its lines, both ways.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  for (const box of document.querySelectorAll(".claims-map")) named(box);
});

function named(box) {
  const drawing = box.querySelector("svg");
  const label = document.createElementNS(drawing.namespaceURI, "text");
  label.classList.add("name");
  label.setAttribute("aria-hidden", "true"); // a screen reader has the mark's own title
  drawing.append(label);
  let shown = null;

  const show = (mark) => {
    for (const line of drawing.querySelectorAll("path.near")) line.classList.remove("near");
    label.textContent = "";
    shown = mark;
    if (!mark) return;
    const id = mark.dataset.id;
    for (const line of drawing.querySelectorAll(`path[data-from="${id}"], path[data-to="${id}"]`)) line.classList.add("near");
    label.textContent = id;
    const spot = mark.querySelector("circle.near");
    const [x, y, width] = [+spot.getAttribute("cx"), +spot.getAttribute("cy"), drawing.viewBox.baseVal.width];
    label.setAttribute("x", Math.min(x, width - label.getComputedTextLength() - 4));
    label.setAttribute("y", y - 12);
  };
  const markOf = (event) => event.target.closest("a[data-id]");
  // A finger does not point before it presses: its first touch shows the name, the second one follows the link.
  drawing.addEventListener("pointerover", (event) => {
    if (event.pointerType !== "touch" && markOf(event)) show(markOf(event));
  });
  drawing.addEventListener("focusin", (event) => show(markOf(event)));
  drawing.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "touch" && markOf(event)) drawing.dataset.touched = String(shown === markOf(event));
  });
  drawing.addEventListener("click", (event) => {
    if (drawing.dataset.touched === "false" && markOf(event)) {
      event.preventDefault();
      show(markOf(event));
    }
    delete drawing.dataset.touched;
  });
  drawing.addEventListener("pointercancel", () => delete drawing.dataset.touched); // it became a scroll: no click follows
}
