// The live explorer (chapters/explorer.md).  Its formulas are those of lib/attnsep/tokens.py, gains.py, exact.py and
// scaling.py, and web/test_explorer.py compares its numbers with theirs.
//
// Ties with the threshold are real.  So whatever decides one is a ratio of whole numbers, and a power of n that is
// irrational is enclosed in as many bits as the decision needs.  What is only shown is the natural logarithm of a
// number, in a double: it holds 10^-400 as well as 0.5.
"use strict";
(() => {
  const LN2 = Math.log(2), LN10 = Math.log(10);
  const WORKED = { n: "1024", d: "258", m: "10", a0: "0.05", a1: "0.7", c: "0.5", gap: "0.1", kernel: "softmax" };
  const STRONGEST = 100, MOST_DIGITS = 30, MOST_DEGREE = 10n ** 6n, MOST_COLUMNS = 10n ** 15n;
  const MOST_TOKENS = 10n ** 300n, WIDEST = 10n ** 4n, MOST_RATIONAL_BITS = 100_000n;

  // Whole numbers, and ratios [p, q] with q > 0

  const abs = (x) => (x < 0n ? -x : x);
  const floorOf = ([p, q]) => p / q - (p % q < 0n ? 1n : 0n);
  const add = ([p, q], [r, s]) => (q === s ? [p + r, q] : [p * s + r * q, q * s]);
  const mul = ([p, q], [r, s]) => [p * r, q * s];
  const sub = (x, [r, s]) => add(x, [-r, s]);
  const div = (x, [r, s]) => mul(x, r < 0n ? [-s, -r] : [s, r]);
  const whole = (x) => [BigInt(x), 1n];

  function bits(x) {
    const hex = x.toString(16);
    return 4 * hex.length - Math.clz32(parseInt(hex[0], 16)) + 28;
  }

  function reduced([p, q]) {
    let [x, y] = [abs(p), q];
    while (y) [x, y] = [y, x % y];
    return [p / x, q / x];
  }

  // p/q as a double, off by two units of its last place at most; 0 where it is below the least one.
  function ratio([p, q]) {
    if (p <= 0n) return p ? -ratio([-p, q]) : 0;
    const shift = bits(q) - bits(p) + 64, half = Math.trunc(shift / 2);
    const quotient = shift < 0 ? p / (q << BigInt(-shift)) : (p << BigInt(shift)) / q;
    return Number(quotient) * 2 ** -half * 2 ** (half - shift);
  }

  function lnWhole(x) {
    const shift = Math.max(0, bits(x) - 64);
    return x ? Math.log(Number(x >> BigInt(shift))) + shift * LN2 : -Infinity;
  }

  function ln([p, q]) {
    const beside = ratio([p - q, q]), value = ratio([p, q]);
    if (Math.abs(beside) < 0.5) return Math.log1p(beside);
    return value > 1e-290 && value < 1e290 ? Math.log(value) : lnWhole(p) - lnWhole(q);
  }

  const lnNot = (x) => (x < -LN2 ? Math.log1p(-Math.exp(x)) : Math.log(-Math.expm1(x))); // ln(1 − e^x)
  const lnLogistic = (z) => (z > 0 ? -Math.log1p(Math.exp(-z)) : z - Math.log1p(Math.exp(z)));

  function lnSum(x, y) {
    const most = Math.max(x, y);
    return most === -Infinity ? most : most + Math.log1p(Math.exp(-Math.abs(x - y)));
  }

  // Gains R = base^exponent: how many times the weight of another token the marked one has (gains.py)

  const ONE = whole(1), INFINITE = { ln: Infinity };
  const power = (base, exponent) => ({ base, exponent, ln: ratio(exponent) * ln(base), enclosures: new Map() });

  // In the marked token's own row and in every other row; the first is never the smaller one.
  function gains(n, a, [name, parameter]) {
    const own = add(ONE, a);
    if (name === "softmax") return [mul(a, own), a].map((exponent) => power(whole(n), mul(parameter, exponent)));
    if (name === "hard") return Array(2).fill(a[0] ? INFINITE : power(ONE, ONE));
    return Array(2).fill(power(own, name === "linear" ? ONE : parameter));
  }

  // R itself if it is rational, which needs a base that is a v-th power.  Null too where it is too long to tie with
  // numbers made of the parameters.
  function rational({ base, exponent }) {
    const [p, q] = reduced(base), [u, v] = reduced(exponent), longest = BigInt(bits(p));
    if (v >= longest) return p === q ? ONE : null; // even 2^v is larger
    if (u * longest > v * MOST_RATIONAL_BITS) return null;
    const roots = [root(p, v), root(q, v)];
    return roots[0] ** v === p && roots[1] ** v === q ? roots.map((x) => x ** u) : null;
  }

  function root(x, v) {
    if (v === 1n) return x;
    let low = 1n, high = 1n << (BigInt(bits(x)) / v + 1n);
    while (low < high) {
      const middle = (low + high + 1n) >> 1n;
      [low, high] = middle ** v <= x ? [middle, high] : [low, middle - 1n];
    }
    return low;
  }

  // Bounds of R with B bits after the point.  Its logarithm takes fewer than 2^12 roundings, which the exponent (below
  // 2^20) and the squarings (2^16) multiply.  So 2^48 units of the last place are more than all errors together.
  function enclosure(R, B) {
    if (!R.enclosures.has(B)) {
      const [u, v] = R.exponent, middle = expFixed((lnFixed(R.base, B) * u) / v, B), slack = 1n + (middle >> (B - 48n));
      R.enclosures.set(B, [[middle - slack, 1n << B], [middle + slack, 1n << B]]);
    }
    return R.enclosures.get(B);
  }

  function arctanh(y, B) {
    const square = (y * y) >> B;
    let sum = y;
    for (let k = 3n, term = (y * square) >> B; term > 0n; k += 2n, term = (term * square) >> B) sum += term / k;
    return sum;
  }

  const ln2Fixed = ((known) => (B) => known.get(B) ?? known.set(B, 2n * arctanh((1n << B) / 3n, B)).get(B))(new Map());

  function lnFixed([p, q], B) {
    let k = BigInt(bits(p) - bits(q));
    if (p < q << k) k -= 1n; // so that p/q is 2^k times a number from 1 to 2
    return 2n * arctanh(((p - (q << k)) << B) / (p + (q << k)), B) + k * ln2Fixed(B);
  }

  function expFixed(x, B) {
    const k = x / ln2Fixed(B), halvings = 16n, small = (x - k * ln2Fixed(B)) >> halvings;
    let sum = 1n << B;
    for (let i = 1n, term = sum; term; i++) sum += term = ((term * small) >> B) / i;
    for (let i = 0n; i < halvings; i++) sum = (sum * sum) >> B;
    return sum << k;
  }

  // One column (tokens.py, least_plus): how many of the d − 3 other classes need a plus sign

  // ⌊shift + slope R⌋, proved; −1 for all below 0 and `top` for all from there on.  `tie` is whether the sum itself is
  // one of 0, …, top, or "always" where a row sees the marked token alone and ties whatever the other signs are.
  function floorLinear(shift, slope, R, top) {
    const at = (end) => add(shift, mul(slope, end));
    const clip = (x) => (x < 0n ? -1 : x > BigInt(top) ? top : Number(x));
    const far = slope[0] < 0n ? -1 : top;
    if (R === INFINITE) return { floor: far, tie: slope[0] ? false : "always" };
    const enough = div(add([abs(shift[0]), shift[1]], whole(top + 2)), slope[0] ? [abs(slope[0]), slope[1]] : ONE);
    if (slope[0] && R.ln > ln(enough) + 1) return { floor: far, tie: false };
    const exact = slope[0] ? rational(R) : ONE;
    if (exact) {
      const x = at(exact), floor = floorOf(x);
      return { floor: clip(floor), tie: floor * x[1] === x[0] && 0n <= floor && floor <= BigInt(top) };
    }
    for (let B = 256n; ; B *= 2n) { // R is irrational, so that some number of bits settles it
      const [low, high] = enclosure(R, B).map((end) => clip(floorOf(at(end))));
      if (low === high) return { floor: low, tie: false };
    }
  }

  const PATTERNS = [1n, -1n].flatMap((x) => [1n, -1n].flatMap((y) => [1n, -1n].map((z) => [x, y, z])));

  function floors({ n, d, t, b, c, gap }, a, rows) {
    const top = Number(d) - 3, bt = mul(whole(2n * t), b);
    return PATTERNS.map(([first, own, last]) => {
      const g = add(gap, mul(c, whole(1n - last)));
      const level = sub(mul(g, whole(n - 1n)), mul(b, whole((t - 1n) * own)));
      const slope = sub(sub(g, mul(a, whole(first))), mul(b, whole(own)));
      return floorLinear(add([BigInt(top), 2n], div(level, bt)), div(slope, bt), rows[slope[0] < 0n ? 0 : 1], top);
    });
  }

  // How many of the 2^N sign vectors have r plus signs or more, for every r in `wanted`, in one pass.
  function tails(N, wanted) {
    const upper = (r) => (2 * r > N ? r : N - r + 1), least = Math.min(...wanted.map(upper)), known = new Map();
    let term = 1n, sum = 0n;
    for (let r = N; r >= least; r--) {
      known.set(r, (sum += term));
      term = (term * BigInt(r)) / BigInt(N - r + 1);
    }
    const all = 1n << BigInt(N), tail = (r) => known.get(r) ?? 0n;
    return (r) => (r <= 0 ? all : r > N ? 0n : 2 * r > N ? tail(r) : all - tail(N - r + 1));
  }

  // A probability as the logarithms of itself and of what it leaves to 1
  const share = (part, all) => ({ ln: lnPart(part, all), not: lnPart(all - part, all) });
  const lnPart = (part, all) => (part ? ln([part, all]) : -Infinity);
  const not = (p) => ({ ln: p.not, not: p.ln });

  // 1 − (1 − π)^m (exact.py, fires_probability)
  function fires(pi, m) {
    if (pi.ln === -Infinity) return pi;
    const silent = m * pi.not;
    return { ln: silent > -1e-16 ? pi.ln + Math.log(m) : lnNot(silent), not: silent };
  }

  // All that the page shows, from parameters that `read` accepted

  function explore(data) {
    const chosen = data.kernel, rival = chosen[0] === "linear" ? ["softmax", ONE] : ["linear", null];
    const laws = [chosen, rival].flatMap((kernel) => [data.a0, data.a1].map((a) => {
      const rows = gains(data.n, a, kernel);
      return { kernel, a, rows, floors: floors(data, a, rows) };
    }));
    const N = Number(data.d) - 3, all = 1n << BigInt(N);
    const counts = tails(N, laws.flatMap((law) => law.floors.flatMap(({ floor }) => [floor, floor + 1])));
    for (const law of laws) {
      law.patterns = law.floors.map(({ floor, tie }) => {
        const above = counts(floor + 1), tied = tie === "always" ? all : tie ? counts(floor) - above : 0n;
        return { least: floor + 1, above: share(above, all), tied: share(tied, all), count: above };
      });
      law.pi = share(law.patterns.reduce((sum, { count }) => sum + count, 0n), 8n * all);
      law.fires = fires(law.pi, data.m);
      law.weights = law.rows.map((R) => {
        const z = R.ln - lnWhole(data.n - 1n);
        return { ln: lnLogistic(z), not: lnLogistic(-z) };
      });
      law.values = law.weights.map((weight) => values(data, law.a, weight));
      law.x = law.kernel[0] === "softmax"
        ? ratio(sub(law.rows[0].exponent, ONE)) * lnWhole(data.n)
        : law.rows[0].ln - lnWhole(data.n);
    }
    return laws;
  }

  // Logarithms of the four different entries of one attention output (tokens.py, values_closed)
  function values({ n, t, b, c }, a, weight) {
    const scale = Math.log(lnWhole(n)) / 2, rest = weight.not - lnWhole(n - 1n), lnB = ln(b);
    return {
      first: (a[0] ? ln(a) : -Infinity) + weight.ln + scale,
      own: lnSum(weight.ln, rest + lnWhole(t - 1n)) + lnB + scale,
      other: rest + lnWhole(t) + lnB + scale,
      last: ln(c) + scale,
    };
  }

  // Parameters: what each may be, and the text that says so

  class Rule extends Error {}

  function readNumber(text) {
    const [, units, after = "", exponent = "0"] = /^(\d*)(?:\.(\d*))?(?:e([+-]?\d{1,3}))?$/i.exec(text) ?? [];
    const [, p, q] = /^(\d+)\/(\d+)$/.exec(text) ?? [];
    if (p && text.length <= 2 * MOST_DIGITS && BigInt(q)) return reduced([BigInt(p), BigInt(q)]);
    if (units === undefined || !(units + after)) throw new Rule("write a number such as 0.7 or 7/10");
    const places = after.length - Number(exponent);
    if (places > MOST_DIGITS) throw new Rule(`at most ${MOST_DIGITS} digits after the point`);
    return reduced(places < 0 ? [BigInt(units + after) * 10n ** BigInt(-places), 1n]
      : [BigInt(units + after), 10n ** BigInt(places)]);
  }

  function readWhole(text, least, most, shownMost) {
    const [, base, exponent] = /^(10)\^(\d{1,3})$/.exec(text) ?? [];
    const [p, q] = base ? [10n ** BigInt(exponent), 1n] : readNumber(text);
    if (q !== 1n || p < least || p > most) throw new Rule(`must be a whole number from ${least} to ${shownMost}`);
    return p;
  }

  function readStrength(text) {
    const value = readNumber(text);
    if (value[0] > BigInt(STRONGEST) * value[1]) throw new Rule(`must lie between 0 and ${STRONGEST}`);
    return value;
  }

  const READ = {
    n: (text) => readWhole(text, 2n, MOST_TOKENS, "10^300"),
    d: (text) => readWhole(text, 3n, WIDEST, "10000"),
    m: (text) => Number(readWhole(text, 1n, MOST_COLUMNS, "10^15")),
    a0: readStrength,
    a1: readStrength,
    c: (text) => {
      const value = readNumber(text);
      if (!value[0] || value[0] >= value[1]) throw new Rule("must lie strictly between 0 and 1");
      return value;
    },
    gap: readStrength,
    kernel: (text) => {
      const [name, parameter] = text.split(":");
      if (!Object.hasOwn(KERNELS, name) || (parameter !== undefined && !KERNELS[name])) throw new Rule("is no kernel of this page");
      if (name === "softmax") return [name, parameter === undefined ? ONE : readStrength(parameter)];
      return [name, name === "polynomial" ? whole(readWhole(parameter ?? "", 1n, MOST_DEGREE, "10^6")) : null];
    },
  };
  const KERNELS = { softmax: "β", linear: null, polynomial: "degree", hard: null };

  // n is (d − 2)t: the multiple of d − 2 next to the n that was asked for.
  function complete(data) {
    const width = data.d - 2n, least = width === 1n ? 2n : 1n, rounded = (2n * data.n + width) / (2n * width);
    const t = rounded < least ? least : rounded;
    return { ...data, asked: data.n, n: width * t, t, b: sub(ONE, data.c) };
  }

  // What stands on the page

  const form = document.getElementById("explorer");
  const field = (name) => form.elements[name];
  const show = (name, text) => { form.querySelector(`[data-show="${name}"]`).textContent = text; };

  function number(lnValue) {
    if (lnValue === -Infinity) return "0";
    return lnValue < -690 ? `10^${(lnValue / LN10).toPrecision(10)}` : Math.exp(lnValue).toPrecision(10);
  }

  const probability = (p) => (p.not === -Infinity ? "1" : number(p.ln));
  const short = (p) => (p.ln > -690 ? String(Number(Math.exp(p.ln).toPrecision(3))) : number(p.ln));
  const digits = (x) => (x < 10n ** 15n ? String(x) : `about ${number(lnWhole(x))}`);

  function draw(laws, data) {
    const names = laws.map(({ kernel: [name, parameter] }) =>
      name === "softmax" && parameter[0] === parameter[1] ? "softmax"
        : parameter ? `${name}, ${KERNELS[name]} = ${ratio(parameter)}` : name);
    for (const cell of form.querySelectorAll("[data-kernel]")) cell.textContent = names[2 * cell.dataset.kernel];
    for (const cell of form.querySelectorAll("[data-strength]")) cell.textContent = field(cell.dataset.strength).value.trim();
    laws.forEach((law, i) => {
      const name = `${i < 2 ? "chosen" : "rival"}-${i % 2}`;
      show(`fires-${name}`, probability(law.fires));
      show(`silent-${name}`, probability(not(law.fires)));
      show(`pi-${name}`, probability(law.pi));
      show(`not-pi-${name}`, probability(not(law.pi)));
    });
    laws.slice(0, 2).forEach((law, i) => {
      ["marked", "other"].forEach((row, j) => {
        show(`weight-${row}-${i}`, probability(law.weights[j]));
        show(`rest-${row}-${i}`, probability(not(law.weights[j])));
        for (const [entry, value] of Object.entries(law.values[j])) show(`${entry}-${row}-${i}`, number(value));
      });
      law.patterns.forEach((pattern, j) => {
        show(`least-${i}-${j}`, pattern.least > Number(data.d) - 3 ? "never" : pattern.least ? `${pattern.least} or more` : "always");
        show(`above-${i}-${j}`, probability(pattern.above));
        show(`tied-${i}-${j}`, probability(pattern.tied));
      });
      show(`x-${i}`, Number.isFinite(law.x) ? law.x.toPrecision(10) : "∞");
      show(`p-${i}`, probability(law.weights[0]));
      plot(i, law);
    });
    show("tau", (ratio(add(data.c, data.gap)) * Math.sqrt(lnWhole(data.n))).toPrecision(10));
    show("others", String(data.d - 3n));
    show("sizes", `${data.n === data.asked ? "" : `${field("n").value.trim()} is no multiple of d − 2 = ${data.d - 2n}, so the one next to it is used: `}`
      + `n = ${digits(data.n)} = ${data.d - 2n} classes of ${digits(data.t)} ${data.t === 1n ? "token" : "tokens"}.`);
    show("threshold", threshold(data.kernel));
    const [first, second] = [0, 2].map((i) => `${names[i]} on D₀ ${short(laws[i].fires)}, on D₁ ${short(laws[i + 1].fires)}`);
    return `Fires with probability: ${first}; ${second}.`;
  }

  function threshold([name, beta]) {
    if (name !== "softmax") return "";
    if (!beta[0]) return "With β = 0 all weights are equal, and no strength is enough.";
    const value = ratio(beta), root = 2 / (value + Math.sqrt(value) * Math.sqrt(value + 4));
    return `As n grows, p rises to 1 for a above ${root.toPrecision(10)} and falls to 0 below it.`;
  }

  // The curve is p against x = ln(R/n); the drawing is 360 wide and 200 high, and ends at |x| = 12.
  const across = (x) => 180 + 14 * Math.max(-12, Math.min(12, x)), up = (p) => 170 - 150 * p;

  function plot(i, { x, weights: [weight] }) {
    const far = Math.abs(x) > 12 ? (x < 0 ? "← " : "") : null, mark = form.querySelector(`[data-mark="${i}"]`);
    mark.setAttribute("transform", `translate(${across(x)} ${up(Math.exp(weight.ln))})`);
    mark.querySelector("text").textContent = `${far ?? ""}D${"₀₁"[i]}${far === "" ? " →" : ""}`;
  }

  // State: fields, sliders, address

  const NAMES = Object.keys(READ);
  const kernelText = () => {
    const name = field("kernel").value, parameter = field("parameter").value.trim();
    return KERNELS[name] && !(name === "softmax" && parameter === "1") ? `${name}:${parameter}` : name;
  };
  const text = (name) => (name === "kernel" ? kernelText() : field(name).value.trim());

  function fill(state) {
    for (const name of NAMES.slice(0, -1)) field(name).value = state[name];
    const [name, parameter] = state.kernel.split(":");
    field("kernel").value = parameter && !KERNELS[name] ? "" : name;
    field("parameter").value = parameter ?? "1";
  }

  function read() {
    const data = {}, problems = [];
    for (const name of NAMES) {
      const input = field(name === "kernel" && KERNELS[field("kernel").value] ? "parameter" : name), message = document.getElementById(`${name}-problem`);
      try {
        data[name] = READ[name](text(name));
        input.removeAttribute("aria-invalid");
        message.textContent = "";
      } catch (error) {
        if (!(error instanceof Rule)) throw error;
        input.setAttribute("aria-invalid", "true");
        message.textContent = error.message;
        problems.push(`${name} = ${text(name) || "nothing"}: ${error.message}.`);
      }
    }
    return [data, problems];
  }

  let later;
  function update() {
    const parameter = KERNELS[field("kernel").value];
    form.querySelector("[data-parameter]").hidden = !parameter;
    if (parameter) form.querySelector("[data-parameter] label").textContent = parameter === "β" ? "inverse temperature β" : parameter;
    const [data, problems] = read();
    for (const slider of form.querySelectorAll("[data-for]")) follow(slider);
    if (problems.length) for (const cell of form.querySelectorAll("[data-show]")) cell.textContent = "–";
    const sentence = problems.length ? `No result: ${problems.join(" ")}` : draw(explore(complete(data)), complete(data));
    clearTimeout(later); // neither the address nor a screen reader follows every step of a slider
    later = setTimeout(() => {
      document.getElementById("explorer-summary").textContent = sentence;
      if (!problems.length) history.replaceState(null, "", `?${new URLSearchParams(NAMES.map((name) => [name, text(name)]))}`);
    }, 300);
  }

  // A slider of a size stands for its decimal logarithm.
  const isSize = (slider) => ["n", "d", "m"].includes(slider.dataset.for);

  function follow(slider) {
    const written = field(slider.dataset.for).value.trim();
    slider.setAttribute("aria-valuetext", written);
    if (slider === document.activeElement) return;
    try {
      const value = READ[slider.dataset.for](written);
      slider.value = Array.isArray(value) ? ratio(value) : lnWhole(BigInt(value)) / LN10;
    } catch (error) {
      if (!(error instanceof Rule)) throw error;
    }
  }

  function slide(slider) {
    const value = Number(slider.value), size = 10 ** (value % 1) * 100;
    field(slider.dataset.for).value = !isSize(slider) ? slider.value
      : value < 6 ? String(Math.round(10 ** value)) : `${(Math.round(size) / 100).toFixed(2)}e${Math.floor(value)}`;
  }

  form.addEventListener("input", (event) => {
    if (event.target.dataset.for) slide(event.target);
    update();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    fill(WORKED);
    update();
  });
  form.querySelector("[data-curve]").setAttribute("d", Array.from({ length: 97 }, (_, k) => k / 4 - 12)
    .map((x, k) => `${k ? "L" : "M"}${across(x)} ${up(1 / (1 + Math.exp(-x))).toFixed(2)}`).join(""));
  form.hidden = false;
  fill({ ...WORKED, ...Object.fromEntries([...new URLSearchParams(location.search)].filter(([name]) => NAMES.includes(name))) });
  update();
})();
