// Curves: the nearest point's numbers, points by the arrow keys, series on and off, the other axis, rates as times.
const SECONDS = { ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1 };
const numbers = (text) => text.split(",").map(Number);
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
  const groups = [...picture.querySelectorAll("g.line")];
  const marksOf = (g) => [...g.querySelectorAll(".mark")];
  const shown = () => groups.filter((g) => !g.classList.contains("off"));
  const place = (mark) => [Number(mark.getAttribute("cx")), Number(mark.getAttribute("cy"))];

  // With points to go to it is no longer one image; titles would stand over the details of a point.
  const name = picture.querySelector("title");
  picture.setAttribute("role", "group");
  picture.setAttribute("aria-label", name.textContent);
  name.remove();
  for (const g of groups) {
    for (const [i, mark] of marksOf(g).entries()) {
      const text = mark.querySelector("title");
      mark.dataset.tip = text.textContent;
      mark.setAttribute("aria-label", text.textContent);
      mark.setAttribute("role", "img");
      mark.setAttribute("tabindex", i ? -1 : 0);
      text.remove();
    }
  }
  let near;
  picture.addEventListener("pointermove", (event) => {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(picture.getScreenCTM().inverse());
    let best, least = 40 ** 2;
    for (const mark of shown().flatMap(marksOf)) {
      const [x, y] = place(mark);
      const far = (x - at.x) ** 2 + (y - at.y) ** 2;
      if (far < least) [best, least] = [mark, far];
    }
    if (best === near && !tip.hidden) return;
    near = best;
    if (near) show(near);
    else hide();
  });
  picture.addEventListener("pointerleave", hide);
  picture.addEventListener("keydown", (event) => {
    const mark = event.target.closest(".mark");
    const step = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!mark || !step) return;
    event.preventDefault();
    const series = shown();
    const row = series.indexOf(mark.closest("g.line"));
    const line = marksOf(series[(row + step[1] + series.length) % series.length]);
    const column = Math.min(Math.max(marksOf(series[row]).indexOf(mark) + step[0], 0), line.length - 1);
    line[column].focus();
  });
  for (const entry of section.querySelectorAll(".series button")) {
    const g = picture.querySelector(`[data-series="${entry.dataset.series}"]`);
    const mark = (on) => { picture.classList.toggle("picked", on); g?.classList.toggle("pick", on); };
    for (const type of ["pointerenter", "focus"]) entry.addEventListener(type, () => mark(true));
    for (const type of ["pointerleave", "blur"]) entry.addEventListener(type, () => mark(false));
    entry.addEventListener("click", () => {
      entry.setAttribute("aria-pressed", String(!g?.classList.toggle("off")));
      mark(false);
    });
  }

  const [left, right, top, bottom] = picture.dataset.area.split(" ").map(Number);
  const unit = picture.dataset.unit;
  const state = { log: picture.dataset.log === "1", turned: false };
  const drawn = groups.map((g) => [g, marksOf(g).map((mark) => ({ mark, x: place(mark)[0], y: numbers(mark.dataset.y), other: numbers(mark.dataset.other) }))]);
  const value = (point) => (state.turned ? point.other : point.y);
  const redraw = () => {
    const limits = [...picture.querySelectorAll("g.limit")];
    const values = drawn.flatMap(([, points]) => points.flatMap(value));
    const all = values.concat(state.turned ? [] : limits.map((one) => Number(one.dataset.value)));
    const log = state.log && Math.min(...all) > 0;
    const [low, high] = [log ? Math.min(...all) / 1.25 : 0, Math.max(...all) * (log ? 1.25 : 1.08) || 1];
    const y = (v) => (bottom + (top - bottom) * (log ? Math.log(Math.max(v, low) / low) / Math.log(high / low) : v / high)).toFixed(1);
    for (const [g, points] of drawn) {
      const edge = (side) => points.map((point) => `${point.x.toFixed(1)} ${y(value(point)[side])}`);
      g.querySelector(".band").setAttribute("d", `M${[...edge(1), ...edge(2).reverse()].join(" L")}Z`);
      g.querySelector("polyline").setAttribute("points", points.map((point) => `${point.x},${y(value(point)[0])}`).join(" "));
      for (const point of points) point.mark.setAttribute("cy", y(value(point)[0]));
    }
    for (const one of limits) {
      one.style.display = state.turned ? "none" : "";
      one.setAttribute("transform", `translate(0 ${y(Number(one.dataset.value))})`);
    }
    const axis = picture.querySelector(".y-axis");
    const [grid, text] = [axis.querySelector("line"), axis.querySelector("text")];
    axis.replaceChildren(...ticks(low, high, log).flatMap((tick) => {
      const [line, label] = [grid.cloneNode(), text.cloneNode()];
      line.setAttribute("y1", y(tick));
      line.setAttribute("y2", y(tick));
      label.setAttribute("y", Number(y(tick)) + 4);
      label.textContent = Number(tick.toPrecision(6));
      return [line, label];
    }));
    picture.querySelector(".unit text").textContent = state.turned ? (unit === "GB/s" ? "us" : "GB/s") : unit;
  };
  const switches = document.createElement("p");
  switches.className = "switches";
  const add = (key, texts) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = texts[Number(state[key])];
    button.addEventListener("click", () => {
      state[key] = !state[key];
      button.textContent = texts[Number(state[key])];
      redraw();
    });
    switches.append(button);
  };
  if (!drawn.length || picture.dataset.turns === "") continue;
  add("log", ["Logarithmic axis", "Linear axis"]);
  if (picture.dataset.turns === "1") add("turned", unit === "GB/s" ? ["As time", "As rate"] : ["As rate", "As time"]);
  picture.parentElement.before(switches);
}
