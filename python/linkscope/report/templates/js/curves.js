// Curves: the nearest point's details, points by the arrow keys, series on and off, the other axis and the other figure.
const SECONDS = { ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1 };
const ticks = (low, high, log) => {
  if (!log) {
    const power = 10 ** Math.floor(Math.log10(high / 6));
    const step = [1, 2, 5, 10].map((digit) => digit * power).find((one) => one >= high / 6);
    return Array.from({ length: Math.floor(high / step) + 1 }, (_, i) => i * step);
  }
  let inside = [];
  for (const digits of [[1, 2, 5], [1]]) {
    inside = [];
    for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e++) inside.push(...digits.map((digit) => digit * 10 ** e));
    inside = inside.filter((tick) => tick >= low && tick <= high);
    if (inside.length <= 10) break;
  }
  return inside;
};
for (const picture of document.querySelectorAll("svg.curves")) {
  const section = picture.closest("section");
  const groups = [...picture.querySelectorAll("g.series")];
  const place = (mark) => mark.getAttribute("transform").match(/-?[\d.]+/g).map(Number);
  const shown = () => groups.filter((g) => !g.classList.contains("off"));
  const marksOf = (g) => [...g.querySelectorAll("[data-i]")];
  let near;
  const point = (mark) => {
    near?.classList.remove("near");
    near = mark;
    if (!mark) return hide();
    mark.classList.add("near");
    const [x] = place(mark);
    const others = shown().flatMap(marksOf).filter((m) => m !== mark && Math.abs(place(m)[0] - x) < 0.2);
    show(mark, others.slice(0, 5).map((m) => records[Number(m.dataset.i)]));
  };
  picture.addEventListener("pointermove", (event) => {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(picture.getScreenCTM().inverse());
    let best, least = 40 ** 2;
    for (const mark of shown().flatMap(marksOf)) {
      const [x, y] = place(mark);
      const far = (x - at.x) ** 2 + (y - at.y) ** 2;
      if (far < least) [best, least] = [mark, far];
    }
    if (best !== near || tip.hidden) point(best);
  });
  picture.addEventListener("pointerleave", () => point(undefined));
  for (const g of groups) for (const [i, mark] of marksOf(g).entries()) mark.setAttribute("tabindex", i ? -1 : 0);
  picture.addEventListener("focusin", (event) => { if (event.target.dataset.i) point(event.target); });
  picture.addEventListener("keydown", (event) => {
    const mark = event.target.closest("[data-i]");
    const step = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!mark || !step) return;
    event.preventDefault();
    const series = shown();
    const row = series.indexOf(mark.closest("g.series"));
    const here = marksOf(series[row]);
    const line = marksOf(series[(row + step[1] + series.length) % series.length]);
    const column = Math.min(Math.max(here.indexOf(mark) + step[0], 0), line.length - 1);
    line[column].focus();
  });

  // Legend: pointed at, a series stands out; pressed, it goes or comes.
  for (const entry of section.querySelectorAll(".series-legend button")) {
    const g = picture.querySelector(`g[data-series="${entry.dataset.series}"]`);
    const mark = (on) => {
      picture.classList.toggle("picked", on);
      g?.classList.toggle("pick", on);
    };
    for (const type of ["pointerenter", "focus"]) entry.addEventListener(type, () => mark(true));
    for (const type of ["pointerleave", "blur"]) entry.addEventListener(type, () => mark(false));
    entry.addEventListener("click", () => {
      const off = g?.classList.toggle("off");
      entry.setAttribute("aria-pressed", String(!off));
      mark(false);
    });
  }

  // The other axis, and of transfers the other figure: a time for a rate, a rate for a time.
  if (picture.querySelector(".envelope")) continue;
  const [left, right, top, bottom] = picture.dataset.area.split(" ").map(Number);
  const unit = picture.dataset.unit;
  const drawn = groups.map((g) => ({ g, points: marksOf(g).map((mark) => ({ mark, x: place(mark)[0], r: records[Number(mark.dataset.i)] })) }));
  const all = drawn.flatMap((one) => one.points);
  const state = { log: picture.dataset.log === "1", turned: false };
  const opposite = { median: "median", low: "high", high: "low", p5: "p95", p95: "p5" };
  const value = (r, name) => {
    if (!state.turned) return r[name];
    const found = r[opposite[name]];
    return unit === "GB/s" ? r.bytes / found / 1e3 : r.bytes / (found * SECONDS[unit]) / 1e9;
  };
  const redraw = () => {
    const limits = state.turned ? [] : [...picture.querySelectorAll("g.limit")];
    const known = limits.map((one) => Number(one.dataset.value));
    const lows = all.flatMap(({ r }) => [value(r, "p5"), value(r, "low")]).concat(known);
    const highs = all.flatMap(({ r }) => [value(r, "p95"), value(r, "high")]).concat(known);
    const log = state.log && Math.min(...lows) > 0;
    const low = log ? Math.min(...lows) / 1.25 : 0;
    const high = Math.max(...highs) * (log ? 1.25 : 1.08) || 1;
    const y = (v) => {
      const share = log ? Math.log(Math.max(v, low) / low) / Math.log(high / low) : v / high;
      return bottom + (top - bottom) * share;
    };
    const band = (points, below, above) => {
      const there = points.map(({ x, r }) => `${x.toFixed(1)} ${y(value(r, below)).toFixed(1)}`);
      const back = points.map(({ x, r }) => `${x.toFixed(1)} ${y(value(r, above)).toFixed(1)}`).reverse();
      return `M${[...there, ...back].join(" L")}Z`;
    };
    for (const { g, points } of drawn) {
      g.querySelector(".spread").setAttribute("d", band(points, "p5", "p95"));
      g.querySelector(".band").setAttribute("d", band(points, "low", "high"));
      g.querySelector("polyline").setAttribute("points", points.map(({ x, r }) => `${x},${y(value(r, "median")).toFixed(1)}`).join(" "));
      for (const { mark, x, r } of points) mark.setAttribute("transform", `translate(${x} ${y(value(r, "median")).toFixed(1)})`);
    }
    for (const one of picture.querySelectorAll("g.limit")) {
      one.style.display = state.turned ? "none" : "";
      one.setAttribute("transform", `translate(0 ${y(Number(one.dataset.value)).toFixed(1)})`);
    }
    picture.querySelector(".y-axis").innerHTML = ticks(low, high, log).map((tick) => {
      const at = y(tick).toFixed(1);
      return `<line class="grid" x1="${left}" x2="${right}" y1="${at}" y2="${at}"/>`
        + `<text class="tick" x="${left - 8}" y="${at}" dy="4" text-anchor="end">${Number(tick.toPrecision(6))}</text>`;
    }).join("");
    picture.querySelector(".unit").textContent = state.turned ? (unit === "GB/s" ? "us" : "GB/s") : unit;
  };
  const switches = document.createElement("p");
  switches.className = "switches";
  const add = (name, texts) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = texts[Number(state[name])];
    button.addEventListener("click", () => {
      state[name] = !state[name];
      button.textContent = texts[Number(state[name])];
      redraw();
    });
    switches.append(button);
  };
  add("log", ["Logarithmic axis", "Linear axis"]);
  const moves = all.length && all.every(({ r }) => r.bytes > 0) && (unit === "GB/s" || unit in SECONDS);
  if (moves && section.querySelector(".picture").dataset.x === "bytes") add("turned", unit === "GB/s" ? ["As time", "As rate"] : ["As rate", "As time"]);
  picture.parentElement.before(switches);
}
