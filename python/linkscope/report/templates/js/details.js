// What a cell, point or line shows of its figure on hover and focus.
const records = JSON.parse(document.getElementById("records").textContent);
const titles = JSON.parse(document.getElementById("tables").textContent);
const tip = document.getElementById("tip");
// As wording.value: four significant digits, whole above 1000.
const number = (v) => v.toFixed(Math.min(Math.max(3 - (v === 0 ? 0 : Math.floor(Math.log10(Math.abs(v)))), 0), 9));

const line = (list, name, text) => {
  if (text === "" || text === undefined) return;
  const dt = document.createElement("dt");
  const dd = document.createElement("dd");
  dt.textContent = name;
  dd.textContent = text;
  list.append(dt, dd);
};
const details = (r, beside) => {
  const box = document.createDocumentFragment();
  const head = document.createElement("strong");
  head.textContent = r.where;
  const list = document.createElement("dl");
  if (r.median !== undefined) {
    line(list, "median", `${number(r.median)} ${r.unit}${r.margin ? ` (${r.margin})` : ""}`);
    line(list, "95 % interval", `${number(r.low)} – ${number(r.high)}`);
    line(list, "min, max", `${number(r.min)}, ${number(r.max)}`);
    line(list, "p5, p95", `${number(r.p5)}, ${number(r.p95)}`);
    line(list, "figure", r.what);
  } else {
    line(list, r.status, r.reason);
  }
  if (r.expected !== undefined) line(list, "expected", `${number(r.expected)} GB/s${r.low_by === undefined ? "" : `, ${r.low_by.toFixed(1)} % missing`}`);
  if (r.peak !== undefined) line(list, "peak", `${number(r.peak)} GB/s, ${r.why}`);
  if (r.beyond) line(list, "of peak", r.beyond);
  if (r.share !== undefined) line(list, "of peak", `${r.share.toFixed(1)} %`);
  if (r.n !== undefined) line(list, "n", `${r.n}, stopped by ${r.stopped || "?"}`);
  line(list, "bandwidth", r.bandwidths);
  line(list, "how", r.how);
  line(list, "size", r.size);
  line(list, "setting", r.setting);
  line(list, "clock, cache", `${r.clock}, ${r.cache}`);
  if (r.load !== "once") line(list, "load", r.load);
  if (r.overlap !== undefined) line(list, "overlap", `${number(r.overlap)} % of first start to last end`);
  line(list, "verified", r.verified);
  for (const note of r.notes) line(list, "note", note);
  for (const other of beside) line(list, "there too", `${number(other.median)} ${other.unit}: ${other.where}`);
  box.append(head, list);
  return box;
};
let told;
const show = (target, beside = []) => {
  told = target;
  tip.replaceChildren(details(records[Number(target.dataset.i)], beside));
  tip.hidden = false;
  settle();
};
const settle = () => {
  const at = told.getBoundingClientRect();
  const box = tip.getBoundingClientRect();
  const left = Math.min(Math.max(8, at.left + at.width / 2 - box.width / 2), innerWidth - box.width - 8);
  const below = at.bottom + 8 + box.height < innerHeight || at.top < box.height + 16;
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${below ? at.bottom + 8 : at.top - box.height - 8}px`;
};
const hide = () => { tip.hidden = true; };
const inPicture = (event) => event.target.closest?.("svg.curves");
const carrier = (event) => event.target.closest?.("[data-i]");
document.addEventListener("pointerover", (e) => { if (!inPicture(e)) (carrier(e) ? show(carrier(e)) : hide()); });
document.addEventListener("focusin", (e) => { if (!inPicture(e)) (carrier(e) ? show(carrier(e)) : hide()); });
document.addEventListener("focusout", hide);
// The page scrolls to what is focused, which must not take its details away.
document.addEventListener("scroll", () => { if (!tip.hidden) (told === document.activeElement ? settle : hide)(); }, { passive: true, capture: true });
document.addEventListener("keydown", (e) => { if (e.key === "Escape") hide(); });

// What is printed is unfolded for as long as that takes; of collectives a line for each table is enough, but for those
// that are open.
let unfolded = [];
addEventListener("beforeprint", () => {
  unfolded = [...document.querySelectorAll("details:is(.chapter:not(#rows), .judged, .fold:not(.group *)):not([open])")];
  for (const one of unfolded) one.open = true;
});
addEventListener("afterprint", () => { for (const one of unfolded) one.open = false; });
