// The explorer, part 1 of 5: exact arithmetic.
//
// Ties with the threshold are real.  So whatever decides one is a ratio of whole numbers, and a power of n that is
// irrational is enclosed in as many bits as the decision needs.  What is only shown is the natural logarithm of a
// number, in a double: it holds 10^-400 as well as 0.5.
"use strict";
const Exact = (() => {
  const LN2 = Math.log(2), MOST_RATIONAL_BITS = 100_000n;

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

  // Floors of sums in which a gain enters (gains.py, floor_linear)

  // ⌊shift + slope R⌋, proved; −1 for all below 0 and `top` for all from there on.  `tie` is whether the sum itself is
  // one of 0, …, top, or "always" where a row sees the marked token alone and ties whatever the other signs are.
  function floorLinear(shift, slope, R, top) {
    const at = (end) => add(shift, mul(slope, end));
    const clip = (x) => (x < 0n ? -1 : x > BigInt(top) ? top : Number(x));
    const far = slope[0] < 0n ? -1 : top;
    if (R === INFINITE) return { floor: far, tie: slope[0] ? false : "always" };
    const most = add([abs(shift[0]), shift[1]], whole(top + 2));
    if (slope[0] && R.ln > ln(div(most, [abs(slope[0]), slope[1]])) + 1) return { floor: far, tie: false };
    const exact = slope[0] ? rational(R) : ONE;
    if (exact) {
      const x = at(exact), floor = floorOf(x);
      return { floor: clip(floor), tie: floor * x[1] === x[0] && 0n <= floor && floor <= BigInt(top) };
    }
    for (let B = 128n; ; B *= 2n) { // R is irrational, so that some number of bits settles it
      const [low, high] = enclosure(R, B).map((end) => clip(floorOf(at(end))));
      if (low === high) return { floor: low, tie: false };
    }
  }

  // Probabilities, as the logarithms of themselves and of what they leave to 1

  const lnPart = (part, all) => (part ? ln([part, all]) : -Infinity);
  const share = (part, all) => ({ ln: lnPart(part, all), not: lnPart(all - part, all) });
  const not = (p) => ({ ln: p.not, not: p.ln });

  function logistic(z) {
    return { ln: lnLogistic(z), not: lnLogistic(-z) };
  }

  // 1 − (1 − π)^m (sign_sums.py, fires_probability)
  function fires(pi, m) {
    if (pi.ln === -Infinity) return pi;
    const silent = m * pi.not;
    return { ln: silent > -1e-16 ? pi.ln + Math.log(m) : lnNot(silent), not: silent };
  }

  // How many of the 2^N sign vectors have r plus signs or more.  The sums are kept: the same N is asked for again.
  let sums = { N: -1 };
  function tail(N, r) {
    if (sums.N !== N) sums = { N, all: 1n << BigInt(N), next: N, term: 1n, sum: 0n, known: [] };
    if (r <= 0) return sums.all;
    if (2 * r <= N) return sums.all - tail(N, N - r + 1);
    for (; sums.next >= r; sums.next--) {
      sums.known[sums.next] = sums.sum += sums.term;
      sums.term = (sums.term * BigInt(sums.next)) / BigInt(N - sums.next + 1);
    }
    return r > N ? 0n : sums.known[r];
  }

  return {
    add, sub, mul, div, whole, ratio, reduced, ln, lnWhole, lnSum, gains, floorLinear, logistic, share, not, fires,
    tail, ONE,
  };
})();
