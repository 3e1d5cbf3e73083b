// Tables with data-filters: choose rows by some columns or by a word, sort by any column.
// Without a script the table is whole, in the book's order.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  for (const box of document.querySelectorAll(".book-table[data-filters]")) choosable(box);
});

function choosable(box) {
  const heads = [...box.querySelectorAll("thead th")];
  const rows = [...box.querySelectorAll("tbody tr")];
  const names = heads.map((head) => head.textContent);
  const text = (row, column) => row.cells[column].textContent;
  // "proved; exact, 24 cases" is of the kinds "proved" and "exact"
  const kinds = (row, column) => text(row, column).split(",")[0].split("; ");

  const bar = document.createElement("p");
  bar.className = "table-filters";
  const choices = box.dataset.filters.split("|").map((name) => {
    const column = names.indexOf(name);
    const list = document.createElement("select");
    list.append(new Option("all", ""));
    for (const value of new Set(rows.flatMap((row) => kinds(row, column)))) list.append(new Option(value));
    bar.append(labelled(name, list));
    return { list, fits: (row) => !list.value || kinds(row, column).includes(list.value) };
  });
  const word = document.createElement("input");
  word.type = "search";
  bar.append(labelled("word", word));
  choices.push({ list: word, fits: (row) => row.textContent.toLowerCase().includes(word.value.toLowerCase()) });
  const count = document.createElement("output");
  bar.append(count);
  box.before(bar);

  const choose = () => {
    for (const row of rows) row.hidden = !choices.every(({ fits }) => fits(row));
    count.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} rows`;
  };
  bar.addEventListener("input", choose);
  choose();

  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const order = (one, other) => compared(text(one, column), text(other, column)) * (down ? -1 : 1);
      rows[0].parentElement.append(...rows.sort(order));
    });
  });
}

function labelled(name, control) {
  const label = document.createElement("label");
  label.append(`${name} `, control);
  return label;
}

// Numbers by their size, and before words; words by the alphabet.
function compared(one, other) {
  const [x, y] = [parseFloat(one), parseFloat(other)];
  if (!Number.isNaN(x) && !Number.isNaN(y) && x !== y) return x - y;
  if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1;
  return one.localeCompare(other, "en");
}
