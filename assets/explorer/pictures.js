// The explorer, part 3 of 5: from values to pictures.
//
// A picture is a function of its width, the values of one kernel and those of all; it returns its height, its shapes
// and a sentence for those who do not see it.  Any element with data-live="crowd", "bells", "network" or "firing"
// becomes that picture, once for each kernel; outside of the explorer its parameters stand in data-n, data-a1 and so
// on.  Every shape says its name in data-is and its number in data-value: web/test_explorer.py compares both the number
// and the place of the shape with the library.
"use strict";
const Pictures = (() => {
  const { PATTERNS, decades, farthest, columnFires } = Model;
  const LN10 = Math.LN10, SVG = "http://www.w3.org/2000/svg";
  const SETS = [1, 0]; // D_1 stands above D_0
  const SET_NAMES = ["D₀", "D₁"], LINES = ["weak", "strong"]; // see book.css: weak is dashed, strong solid

  // Numbers as texts, from their logarithms

  function number(lnValue) {
    if (lnValue === -Infinity) return "0";
    return lnValue < -690 ? `10^${(lnValue / LN10).toPrecision(10)}` : Math.exp(lnValue).toPrecision(10);
  }

  const probability = (p) => (p.not === -Infinity ? "1" : number(p.ln));
  const ten = (x) => x.toPrecision(10);

  function raised(exponent) {
    return String(exponent).replace(/./g, (digit) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(digit)]);
  }

  // A number as one says it, with few digits: 0.0035, 600 000, 2·10⁻⁸
  function brief(lnValue, digits = 3) {
    if (lnValue === -Infinity) return "0";
    if (lnValue > Math.log(1e-4) && lnValue < Math.log(1e7)) {
      const text = String(Number(Math.exp(lnValue).toPrecision(digits)));
      return text.includes(".") ? text : text.replace(/\B(?=(\d{3})+$)/g, "\u202f");
    }
    const exponent = Math.floor(lnValue / LN10);
    const [mantissa, carry] = Math.exp(lnValue - LN10 * exponent).toExponential(digits - 1).split("e");
    return `${Number(mantissa) === 1 ? "" : `${Number(mantissa)}·`}10${raised(exponent + Number(carry))}`;
  }

  // A probability; close to 1 it is what it leaves that tells.
  const chance = (p) => (p.not > -7 || p.not === -Infinity ? brief(p.ln) : `1 − ${brief(p.not)}`);

  function shareWords(p) {
    if (p.ln === -Infinity) return "nothing";
    if (p.not === -Infinity) return "all";
    if (p.not < Math.log(0.01)) return `all but 1 in ${brief(-p.not, 2)}`;
    return p.ln > Math.log(0.1) ? `${brief(p.ln + Math.log(100), 2)} %` : `1 in ${brief(-p.ln, 2)}`;
  }

  const lengthWords = (n) => brief(Exact.lnWhole(n), n < 10n ** 7n ? 8 : 3);

  // Shapes: [name, tag, attributes, text].  Places are in pixels, with two digits after the point.

  const px = (x) => Number(x.toFixed(2));
  const valued = (value) => (value === undefined ? {} : { "data-value": value });

  function label(name, x, y, kind, words) {
    return [name, "text", { x: px(x), y: px(y), class: kind }, words];
  }

  function box(name, x, y, width, height, kind, value) {
    return [name, "rect", { x: px(x), y: px(y), width: px(width), height, class: kind, ...valued(value) }];
  }

  function path(name, d, kind, value, more = {}) {
    return [name, "path", { d, class: kind, ...valued(value), ...more }];
  }

  function dot(name, x, y, r, kind, value) {
    return [name, "circle", { cx: px(x), cy: px(y), r, class: kind, ...valued(value) }];
  }

  const line = (points) => points.map(([x, y], k) => `${k ? "L" : "M"}${px(x)} ${px(y)}`).join("");

  // How loud is the mark?  A row's weight is a bar: the mark's share in the mark's colour, the crowd's in grey.

  function crowd(width, { words, laws }) {
    const left = 26, whole = width - left;
    const shapes = SETS.flatMap((i) => {
      const [p] = laws[i].weights, share = whole * Math.exp(p.ln), y = i ? 20 : 42, inside = share > whole / 2;
      return [
        label(`set-${i}`, 0, y + 13, "set", SET_NAMES[i]),
        box(`crowd-${i}`, left, y, whole, 18, "crowd"),
        box(`share-${i}`, left, y, share, 18, `mark ${LINES[i]}`, probability(p)),
        label(`words-${i}`, left + 8 + (inside ? 0 : share), y + 13, inside ? "on" : "beside", shareWords(p)),
      ];
    });
    const [weak, strong] = laws.map(({ weights: [p] }) => shareWords(p));
    const says = `${words}: the weight of the mark in its own row is ${strong} on D₁ and ${weak} on D₀.`;
    return { height: 62, shapes, says };
  }

  // Which patterns of signs fire?  The bell of a pattern is the law of one column's sum in the row that decides; what
  // lies beyond the threshold is the probability that this pattern fires.

  const TOP = 30, ROW = 20, RISE = 15, BOTTOM = TOP + 8 * ROW;
  const baseOf = (j) => TOP + ROW * (j + 1) - 1;

  const tauOf = (data) => Exact.ratio(Exact.add(data.c, data.gap));

  // From sums, in units of √log n, to pixels.  They lie within ±(a + b + c), and b + c = 1.
  function sumScale(width, data) {
    const reach = 1.05 * (1 + Math.max(...[data.a0, data.a1].map(Exact.ratio)));
    const left = 40, right = width - 6, unit = (right - left) / (2 * reach);
    const at = (sum) => left + unit * (sum + reach), sumAt = (x) => (x - left) / unit - reach;
    return { reach, left, right, at, sumAt, border: Math.min(right, at(tauOf(data))) };
  }

  // [how many half steps from the centre, height against the highest] for all sums that are not much too rare
  let lastBell = { N: -1 };
  function bellOf(N) {
    if (lastBell.N === N) return lastBell.points;
    const middle = Math.floor(N / 2), stride = Math.max(1, Math.round(Math.sqrt(N) / 8)), heights = new Map();
    for (let plus = middle, height = 1; plus <= N && height > 0.004; plus++) {
      heights.set(plus, height);
      height *= (N - plus) / (plus + 1);
    }
    for (let plus = middle, height = 1; plus >= 0 && height > 0.004; plus--) {
      heights.set(plus, height);
      height *= plus / (N - plus + 1);
    }
    const kept = [...heights].filter(([plus]) => (plus - middle) % stride === 0).sort(([one], [other]) => one - other);
    lastBell = { N, points: kept.map(([plus, height]) => [2 * plus - N, height]) };
    return lastBell.points;
  }

  // Of few signs every sum is a needle, of many the needles make a bell.
  function bellPath({ centre, step }, N, at, base) {
    const points = bellOf(N).map(([halves, height]) => [at(centre + step * halves), base - RISE * height]);
    if (N <= 40) return points.map(([x, y]) => `M${px(x)} ${base}V${px(y)}`).join("");
    return line([[points[0][0], base], ...points, [points.at(-1)[0], base]]);
  }

  function tickStep(reach) {
    const power = 10 ** Math.floor(Math.log10(reach / 1.2)), digit = reach / 1.2 / power;
    return power * (digit >= 5 ? 5 : digit >= 2 ? 2 : 1);
  }

  function bells(width, { words, laws }, { data, drawn }) {
    const N = Number(data.d) - 3, tau = tauOf(data), { reach, left, right, at, border } = sumScale(width, data);
    const step = tickStep(reach), most = Math.floor(reach / step), tauWords = brief(Math.log(tau));
    const frame = PATTERNS.flatMap((signs, j) => [
      path(`base-${j}`, `M${left} ${baseOf(j)}H${right}`, "axis"),
      ...signs.map((sign, k) =>
        label(`sign-${j}-${k}`, 5 + 11 * k, baseOf(j), k ? "sign" : "sign of-mark", sign > 0 ? "+" : "−")),
    ]);
    const allBells = SETS.flatMap((i) => laws[i].patterns.map((pattern, j) =>
      path(`bell-${i}-${j}`, bellPath(pattern, N, at, baseOf(j)), `bell ${LINES[i]}`, ten(pattern.centre), {
        "data-step": ten(pattern.step), "data-row": ["marked", "other"][pattern.row],
      })));
    const pushes = laws[1].patterns.map(({ centre, push }, j) =>
      path(`push-${j}`, `M${px(at(centre - push))} ${baseOf(j)}H${px(at(centre))}`, "push", ten(push)));
    const tickWords = (x) => String(Number(x.toPrecision(6))).replace("-", "−");
    const ticks = Array.from({ length: 2 * most + 1 }, (_, k) => k - most).map((k) =>
      label(`tick-${k}`, at(k * step), BOTTOM + 13, "tick", tickWords(k * step)));
    const threshold = [
      path("tau", `M${px(border)} ${TOP}V${BOTTOM}`, "bound", ten(tau)),
      label("tau-name", border, TOP - 4, "tick", "τ"),
      label("silent", border - 10, TOP - 4, "before", "silent"),
      label("fires", border + 10, TOP - 4, "after", border < right ? "fires" : ""),
      label("axis", (left + right) / 2, BOTTOM + 27, "tick", `sum / √log n, τ = ${tauWords}`),
    ];
    const columns = drawn.map((column, k) => {
      const { centre, step: half } = laws[1].patterns[column.pattern], sum = centre + half * (2 * column.plus - N);
      const kind = columnFires(laws[1], column) ? "column fires" : "column";
      return dot(`column-${k}`, at(sum), baseOf(column.pattern), 3, kind, ten(sum));
    });
    const veil = box("veil", left, TOP, border - left, BOTTOM - TOP, "veil");
    const beyond = laws[1].patterns.filter(({ above }) => above.ln > -Math.LN2).length;
    const [weak, strong] = laws.map(({ pi }) => chance(pi));
    return {
      height: BOTTOM + 32,
      shapes: [...frame, ...allBells, veil, ...pushes, ...threshold, ...ticks, ...columns],
      says: `${words} on D₁: ${beyond} of 8 bells lie beyond the threshold τ = ${tauWords}. `
        + `One column fires with probability ${strong}, on D₀ with ${weak}.`,
    };
  }

  // One random network: a box for each column, filled where the column fires

  function network(width, { words, laws }, { data, drawn }) {
    const left = 26, size = Math.min(15, (width - left - 48) / drawn.length);
    const fired = laws.map((law) => drawn.map((column) => columnFires(law, column)));
    const shapes = SETS.flatMap((i) => [
      label(`set-${i}`, 0, i ? 32 : 53, "set", SET_NAMES[i]),
      ...fired[i].map((fires, k) =>
        box(`box-${i}-${k}`, left + size * k, i ? 20 : 41, 0.8 * size, 15, fires ? "box fires" : "box", Number(fires))),
      label(`answer-${i}`, width, i ? 32 : 53, "answer", fired[i].includes(true) ? "fires" : "silent"),
    ]);
    const [weak, strong] = fired.map((all) => all.flatMap((fires, k) => (fires ? [k + 1] : [])).join(", ") || "none");
    const which = data.m === drawn.length ? "all" : "the first";
    const says = `${words}: of ${which} ${drawn.length} columns, these fire on D₁: ${strong}; on D₀: ${weak}.`;
    return { height: 60, shapes, says };
  }

  // How often does a network fire, at this n and at every other?

  function firing(width, { words, laws, against }, { data }) {
    const curves = against(), least = decades(curves[0][0].n), most = farthest(data);
    const left = 22, right = width - 24, top = 30, bottom = 114, unit = (right - left) / (most - least);
    const at = (n) => left + unit * (decades(n) - least), up = (p) => bottom - (bottom - top) * Math.exp(p.ln);
    const here = at(data.n), side = here > (left + right) / 2 ? "before" : "after";
    const first = Math.ceil(least), step = Math.ceil((most - first) / 4) || 1;
    const powers = Array.from({ length: Math.floor((most - first) / step) + 1 }, (_, k) => first + k * step);
    const ends = apart(curves.map((points) => up(points.at(-1).fires)), bottom - 4);
    const frame = [
      path("frame", `M${left} ${top}V${bottom}H${right}`, "axis"),
      ...["0", "½", "1"].map((level, k) =>
        label(`level-${k}`, left - 4, bottom - ((bottom - top) * k) / 2 + 4, "level", level)),
      ...powers.map((x) =>
        label(`tick-${x}`, left + unit * (x - least), bottom + 14, "tick", `10${x === 1 ? "" : raised(x)}`)),
      label("axis", (left + right) / 2, bottom + 28, "tick", "number of tokens n"),
    ];
    const place = [
      path("here", `M${px(here)} ${top - 6}V${bottom}`, "bound", String(data.n)),
      label("here-name", here + (side === "after" ? 4 : -4), top - 5, side, `n = ${lengthWords(data.n)}`),
    ];
    const lines = SETS.flatMap((i) => [
      path(`curve-${i}`, line(curves[i].map(({ n, fires }) => [at(n), up(fires)])), `curve ${LINES[i]}`,
        curves[i].map(({ n, fires }) => `${n}:${probability(fires)}`).join(" ")),
      dot(`dot-${i}`, here, up(laws[i].fires), 4, `dot ${LINES[i]}`, probability(laws[i].fires)),
      label(`label-${i}`, right + 4, ends[i] + 4, "set", SET_NAMES[i]),
    ]);
    const [weak, strong] = laws.map(({ fires }) => chance(fires));
    return {
      height: bottom + 32,
      shapes: [...frame, ...place, ...lines],
      says: `${words}: at n = ${lengthWords(data.n)} the network fires with probability ${strong} on D₁ `
        + `and ${weak} on D₀.`,
    };
  }

  // The two labels, each at the end of its line, but 12 pixels from each other; of equal ones that of D_1 is the upper.
  function apart([weak, strong], lowest) {
    const half = Math.max(12, Math.abs(weak - strong)) / 2, middle = Math.min((weak + strong) / 2, lowest - half);
    return strong <= weak ? [middle + half, middle - half] : [middle - half, middle + half];
  }

  // Pictures on the page

  const PICTURES = { crowd, bells, network, firing };
  const SLOTS = ["softmax", "linear", "third"];

  // Give an element these attributes and this text, and leave alone what is so already.
  function become(element, attributes, words) {
    for (const [name, value] of Object.entries(attributes)) {
      if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
    }
    if (words !== undefined && element.textContent !== words) element.textContent = words;
  }

  function draw(svg, shapes, prefix) {
    const old = new Map([...svg.children].map((element) => [element.dataset.is, element]));
    for (const [name, tag, attributes, words] of shapes) {
      const key = `${prefix}/${name}`, element = old.get(key) ?? svg.appendChild(document.createElementNS(SVG, tag));
      become(element, { "data-is": key, ...attributes }, words);
      old.delete(key);
    }
    for (const element of old.values()) element.remove();
  }

  // Let an element be a live picture; returns the function that shows a result of `Model.explore` in it.
  function mount(element) {
    const name = element.dataset.live, picture = PICTURES[name];
    const panels = SLOTS.map((slot) => {
      const panel = element.appendChild(document.createElement("div"));
      const svg = panel.appendChild(document.createElementNS(SVG, "svg"));
      become(panel, { class: "panel", "data-is": `${name}/${slot}/panel`, hidden: "" });
      become(svg, { role: "img", "data-is": `${name}/${slot}` });
      return { slot, panel, svg };
    });
    let result = null;
    const show = () => panels.forEach(({ slot, panel, svg }, k) => {
      const kernel = result?.kernels[k], width = panel.clientWidth;
      if (!kernel || !width) return; // what is not seen is drawn when it is
      const { height, shapes, says } = picture(width, kernel, result);
      become(svg, { viewBox: `0 0 ${width} ${height}`, height, class: `kernel-${kernel.name}`, "aria-label": says });
      draw(svg, [label("name", 0, 12, "name", kernel.words), ...shapes], `${name}/${slot}`);
    });
    new ResizeObserver(() => requestAnimationFrame(show)).observe(element);
    return (found) => {
      result = found;
      panels.forEach(({ panel }, k) => panel.toggleAttribute("hidden", k >= found.kernels.length));
      show();
    };
  }

  for (const element of document.querySelectorAll("[data-live]:not(#explorer *)")) {
    const { data, problems } = Model.read({ ...Model.WORKED, ...element.dataset });
    if (problems.size) throw new Error(`data-live: ${[...problems].map((problem) => problem.join(" ")).join("; ")}`);
    mount(element)(Model.explore(data));
  }

  return { mount, become, number, probability, chance, sumScale, tauOf, SLOTS };
})();
