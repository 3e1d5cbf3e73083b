// The explorer, part 4 of 5: all numbers, as tables.
"use strict";
const Numbers = (() => {
  const { number, probability, become, tauOf, SLOTS } = Pictures;
  const SETS = [0, 1], SET_WORDS = ["D<sub>0</sub>", "D<sub>1</sub>"];
  const lnRoot = (data) => Math.log(Exact.lnWhole(data.n)) / 2; // log of √log n

  // Groups of rows, each [name, words, the number that a law has]

  const ENTRIES = {
    first: "first entry", own: "class of the marked token", other: "each other class", last: "last entry",
  };

  function rowOfAttention(row, j) {
    return [
      [`weight-${row}`, "weight of the mark", (law) => probability(law.weights[j])],
      [`rest-${row}`, "weight of all others", (law) => probability(Exact.not(law.weights[j]))],
      ...Object.entries(ENTRIES).map(([entry, words]) =>
        [`${entry}-${row}`, words, (law, data) => number(law.entries[j][entry] + lnRoot(data))]),
    ];
  }

  const GROUPS = {
    "the network": [
      ["fires", "fires", (law) => probability(law.fires)],
      ["silent", "stays silent", (law) => probability(Exact.not(law.fires))],
    ],
    "one random column exceeds the threshold in some row": [
      ["pi", "π", (law) => probability(law.pi)],
      ["not-pi", "1 − π", (law) => probability(Exact.not(law.pi))],
    ],
    "marked token's row": rowOfAttention("marked", 0),
    "every other row": rowOfAttention("other", 1),
    "place on the golden-ratio curve": [
      ["x", "ξ = log(R/n)", (law) => (Number.isFinite(law.x) ? law.x.toPrecision(10) : "∞")],
    ],
  };

  const plusWords = (least, N) => (least > N ? "never" : least ? `${least} or more` : "always");
  const PATTERN = {
    least: ["plus signs", ({ least }, N) => plusWords(least, N)],
    above: ["fires", ({ above }) => probability(above)],
    tied: ["ties", ({ tied }) => probability(tied)],
  };

  // The tables, empty

  const heading = (scope, words, more = "") => `<th scope="${scope}" ${more}>${words}</th>`;
  const ofThird = (slot) => (slot === "third" ? 'class="third"' : "");
  const cell = (name, slot) => `<td data-is="number/${name}" ${ofThird(slot)}></td>`;
  const everySet = (make) => SLOTS.flatMap((slot) => SETS.map((i) => make(slot, i))).join("");

  function mainTable() {
    const kernels = SLOTS.map((slot) =>
      heading("colgroup", "", `colspan="2" data-is="number/head-${slot}" ${ofThird(slot)}`));
    const row = ([name, words]) =>
      `<tr>${heading("row", words)}${everySet((slot, i) => cell(`${name}-${slot}-${i}`, slot))}</tr>`;
    const groups = Object.entries(GROUPS).map(([title, rows]) =>
      `<tbody><tr>${heading("rowgroup", title, 'colspan="7"')}</tr>${rows.map(row).join("")}</tbody>`);
    return `<caption>Exact numbers, rounded to ten digits</caption>
      <thead><tr><td></td>${kernels.join("")}</tr>
      <tr><td></td>${everySet((slot, i) => heading("col", SET_WORDS[i], ofThird(slot)))}</tr></thead>
      ${groups.join("")}`;
  }

  function patternTable(slot) {
    const columns = Object.values(PATTERN).map(([words]) => heading("col", words)).join("");
    const rows = Model.PATTERNS.map((signs, j) => {
      const words = signs.map((sign) => (sign > 0 ? "+" : "−")).join(" ");
      const cells = SETS.flatMap((i) => Object.keys(PATTERN).map((kind) => cell(`${kind}-${slot}-${i}-${j}`)));
      return `<tr>${heading("row", words)}${cells.join("")}</tr>`;
    });
    return `<caption><span data-is="number/caption-${slot}"></span>: plus signs needed among the other classes, and the
      probabilities of that and of a tie</caption>
      <thead><tr><td rowspan="2">mark, class, constant</td>
      ${SET_WORDS.map((words) => heading("colgroup", words, 'colspan="3"')).join("")}</tr>
      <tr>${columns}${columns}</tr></thead><tbody>${rows.join("")}</tbody>`;
  }

  function make(place) {
    const tables = [["Numbers of all kernels", "", mainTable()]];
    for (const slot of SLOTS) tables.push([`Patterns of signs, ${slot}`, slot, patternTable(slot)]);
    for (const [words, slot, table] of tables) {
      place.insertAdjacentHTML("beforeend",
        `<div class="scroll ${slot}" role="region" aria-label="${words}" tabindex="0"><table>${table}</table></div>`);
    }
  }

  // What stands in them

  function show({ data, kernels }, write) {
    const N = Number(data.d) - 3;
    kernels.forEach(({ words, laws }, k) => {
      write(`number/head-${SLOTS[k]}`, words);
      write(`number/caption-${SLOTS[k]}`, words);
      laws.forEach((law, i) => {
        const place = `${SLOTS[k]}-${i}`;
        for (const [name, , value] of Object.values(GROUPS).flat()) write(`number/${name}-${place}`, value(law, data));
        law.patterns.forEach((pattern, j) => {
          for (const [kind, [, value]] of Object.entries(PATTERN)) {
            write(`number/${kind}-${place}-${j}`, value(pattern, N));
          }
        });
      });
    });
    write("number/tau", (tauOf(data) * Math.exp(lnRoot(data))).toPrecision(10));
    write("number/threshold", strengthWords(data.kernel));
  }

  // From which strength on softmax of another temperature sees the mark, however many tokens there are
  function strengthWords(kernel) {
    if (kernel?.[0] !== "softmax") return "";
    const beta = Exact.ratio(kernel[1]), root = 2 / (beta + Math.sqrt(beta) * Math.sqrt(beta + 4));
    if (!beta) return "With β = 0 all weights are equal, and no strength is enough.";
    return `With β = ${beta} this strength is ${root.toPrecision(10)}.`;
  }

  return { make, show };
})();
