// Curves: the nearest point's details, points by the arrow keys, series on and off.
const place = (mark) => mark.getAttribute("transform").match(/-?[\d.]+/g).map(Number);
const marksOf = (g) => [...g.querySelectorAll("[data-i]")];
for (const picture of document.querySelectorAll("svg.curves")) {
  const section = picture.closest("section");
  const groups = [...picture.querySelectorAll("g.series")];
  const shown = () => groups.filter((g) => !g.classList.contains("off"));
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

  // With points to go to it is no longer one image; its title would stand over the details of a point.
  const name = picture.querySelector("title");
  picture.setAttribute("role", "group");
  picture.setAttribute("aria-label", name.textContent);
  name.remove();
  for (const g of groups) {
    for (const [i, mark] of marksOf(g).entries()) {
      const r = records[Number(mark.dataset.i)];
      mark.setAttribute("tabindex", i ? -1 : 0);
      mark.setAttribute("role", "img");
      mark.setAttribute("aria-label", `${r.where}: ${number(r.median)} ${r.unit}${r.margin ? `, ${r.margin}` : ""}`);
    }
  }
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
    const g = picture.querySelector(`[data-series="${entry.dataset.series}"]`);
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
}
