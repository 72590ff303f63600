// Tables as CSV, and the list of all results. What is packed into the page is unpacked when it is asked for.
const MOST_LINES = 300;
const unpacked = async (text) => {
  const packed = Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
};
const part = (id) => document.getElementById(id);
const parsed = (text) => {
  const lines = [];
  for (const [line] of text.matchAll(/(?:"[^"]*"|[^"\n])+/g)) {
    const cells = line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g);
    lines.push([...cells].map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain));
  }
  return lines;
};
const quoted = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
const csv = (lines) => lines.map((cells) => cells.map(quoted).join(",")).join("\n") + "\n";
let read;
const results = () => (read ??= unpacked(part("csv").textContent).then(parsed));

const save = (blob, name) => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
};
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
  button.dataset.copied = text.length;
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = said; }, 1500);
};
for (const button of document.querySelectorAll("button.csv")) {
  button.addEventListener("click", async () => {
    if (button.dataset.csv) return copy(button, await unpacked(button.dataset.csv));
    const [head, ...lines] = await results();
    const title = head.indexOf("title");
    return copy(button, csv([head, ...lines.filter((line) => line[title] === button.dataset.title)]));
  });
}

// Filtered by words that must all occur, sorted by a click on a column.
if (part("all")) {
  const [table, filter] = [part("all"), part("filter")];
  let [head, lines, shown, most, sorted] = [[], [], [], MOST_LINES, [-1, 1]];
  const numeric = (text) => text !== "" && !Number.isNaN(Number(text));
  const draw = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    shown = lines.filter((line) => { const text = line.join(" ").toLowerCase(); return words.every((word) => text.includes(word)); });
    table.tBodies[0].replaceChildren(...shown.slice(0, most).map((line) => {
      const tr = document.createElement("tr");
      for (const text of line) {
        const td = tr.insertCell();
        td.textContent = text;
        if (numeric(text)) td.className = "n";
      }
      return tr;
    }));
    more.hidden = shown.length <= most;
    part("count").textContent = `${shown.length} of ${lines.length}`;
  };
  const more = document.createElement("button");
  more.type = "button";
  more.textContent = "Show all";
  more.addEventListener("click", () => { most = Infinity; draw(); });
  table.after(more);
  const sortBy = (column, heads) => {
    sorted = [column, sorted[0] === column ? -sorted[1] : 1];
    const both = (x, y) => (numeric(x) && numeric(y) ? x - y : x.localeCompare(y, "en", { numeric: true }));
    lines.sort((a, b) => (a[column] === "") - (b[column] === "") || sorted[1] * both(a[column], b[column]));
    for (const th of heads) th.removeAttribute("aria-sort");
    heads[column].setAttribute("aria-sort", sorted[1] > 0 ? "ascending" : "descending");
    draw();
  };
  const start = async () => {
    [head, ...lines] = await results();
    const row = table.tHead.insertRow();
    const heads = head.map((name, column) => {
      const [th, button] = [document.createElement("th"), document.createElement("button")];
      button.type = "button";
      button.textContent = name.replaceAll("_", " ");
      button.addEventListener("click", () => sortBy(column, heads));
      th.append(button);
      row.append(th);
      return th;
    });
    draw();
  };
  const opened = () => { if (part("results").open && !lines.length) start(); };
  part("results").addEventListener("toggle", opened);
  opened();
  filter.addEventListener("input", () => { most = MOST_LINES; draw(); });
  part("copy-all").addEventListener("click", async (event) => { await results(); copy(event.target, csv([head, ...shown])); });
  part("save-csv").addEventListener("click", async () => save(new Blob([await unpacked(part("csv").textContent)]), `${document.body.dataset.file}.csv`));
  part("save-raw")?.addEventListener("click", async () => save(new Blob([await unpacked(part("raw").textContent)]), `${document.body.dataset.file}.jsonl`));
}
