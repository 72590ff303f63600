// Brings the page to life: details on hover and focus, the table of all figures, highlighted series, the download.
"use strict";
(() => {
  const records = JSON.parse(document.getElementById("records").textContent);
  const tip = document.getElementById("tip");
  // As wording.value: four significant digits, whole above 1000.
  const number = (v) => v.toFixed(Math.min(Math.max(3 - (v === 0 ? 0 : Math.floor(Math.log10(Math.abs(v)))), 0), 9));

  // Details of one figure, beside the cell, point or line that shows it.
  const line = (list, name, text) => {
    if (text === "" || text === undefined) return;
    const dt = document.createElement("dt");
    const dd = document.createElement("dd");
    dt.textContent = name;
    dd.textContent = text;
    list.append(dt, dd);
  };
  const details = (r) => {
    const box = document.createDocumentFragment();
    const head = document.createElement("strong");
    head.textContent = r.where;
    const list = document.createElement("dl");
    if (r.median !== undefined) {
      line(list, "median", `${number(r.median)} ${r.unit} (${r.margin})`);
      line(list, "95 % interval", `${number(r.low)} – ${number(r.high)}`);
      line(list, "min, max", `${number(r.min)}, ${number(r.max)}`);
      line(list, "p5, p95", `${number(r.p5)}, ${number(r.p95)}`);
      line(list, "figure", r.what);
    } else {
      line(list, r.status, r.reason);
    }
    if (r.peak !== undefined) line(list, "peak", `${number(r.peak)} GB/s, ${r.why}`);
    if (r.beyond) line(list, "of peak", r.beyond);
    if (r.share !== undefined) line(list, "of peak", `${r.share.toFixed(1)} %`);
    if (r.n !== undefined) line(list, "samples", `${r.n}, stopped by ${r.stopped || "?"}`);
    line(list, "bandwidth", r.bandwidths);
    line(list, "how", r.how);
    line(list, "size", r.size);
    line(list, "setting", r.setting);
    line(list, "clock, cache", `${r.clock}, ${r.cache}`);
    if (r.load !== "once") line(list, "load", r.load);
    if (r.overlap !== undefined) line(list, "overlap", `${number(r.overlap)} % of first start to last end`);
    line(list, "verified", r.verified);
    for (const note of r.notes) line(list, "note", note);
    box.append(head, list);
    return box;
  };
  const show = (target) => {
    tip.replaceChildren(details(records[Number(target.dataset.i)]));
    tip.hidden = false;
    const at = target.getBoundingClientRect();
    const box = tip.getBoundingClientRect();
    const left = Math.min(Math.max(8, at.left + at.width / 2 - box.width / 2), innerWidth - box.width - 8);
    const below = at.bottom + 8 + box.height < innerHeight || at.top < box.height + 16;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${below ? at.bottom + 8 : at.top - box.height - 8}px`;
  };
  const hide = () => { tip.hidden = true; };
  const carrier = (event) => event.target.closest?.("[data-i]");
  document.addEventListener("pointerover", (e) => (carrier(e) ? show(carrier(e)) : hide()));
  document.addEventListener("focusin", (e) => (carrier(e) ? show(carrier(e)) : hide()));
  document.addEventListener("focusout", hide);
  document.addEventListener("scroll", hide, { passive: true });
  document.addEventListener("keydown", (e) => { if (e.key === "Escape") hide(); });

  // One series stands out while its legend entry is pointed at.
  for (const entry of document.querySelectorAll(".series-legend li")) {
    const picture = entry.closest("section").querySelector("svg.curves");
    const mark = (on) => {
      picture.classList.toggle("picked", on);
      picture.querySelector(`g[data-series="${entry.dataset.series}"]`)?.classList.toggle("pick", on);
    };
    for (const type of ["pointerenter", "focus"]) entry.addEventListener(type, () => mark(true));
    for (const type of ["pointerleave", "blur"]) entry.addEventListener(type, () => mark(false));
  }

  // All figures, sorted by a click on a column, filtered by words that must all occur.
  const columns = [
    ["table", "table"], ["where", "where"], ["bytes", "size", "size"], ["median", "median"], ["unit", "unit"],
    ["half", "± %"], ["min", "min"], ["max", "max"], ["share", "% of peak"], ["n", "n"], ["stopped", "stopped by"],
    ["status", "status"], ["how", "how"],
  ];
  const numeric = new Set(["bytes", "median", "half", "min", "max", "share", "n"]);
  const shownWith = { median: number, min: number, max: number, half: (v) => v.toFixed(2), share: (v) => v.toFixed(1) };
  const table = document.getElementById("all");
  const text = records.map((r) => `${r.table} ${r.where} ${r.size} ${r.status} ${r.stopped} ${r.how} ${r.reason} ${r.id}`.toLowerCase());
  const lines = records.map((r, index) => {
    const tr = document.createElement("tr");
    tr.dataset.i = index;
    tr.tabIndex = -1;
    for (const [key, , shown] of columns) {
      const td = document.createElement("td");
      const value = r[shown ?? key];
      td.textContent = value === undefined ? "" : shown ? value : (shownWith[key]?.(value) ?? value);
      if (numeric.has(key)) td.className = "n";
      if (key === "status") td.className = value;
      if (key === "share" && r.beyond) td.textContent = "> peak";
      if (key === "status" && r.reason) td.textContent = `${value}: ${r.reason}`;
      tr.append(td);
    }
    return tr;
  });
  let order = records.map((_, index) => index);
  let sorted = { key: "", up: true };
  const draw = () => {
    const words = document.getElementById("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    const kept = order.filter((index) => words.every((word) => text[index].includes(word)));
    table.tBodies[0].replaceChildren(...kept.map((index) => lines[index]));
    document.getElementById("count").textContent = `${kept.length} of ${records.length}`;
  };
  const sortBy = (key, heads) => {
    sorted = { key, up: sorted.key === key ? !sorted.up : true };
    const sign = sorted.up ? 1 : -1;
    const compare = (a, b) => {
      const [x, y] = [records[a][key], records[b][key]];
      if (x === undefined || y === undefined) return (x === undefined) - (y === undefined);
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
  document.getElementById("filter").addEventListener("input", draw);
  draw();

  // The run file itself, unpacked only when asked for.
  document.getElementById("download").addEventListener("click", async (event) => {
    const packed = Uint8Array.from(atob(document.getElementById("raw").textContent.trim()), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await new Response(stream).blob());
    link.download = event.target.dataset.name;
    link.click();
    URL.revokeObjectURL(link.href);
  });
})();
