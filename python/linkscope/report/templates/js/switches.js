// Of each picture of curves the other axis, and of transfers the other figure: a time for a rate, a rate for a time.
const SECONDS = { ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1 };
const OPPOSITE = { median: "median", low: "high", high: "low", p5: "p95", p95: "p5" };
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
  const [left, right, top, bottom] = picture.dataset.area.split(" ").map(Number);
  const unit = picture.dataset.unit;
  const drawn = [...picture.querySelectorAll("g.series")].map((g) => {
    const points = marksOf(g).map((mark) => ({ mark, x: place(mark)[0], r: records[Number(mark.dataset.i)] }));
    return { g, points };
  });
  const ofAll = picture.querySelector(".of-all");
  const span = JSON.parse(ofAll?.dataset.points ?? "[]").map(([x, bytes, low, median, high]) => ({ x, r: { bytes, low, median, high } }));
  const all = [...drawn.flatMap((one) => one.points), ...span];
  const state = { log: picture.dataset.log === "1", turned: false };
  const value = (r, name) => {
    if (!state.turned) return r[name];
    const found = r[OPPOSITE[name]];
    return unit === "GB/s" ? r.bytes / found / 1e3 : r.bytes / (found * SECONDS[unit]) / 1e9;
  };
  const redraw = () => {
    const limits = state.turned ? [] : [...picture.querySelectorAll("g.limit")].map((one) => Number(one.dataset.value));
    const values = all.flatMap(({ r }) => ["low", "high", "p5", "p95"].filter((name) => name in r).map((name) => value(r, name))).concat(limits);
    const log = state.log && Math.min(...values) > 0;
    const low = log ? Math.min(...values) / 1.25 : 0;
    const high = Math.max(...values) * (log ? 1.25 : 1.08) || 1;
    const y = (v) => {
      const share = log ? Math.log(Math.max(v, low) / low) / Math.log(high / low) : v / high;
      return (bottom + (top - bottom) * share).toFixed(1);
    };
    const band = (points, below, above) => {
      const there = points.map(({ x, r }) => `${x.toFixed(1)} ${y(value(r, below))}`);
      const back = points.map(({ x, r }) => `${x.toFixed(1)} ${y(value(r, above))}`).reverse();
      return `M${[...there, ...back].join(" L")}Z`;
    };
    const line = (points) => points.map(({ x, r }) => `${x},${y(value(r, "median"))}`).join(" ");
    for (const { g, points } of drawn) {
      g.querySelector(".spread").setAttribute("d", band(points, "p5", "p95"));
      g.querySelector(".band").setAttribute("d", band(points, "low", "high"));
      g.querySelector("polyline").setAttribute("points", line(points));
      for (const { mark, x, r } of points) mark.setAttribute("transform", `translate(${x} ${y(value(r, "median"))})`);
    }
    ofAll?.querySelector(".envelope").setAttribute("d", band(span, "low", "high"));
    ofAll?.querySelector(".middle").setAttribute("points", line(span));
    for (const one of picture.querySelectorAll("g.limit")) {
      one.style.display = state.turned ? "none" : "";
      one.setAttribute("transform", `translate(0 ${y(Number(one.dataset.value))})`);
    }
    picture.querySelector(".y-axis").innerHTML = ticks(low, high, log).map((tick) =>
      `<line class="grid" x1="${left}" x2="${right}" y1="${y(tick)}" y2="${y(tick)}"/>`
        + `<text class="tick" x="${left - 8}" y="${y(tick)}" dy="4" text-anchor="end">${Number(tick.toPrecision(6))}</text>`).join("");
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
  if ("turns" in picture.dataset) add("turned", unit === "GB/s" ? ["As time", "As rate"] : ["As rate", "As time"]);
  picture.parentElement.before(switches);
}
