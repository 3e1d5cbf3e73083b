// What the theme leaves out, on every page.
// Pages that are read from a folder may not fetch each other, so the search shows titles there, without excerpts.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
// The theme lets the keyboard reach code that scrolls, but looks for it only after a change of the window's size.
document.addEventListener("toggle", () => window.dispatchEvent(new Event("resize")), true);

// Whatever goes on beyond the edge of its box fades out there, so that nobody takes it for whole.
const WIDE = "span.math, mjx-container[display=true], pre, .text_html, .book-table, .claims-map, .scroll, .pst-scrollable-table-container";

function hidden(box) {
  const left = box.scrollLeft > 1;
  const right = box.scrollLeft + box.clientWidth < box.scrollWidth - 1;
  return [left && "left", right && "right"].filter(Boolean).join(" ");
}

function fade(boxes) {
  // All are measured before any is changed: after a change the next measurement would lay out the whole page anew.
  for (const [box, sides] of boxes.map((box) => [box, hidden(box)])) {
    if ((box.dataset.goesOn ?? "") !== sides) box.dataset.goesOn = sides;
  }
}

document.addEventListener("DOMContentLoaded", async () => {
  const watch = new ResizeObserver((entries) => fade(entries.map((entry) => entry.target)));
  await window.MathJax?.startup?.promise; // until then formulas have no width
  for (const box of document.querySelectorAll(`article :is(${WIDE})`)) {
    watch.observe(box); // it is told at once, and whenever a fold opens
    box.addEventListener("scroll", () => fade([box]), { passive: true });
  }
});
