// The table of all figures, sorted by a click on a column, filtered by words that must all occur; and tables as CSV.
const columns = [
  ["where", "where"], ["t", "table"], ["bytes", "size", "size"], ["median", "median"], ["unit", "unit"], ["half", "± %"],
  ["min", "min"], ["max", "max"], ["share", "% of peak"], ["n", "n"], ["clock", "clock"], ["status", "status"],
];
const MOST_LINES = 300;
// Columns in whose place a line without a figure has its reason.
const WITHIN = new Set(["median", "unit", "half", "min", "max", "share", "n"]);
const numeric = new Set(["bytes", "median", "half", "min", "max", "share", "n"]);
const shownWith = {
  t: (v) => titles[v], median: number, min: number, max: number, half: (v) => v.toFixed(2), share: (v) => v.toFixed(1),
};
const table = document.getElementById("all");
const filter = document.getElementById("filter");
const lower = records.map((r) => `${titles[r.t]} ${r.where} ${r.size} ${r.status} ${r.stopped} ${r.how} ${r.reason} ${r.id} ${r.clock}`.toLowerCase());
const asLine = (index) => {
  const r = records[index];
  const tr = document.createElement("tr");
  tr.dataset.i = index;
  tr.tabIndex = -1;
  for (const [key, , shown] of columns) {
    if (r.median === undefined && WITHIN.has(key)) continue;
    const td = document.createElement("td");
    const value = r[shown ?? key];
    td.textContent = value === undefined ? "" : shown ? value : (shownWith[key]?.(value) ?? value);
    if (numeric.has(key)) td.className = "n";
    if (key === "status") td.className = value;
    if (key === "share" && r.beyond) td.textContent = "> peak";
    tr.append(td);
    if (r.median === undefined && key === "bytes") {
      const why = tr.insertCell();
      [why.colSpan, why.className, why.textContent] = [WITHIN.size, "why", r.reason];
    }
  }
  return tr;
};
let order = records.map((_, index) => index);
let sorted = { key: "", up: true };
let most = MOST_LINES;
const kept = () => {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  return order.filter((index) => words.every((word) => lower[index].includes(word)));
};
const more = document.createElement("button");
more.type = "button";
more.className = "more-rows";
more.addEventListener("click", () => { most = Infinity; draw(); });
table.after(more);
const draw = () => {
  const found = kept();
  table.tBodies[0].replaceChildren(...found.slice(0, most).map(asLine));
  table.tBodies[0].firstChild?.setAttribute("tabindex", 0);
  more.hidden = found.length <= most;
  more.textContent = `Show all ${found.length}`;
  document.getElementById("count").textContent = `${found.length} of ${records.length}`;
};
const sortBy = (key, heads) => {
  sorted = { key, up: sorted.key === key ? !sorted.up : true };
  const sign = sorted.up ? 1 : -1;
  const compare = (a, b) => {
    const [x, y] = [records[a][key], records[b][key]];
    if (x === undefined || y === undefined) return (x === undefined) - (y === undefined);
    if (key === "t") return sign * titles[x].localeCompare(titles[y], "en", { numeric: true });
    return sign * (numeric.has(key) ? x - y : String(x).localeCompare(String(y), "en", { numeric: true }));
  };
  order = records.map((_, index) => index).sort(compare);
  for (const th of heads) th.removeAttribute("aria-sort");
  heads[columns.findIndex((c) => c[0] === key)].setAttribute("aria-sort", sorted.up ? "ascending" : "descending");
  draw();
};
const head = table.tHead.insertRow();
const heads = columns.map(([key, name]) => {
  const th = document.createElement("th");
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = name;
  button.addEventListener("click", () => sortBy(key, heads));
  if (numeric.has(key)) th.className = "n";
  th.append(button);
  head.append(th);
  return th;
});
// One stop of the tab key for all lines; arrows go on from there.
table.tBodies[0].addEventListener("keydown", (event) => {
  const line = event.target.closest("tr");
  const next = { ArrowDown: line.nextSibling, ArrowUp: line.previousSibling }[event.key];
  if (!next) return;
  event.preventDefault();
  [line.tabIndex, next.tabIndex] = [-1, 0];
  next.focus();
});
filter.addEventListener("input", () => { most = MOST_LINES; draw(); });
draw();

const CSV = [
  ["table", (r) => titles[r.t]], ["where"], ["bytes"], ["x"], ["median"], ["low"], ["high"], ["unit"], ["n"], ["min"], ["max"],
  ["peak_gbps", (r) => r.peak], ["percent_of_peak", (r) => r.share], ["expected_gbps", (r) => r.expected], ["clock"], ["cache"],
  ["status"], ["reason"], ["how"], ["id"],
];
const quoted = (v) => (/[",\n\r]/.test(v) ? `"${v.replaceAll('"', '""')}"` : v);
const csv = (some) => [
  CSV.map(([name]) => name),
  ...some.map((r) => CSV.map(([name, of]) => quoted(String((of ? of(r) : r[name]) ?? "")))),
].map((cells) => cells.join(",")).join("\n") + "\n";
const copy = async (button, text) => {
  const said = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch {  // a page from a file may not ask
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  button.dataset.csv = text.length;
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = said; }, 1500);
};
document.getElementById("copy-all").addEventListener("click", (e) => copy(e.target, csv(kept().map((i) => records[i]))));
for (const button of document.querySelectorAll("button.csv")) {
  button.addEventListener("click", () => copy(button, csv(records.filter((r) => r.t === Number(button.dataset.table)))));
}
