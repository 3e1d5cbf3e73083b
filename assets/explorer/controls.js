// The explorer, part 5 of 5: the fields of chapters/explorer.md, and what follows from them.
"use strict";
(() => {
  const { WORKED, KERNELS, READ, decades } = Model;
  const { become, chance, number, sumScale, tauOf, SLOTS } = Pictures;
  const NAMES = Object.keys(READ), SIZES = ["n", "d", "m"], LONGEST = 7;

  const form = document.getElementById("explorer");
  const field = (name) => form.elements[name];

  const elements = new Map();
  function named(key) {
    if (!elements.has(key)) elements.set(key, form.querySelector(`[data-is="${key}"]`));
    return elements.get(key);
  }
  const write = (key, words) => become(named(key), {}, words);

  // The fields as texts

  const PARAMETERS = { softmax: "2", polynomial: "16" }; // of a kernel that has just been chosen

  function kernelText() {
    const name = field("kernel").value;
    return KERNELS[name] ? `${name}:${field("parameter").value.trim()}` : name;
  }

  const textOf = (name) => (name === "kernel" ? kernelText() : field(name).value.trim());
  const written = () => Object.fromEntries(NAMES.map((name) => [name, textOf(name)]));

  function fill(state) {
    for (const name of NAMES) if (name !== "kernel") field(name).value = state[name];
    const [name, ...after] = state.kernel.split(":"), parameter = after.join(":");
    field("kernel").value = parameter && !KERNELS[name] ? "" : name;
    field("parameter").value = parameter;
  }

  function showProblems(problems) {
    const parameter = KERNELS[field("kernel").value], words = { β: "inverse temperature β", degree: "degree" };
    named("parameter").toggleAttribute("hidden", !parameter);
    write("parameter/label", words[parameter] ?? "");
    for (const name of NAMES) {
      const wrong = problems.has(name) && (name === "kernel" && parameter ? "parameter" : name);
      for (const one of name === "kernel" ? [name, "parameter"] : [name]) {
        if (one === wrong) become(field(one), { "aria-invalid": "true" });
        else field(one).removeAttribute("aria-invalid");
      }
      write(`problem/${name}`, problems.get(name) ?? "");
    }
    if (named("others").querySelector("[aria-invalid]")) named("others").open = true;
  }

  // Words around the pictures

  const wholeWords = (x) => (x < 10n ** 15n ? String(x) : `about ${number(Exact.lnWhole(x))}`);

  const firesWords = ({ words, laws: [weak, strong] }) =>
    `${words}: ${chance(strong.fires)} on D₁, ${chance(weak.fires)} on D₀`;

  function showWords({ data, kernels, drawn }, state) {
    const width = data.d - 2n, word = data.t === 1n ? "token" : "tokens";
    const moved = data.n === data.asked ? ""
      : `${state.n} is no multiple of d − 2 = ${width}, so the one next to it is used: `;
    write("sizes", `${moved}n = ${wholeWords(data.n)} = ${width} classes of ${wholeWords(data.t)} ${word}.`);
    write("length", wholeWords(data.n));
    write("columns", data.m > drawn.length ? `The first ${drawn.length} of its ${state.m} columns:` : "");
    become(named("numbers"), { "data-kernels": kernels.length });
    SLOTS.forEach((slot, k) => {
      const kernel = kernels[k], kind = kernel ? `kernel-${kernel.name}` : "";
      become(named(`summary/${slot}`), { class: kind }, kernel ? firesWords(kernel) : "");
    });
  }

  // Sliders.  That of a size stands for its decimal logarithm; a key moves it by 12 %, and at least to the next size.

  const KEYS = { ArrowRight: 0.05, ArrowUp: 0.05, ArrowLeft: -0.05, ArrowDown: -0.05, PageUp: 0.5, PageDown: -0.5 };

  function follow(slider) {
    const name = slider.dataset.for, text = textOf(name);
    become(slider, { "aria-valuetext": text });
    const { data } = Model.read({ ...WORKED, [name]: text });
    if (!data) return;
    slider.value = !SIZES.includes(name) ? Exact.ratio(data[name])
      : decades(BigInt(name === "n" ? data.asked : data[name]));
  }

  // The size next to a power of ten that fits the other fields: n is a multiple of d − 2, and at most 10 ** LONGEST.
  function sizeNear(name, x) {
    const size = Model.powerOfTen(x), { data } = Model.read({ ...written(), n: WORKED.n, m: WORKED.m });
    if (name !== "n" || !data) return size;
    const { n } = Model.complete(data, size);
    return n > Model.powerOfTen(LONGEST) ? n - (data.d - 2n) : n;
  }

  function slide(slider) {
    const name = slider.dataset.for;
    field(name).value = SIZES.includes(name) ? sizeNear(name, Number(slider.value)) : slider.value;
  }

  function press(slider, move) {
    const name = slider.dataset.for, { data } = Model.read(written());
    if (!data) return;
    const old = BigInt(data[name]), unit = name === "n" ? data.d - 2n : 1n, most = Number(slider.max);
    let size = sizeNear(name, Math.max(Number(slider.min), Math.min(most, decades(old) + move)));
    if (size === old) size += move > 0 ? unit : -unit;
    if (size > 0n && decades(size) >= Number(slider.min) - 1e-4 && decades(size) <= most) field(name).value = size;
  }

  // The threshold can be taken by its line in every panel of bells, and moved with the keys of a slider.

  const TAU_KEYS = {
    ArrowRight: 0.01, ArrowUp: 0.01, ArrowLeft: -0.01, ArrowDown: -0.01, PageUp: 0.1, PageDown: -0.1,
    Home: -Infinity, End: Infinity,
  };
  const panels = () => form.querySelectorAll('[data-live="bells"] .panel');

  function makeHandle(panel, k) {
    const handle = panel.appendChild(document.createElement("div"));
    become(handle, {
      class: "handle", role: "slider", tabindex: k ? -1 : 0, "aria-label": "threshold τ", "data-is": `handle/${k}`,
    });
    handle.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      handle.setPointerCapture(event.pointerId);
      handle.focus();
    });
    handle.addEventListener("pointermove", (event) => {
      if (!handle.hasPointerCapture(event.pointerId)) return;
      const { right, sumAt } = sumScale(panel.clientWidth, shown.data);
      moveTau(sumAt(Math.min(right, event.clientX - panel.getBoundingClientRect().left)));
    });
    handle.addEventListener("keydown", (event) => {
      if (!(event.key in TAU_KEYS)) return;
      event.preventDefault();
      moveTau(tauOf(shown.data) + TAU_KEYS[event.key]);
    });
  }

  // By key or pointer the gap stays between 0 and 1.
  function moveTau(tau) {
    const gap = tau - Exact.ratio(shown.data.c);
    field("gap").value = Number(Math.max(0, Math.min(1, gap)).toFixed(2));
    update();
  }

  function placeHandles() {
    const tau = Number(tauOf(shown.data).toPrecision(6)), c = Exact.ratio(shown.data.c);
    panels().forEach((panel, k) => become(named(`handle/${k}`), {
      style: `left: ${sumScale(panel.clientWidth, shown.data).border.toFixed(2)}px;`,
      "aria-valuemin": c, "aria-valuemax": Math.max(tau, c + 1), "aria-valuenow": tau,
      "aria-valuetext": `τ = ${tau} √log n`,
    }));
  }

  // Let n grow.  Who wants less motion gets one step to ten times as many tokens instead.

  const still = matchMedia("(prefers-reduced-motion: reduce)");
  let playing = 0;

  function play() {
    const { data } = Model.read(written());
    if (playing || !data) return stop();
    const atEnd = decades(data.n) > LONGEST - 0.1, start = decades(atEnd ? Model.complete(data, 2n).n : data.n);
    if (still.matches) return grow(atEnd ? start : start + 1);
    const since = performance.now();
    const step = (now) => {
      const x = start + Math.max(0, now - since) / 1500; // a second and a half for each decade
      playing = x < LONGEST ? requestAnimationFrame(step) : 0;
      grow(x);
    };
    playing = requestAnimationFrame(step);
    return update();
  }

  function grow(x) {
    field("n").value = sizeNear("n", Math.min(LONGEST, x));
    update();
  }

  function stop() {
    cancelAnimationFrame(playing);
    playing = 0;
    update();
  }

  function showPlay() {
    const words = playing ? "stop" : still.matches ? "n × 10" : "let n grow";
    become(named("play"), { "aria-pressed": String(Boolean(playing)) }, words);
  }

  // From the fields to the page.  While a field is wrong, the last good result stays, in grey.

  const pictures = [...form.querySelectorAll("[data-live]")].map(Pictures.mount);
  let shown = null, shownFor = WORKED, later;

  function show(data, state) {
    [shown, shownFor] = [Model.explore(data), state];
    for (const picture of pictures) picture(shown);
    Numbers.show(shown, write);
    showWords(shown, state);
    placeHandles();
  }

  function update() {
    const state = written(), { data, problems } = Model.read(state);
    showProblems(problems);
    if (data) show(data, state);
    else write("sizes", "");
    const stands = NAMES.map((name) => `${name} = ${shownFor[name]}`).join(", ");
    become(named("pictures"), { "data-stale": String(!data) });
    write("stale", data ? "" : `What is written now has no result. The pictures and numbers stand for ${stands}.`);
    form.querySelectorAll("[data-for]").forEach(follow);
    showPlay();
    const reasons = [...problems].map(([name, why]) => `${name} = ${state[name] || "nothing"}: ${why}.`).join(" ");
    const fires = shown.kernels.map(firesWords).join("; ");
    clearTimeout(later); // neither the address nor a screen reader follows every step of a slider
    later = setTimeout(() => {
      write("status", data ? `The network fires with probability: ${fires}.` : `No result: ${reasons}`);
      if (data) history.replaceState(null, "", `?${new URLSearchParams(state)}`);
    }, 300);
  }

  form.addEventListener("input", ({ target }) => {
    if (target.dataset?.for) slide(target);
    if (target === field("kernel")) field("parameter").value = PARAMETERS[target.value] ?? "";
    if (playing && (target === field("n") || target === named("slider/n"))) stop();
    update();
  });
  form.addEventListener("keydown", (event) => {
    if (!SIZES.includes(event.target.dataset.for) || !(event.key in KEYS)) return;
    event.preventDefault();
    press(event.target, KEYS[event.key]);
    update();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    fill(WORKED);
    stop();
  });
  named("play").addEventListener("click", play);
  named("another").addEventListener("click", () => {
    const { data } = Model.read({ ...WORKED, seed: textOf("seed") });
    field("seed").value = ((data?.seed ?? 0) + 1) % 2 ** 32;
    update();
  });
  new ResizeObserver(() => requestAnimationFrame(placeHandles)).observe(form);

  Numbers.make(named("numbers"));
  panels().forEach(makeHandle);
  // On a phone the pictures come before all fields but the first.
  named("others").open = matchMedia("(min-width: 45rem)").matches;
  form.hidden = false;
  show(Model.read(WORKED).data, WORKED);
  const asked = [...new URLSearchParams(location.search)].filter(([name]) => NAMES.includes(name));
  fill({ ...WORKED, ...Object.fromEntries(asked) });
  update();
})();
