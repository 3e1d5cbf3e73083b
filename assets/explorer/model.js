// The explorer, part 2 of 5: from what is written in the fields to all that the page shows.
//
// The formulas are those of lib/attnsep/paper (tokens.py, gains.py, network.py), and web/test_explorer.py compares the
// numbers with theirs.  A weight or an entry is kept as the logarithm of itself; entries are in units of √log n.
"use strict";
const Model = (() => {
  const { add, sub, mul, div, whole, ratio, reduced, ln, lnWhole, lnSum, gains, floorLinear, logistic, ONE } = Exact;

  const WORKED = {
    n: "1024", d: "258", m: "10", a0: "0.05", a1: "0.7", c: "0.5", gap: "0.1", kernel: "none", seed: "1",
  };
  const PAIR = [["softmax", ONE], ["linear", null]];
  const KERNELS = { softmax: "β", polynomial: "degree", hard: null }; // of the third panel, and their parameters
  const MOST_DIGITS = 30;

  // What each field may hold, and the text that says so

  class Rule extends Error {}

  function readNumber(text) {
    const [, units, after = "", exponent = "0"] = /^(\d*)(?:\.(\d*))?(?:e([+-]?\d{1,3}))?$/i.exec(text) ?? [];
    const [, p, q] = /^(\d+)\/(\d+)$/.exec(text) ?? [];
    if (p && text.length <= 2 * MOST_DIGITS && BigInt(q)) return reduced([BigInt(p), BigInt(q)]);
    if (units === undefined || !(units + after)) throw new Rule("write a number such as 0.7 or 7/10");
    const places = after.length - Number(exponent);
    if (places > MOST_DIGITS) throw new Rule(`at most ${MOST_DIGITS} digits after the point`);
    const digits = BigInt(units + after);
    return reduced(places < 0 ? [digits * 10n ** BigInt(-places), 1n] : [digits, 10n ** BigInt(places)]);
  }

  function readWhole(text, least, most, shownMost) {
    const [, exponent] = /^10\^(\d{1,3})$/.exec(text) ?? [];
    const [p, q] = exponent ? [10n ** BigInt(exponent), 1n] : readNumber(text);
    if (q !== 1n || p < least || p > most) throw new Rule(`must be a whole number from ${least} to ${shownMost}`);
    return p;
  }

  function readStrength(text) {
    const value = readNumber(text);
    if (value[0] > 100n * value[1]) throw new Rule("must lie between 0 and 100");
    return value;
  }

  function readShare(text) {
    const value = readNumber(text);
    if (!value[0] || value[0] >= value[1]) throw new Rule("must lie strictly between 0 and 1");
    return value;
  }

  function readKernel(text) {
    if (text === "none") return null;
    const [name, ...after] = text.split(":"), parameter = after.join(":");
    if (!Object.hasOwn(KERNELS, name) || (parameter && !KERNELS[name])) throw new Rule("is no kernel of this page");
    if (name === "softmax") return [name, readStrength(parameter)];
    return [name, name === "polynomial" ? whole(readWhole(parameter, 1n, 10n ** 6n, "10^6")) : null];
  }

  const READ = {
    n: (text) => readWhole(text, 2n, 10n ** 300n, "10^300"),
    d: (text) => readWhole(text, 3n, 10n ** 4n, "10000"),
    m: (text) => Number(readWhole(text, 1n, 10n ** 15n, "10^15")),
    a0: readStrength,
    a1: readStrength,
    c: readShare,
    gap: readStrength,
    kernel: readKernel,
    seed: (text) => Number(readWhole(text, 0n, 2n ** 32n - 1n, "4294967295")),
  };

  // What the texts of all fields mean, and why those that mean nothing do not
  function read(state) {
    const data = {}, problems = new Map();
    for (const [name, rule] of Object.entries(READ)) {
      try {
        data[name] = rule(state[name]);
      } catch (error) {
        if (!(error instanceof Rule)) throw error;
        problems.set(name, error.message);
      }
    }
    return { data: problems.size ? null : complete(data), problems };
  }

  // n is (d − 2)t: the multiple of d − 2 next to the n that was asked for.
  function complete(data, asked = data.n) {
    const width = data.d - 2n, least = width === 1n ? 2n : 1n, nearest = (2n * asked + width) / (2n * width);
    const t = nearest < least ? least : nearest;
    return { ...data, asked, n: width * t, t, b: sub(ONE, data.c) };
  }

  // One data set under one kernel.  Both know few numbers: four different entries in each of two kinds of row.

  const PATTERNS = [1, -1].flatMap((first) => [1, -1].flatMap((own) => [1, -1].map((last) => [first, own, last])));

  // For each pattern of signs the row that comes nearest to firing, which decides: 0 is the marked token's own, 1 any
  // other.  And ⌊the number of plus signs among the d − 3 other classes that must be exceeded⌋.
  function deciding({ n, d, t, b, c, gap }, a, rows) {
    const top = Number(d) - 3, bt = mul(whole(2n * t), b);
    return PATTERNS.map((signs) => {
      const [first, own, last] = signs.map(BigInt);
      const g = add(gap, mul(c, whole(1n - last)));
      const level = sub(mul(g, whole(n - 1n)), mul(b, whole((t - 1n) * own)));
      const slope = sub(sub(g, mul(a, whole(first))), mul(b, whole(own)));
      const row = slope[0] < 0n ? 0 : 1;
      return { row, ...floorLinear(add([BigInt(top), 2n], div(level, bt)), div(slope, bt), rows[row], top) };
    });
  }

  function columnProbability(d, patterns) {
    const N = Number(d) - 3, above = patterns.map(({ floor }) => Exact.tail(N, floor + 1));
    return Exact.share(above.reduce((sum, count) => sum + count), 8n * Exact.tail(N, 0));
  }

  function lawOf(data, a, kernel) {
    const rows = gains(data.n, a, kernel), found = deciding(data, a, rows);
    const N = Number(data.d) - 3, all = Exact.tail(N, 0), pi = columnProbability(data.d, found);
    const weights = rows.map((R) => logistic(R.ln - lnWhole(data.n - 1n)));
    const entries = weights.map((weight) => entriesOf(data, a, weight));
    const patterns = found.map(({ row, floor, tie }, j) => {
      const above = Exact.tail(N, floor + 1), tied = tie === "always" ? all : tie ? Exact.tail(N, floor) - above : 0n;
      return {
        ...bell(PATTERNS[j], entries[row]), row, least: floor + 1,
        above: Exact.share(above, all), tied: Exact.share(tied, all),
      };
    });
    const x = kernel[0] === "softmax" ? ratio(sub(rows[0].exponent, ONE)) * lnWhole(data.n)
      : rows[0].ln - lnWhole(data.n);
    return { a, pi, fires: Exact.fires(pi, data.m), weights, entries, patterns, x };
  }

  // Logarithms of the four different entries of one attention output (tokens.py, Law.values)
  function entriesOf({ n, t, b, c }, a, weight) {
    const rest = weight.not - lnWhole(n - 1n), lnB = ln(b);
    return {
      first: (a[0] ? ln(a) : -Infinity) + weight.ln,
      own: lnSum(weight.ln, rest + lnWhole(t - 1n)) + lnB,
      other: rest + lnWhole(t) + lnB,
      last: ln(c),
    };
  }

  // Where the bell of a pattern stands, what the mark adds to that, and how far apart its sums are by half
  function bell([first, own, last], entry) {
    const push = first * Math.exp(entry.first);
    const centre = push + own * Math.exp(entry.own) + last * Math.exp(entry.last);
    return { push, centre, step: Math.exp(entry.other) };
  }

  // Everything at once: softmax, linear attention, and the third kernel if there is one, each on D_0 and D_1
  function explore(data) {
    const kernels = data.kernel ? [...PAIR, data.kernel] : PAIR;
    return {
      data,
      drawn: network(data.seed, Number(data.d), Math.min(data.m, MOST_DRAWN)),
      kernels: kernels.map((kernel) => ({
        name: kernel[0],
        words: wordsFor(kernel),
        laws: [data.a0, data.a1].map((a) => lawOf(data, a, kernel)),
        against: () => [data.a0, data.a1].map((a) => against(data, a, kernel)),
      })),
    };
  }

  function wordsFor([name, parameter]) {
    if (name === "hard") return "hard attention";
    if (name === "linear") return "linear attention";
    return name === "softmax" && parameter === ONE ? name : `${name}, ${KERNELS[name]} = ${ratio(parameter)}`;
  }

  // The probability to fire against n, on about nine lengths in each decade

  const LENGTHS = 60, LONGEST = 7;

  const decades = (n) => lnWhole(n) / Math.LN10;
  const farthest = (data) => Math.max(LONGEST, decades(data.n));

  function powerOfTen(x) {
    const zeros = Math.max(0, Math.floor(x) - 14);
    return BigInt(Math.round(10 ** (x - zeros))) * 10n ** BigInt(zeros);
  }

  // Against n, only the last few curves are kept: while n alone changes, they stay.
  const curves = new Map();
  function against(data, a, kernel) {
    const key = [data.d, data.m, data.c, data.gap, a, ...kernel, farthest(data)].join();
    if (curves.size > 20) curves.clear();
    if (!curves.has(key)) curves.set(key, curveOf(data, a, kernel));
    return curves.get(key);
  }

  function curveOf(data, a, kernel) {
    const least = decades(complete(data, 2n).n), points = [];
    for (let k = 0; k <= LENGTHS; k++) {
      const here = complete(data, powerOfTen(least + (k / LENGTHS) * (farthest(data) - least)));
      if (here.n === points.at(-1)?.n) continue;
      const pi = columnProbability(data.d, deciding(here, a, gains(here.n, a, kernel)));
      points.push({ n: here.n, fires: Exact.fires(pi, data.m) });
    }
    return points;
  }

  // One random network: the k-th sign of a seed is the top bit of the k-th number of the generator mulberry32, whose
  // last step leaves that bit as it is.  Column after column is drawn, from the first row to the last; the marked token
  // has the first class.

  const MOST_DRAWN = 40;

  function sign(seed, k) {
    let z = (seed + Math.imul(k + 1, 0x6d2b79f5)) | 0;
    z = Math.imul(z ^ (z >>> 15), z | 1);
    z ^= z + Math.imul(z ^ (z >>> 7), z | 61);
    return z < 0 ? 1 : -1;
  }

  let lastDrawn = {};
  function network(seed, d, count) {
    const key = [seed, d, count].join();
    if (lastDrawn.key === key) return lastDrawn.columns;
    const columns = Array.from({ length: count }, (_, j) => {
      const y = (i) => sign(seed, j * d + i), signs = [y(0), y(1), y(d - 1)];
      let plus = 0;
      for (let i = 2; i < d - 1; i++) plus += y(i) > 0;
      return { pattern: PATTERNS.findIndex((pattern) => String(pattern) === String(signs)), plus };
    });
    lastDrawn = { key, columns };
    return columns;
  }

  const columnFires = (law, { pattern, plus }) => plus >= law.patterns[pattern].least;

  return {
    WORKED, KERNELS, READ, PATTERNS, read, complete, explore, decades, farthest, powerOfTen, columnFires,
  };
})();
