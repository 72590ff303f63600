// A picture as PNG: title, legend and what the page says above it belong to it, in the colours of the page.
const KEPT = [
  "display", "fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "opacity",
  "font-family", "font-size", "font-weight", "text-anchor",
];
const SHARPNESS = 2;
const MARGIN = 20;
const NARROWEST = 560;
const named = (box) => {
  let at = box.previousElementSibling;
  while (at && at.tagName !== "H3") at = at.previousElementSibling;
  return at;
};
const styled = (svg, x, y, width, height) => {
  const copy = svg.cloneNode(true);
  const [from, to] = [svg, copy].map((one) => [one, ...one.querySelectorAll("*")]);
  for (const [i, one] of from.entries()) {
    const style = getComputedStyle(one);
    to[i].setAttribute("style", KEPT.map((name) => `${name}:${style.getPropertyValue(name)}`).join(";"));
  }
  for (const [name, value] of Object.entries({ x, y, width, height, overflow: "visible" })) copy.setAttribute(name, value);
  return copy;
};
const SVG = new DOMParser().parseFromString("<svg></svg>", "text/html").querySelector("svg").namespaceURI;
const element = (name, attributes, text = "") => {
  const one = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, value);
  one.textContent = text;
  return one;
};
// Coloured boxes as a drawing, then each text where the page has it.
const drawn = (shown, boxes, x, y) => {
  const { left, top, width, height } = shown.getBoundingClientRect();
  const picture = element("svg", { x, y, width, height, overflow: "visible" });
  for (const one of shown.querySelectorAll(boxes)) {
    const [at, style] = [one.getBoundingClientRect(), getComputedStyle(one)];
    const edge = style.outlineStyle !== "none" ? "outline" : "border-top";
    picture.append(element("rect", {
      x: at.left - left, y: at.top - top, width: at.width, height: at.height, rx: parseFloat(style.borderRadius), fill: style.backgroundColor,
      stroke: style.getPropertyValue(`${edge}-color`), "stroke-width": parseFloat(style.getPropertyValue(`${edge}-width`)),
    }));
  }
  const texts = document.createTreeWalker(shown, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  while (texts.nextNode()) {
    const text = texts.currentNode;
    range.selectNodeContents(text);
    const [at, style] = [range.getBoundingClientRect(), getComputedStyle(text.parentElement)];
    if (!at.width) continue;
    picture.append(element("text", {
      x: at.left - left, y: (at.top + at.bottom) / 2 - top, "dominant-baseline": "central", fill: style.color,
      "font-family": style.fontFamily, "font-size": style.fontSize, "font-weight": style.fontWeight,
    }, text.data.trim()));
  }
  return picture;
};
const sheet = (shown, box, head) => {
  const svg = shown.matches("svg");
  const { width: own, height } = svg ? shown.viewBox.baseVal : shown.getBoundingClientRect();
  const width = Math.max(own, NARROWEST);
  const root = getComputedStyle(document.documentElement);
  const family = getComputedStyle(document.body).fontFamily;
  const pen = document.createElement("canvas").getContext("2d");
  const page = element("svg", {});
  let y = MARGIN;
  const write = (text, x, size, weight, colour) => {
    const font = { "font-size": size, "font-weight": weight, "font-family": family };
    page.append(element("text", { x, y, fill: root.getPropertyValue(colour), ...font }, text));
  };
  const paragraph = (text, size, weight, colour) => {
    pen.font = `${weight} ${size}px ${family}`;
    let line = "";
    for (const word of [...text.trim().split(/\s+/), ""]) {
      if (line && (!word || pen.measureText(`${line} ${word}`).width > width)) {
        y += size * 1.4;
        write(line, MARGIN, size, weight, colour);
        line = "";
      }
      line = line ? `${line} ${word}` : word;
    }
  };
  paragraph(head.firstChild.textContent, 17, 600, "--ink");
  const mark = document.querySelector(".banner")?.textContent;
  if (mark) paragraph(mark, 13, 600, "--warn");
  y += MARGIN;
  page.append(svg ? styled(shown, MARGIN, y, own, height) : drawn(shown, "tbody td", MARGIN, y));
  y += height + MARGIN;
  let after = box.nextElementSibling;
  let x = MARGIN;
  if (after?.matches(".series")) y += 8;
  for (const entry of after?.matches(".series") ? after.children : []) {
    if (entry.querySelector("[aria-pressed=false]")) continue;
    pen.font = `400 13px ${family}`;
    const needed = 36 + pen.measureText(entry.textContent).width;
    if (x > MARGIN && x + needed > MARGIN + width) [x, y] = [MARGIN, y + 22];
    page.append(styled(entry.querySelector("svg"), x, y - 8, 28, 8));
    write(entry.textContent, x + 36, 13, 400, "--ink");
    x += needed + 20;
  }
  y += 8;
  while (after?.matches(".series")) after = after.nextElementSibling;
  if (after?.matches(".legend")) paragraph(after.textContent, 12, 400, "--dim");
  paragraph(`linkscope · ${document.querySelector(".who").textContent} · ${document.body.dataset.file}`, 12, 400, "--dim");
  const size = { width: width + 2 * MARGIN, height: Math.ceil(y + MARGIN) };
  page.prepend(element("rect", { ...size, fill: root.getPropertyValue("--card") }));
  for (const [key, value] of Object.entries({ ...size, viewBox: `0 0 ${size.width} ${size.height}` })) page.setAttribute(key, value);
  return { page, ...size };
};
const png = async ({ page, width, height }) => {
  const image = new Image();
  image.src = `data:image/svg+xml,${encodeURIComponent(new XMLSerializer().serializeToString(page))}`;
  await new Promise((done, fail) => {
    image.onload = done;
    image.onerror = () => fail(new Error("the browser does not draw the picture"));
  });
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width * SHARPNESS, height * SHARPNESS];
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done, fail) => {
    canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error("the picture is too large for the browser"))));
  });
};
for (const shown of document.querySelectorAll("svg.curves, svg.ways, table.heat")) {
  const box = shown.parentElement;
  const head = named(box);
  if (!head) continue;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "png";
  button.textContent = "PNG";
  button.title = "Save as PNG";
  button.addEventListener("click", async () => {
    const title = head.firstChild.textContent.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
    try {
      save(await png(sheet(shown, box, head)), `${document.body.dataset.file}-${title.slice(0, 60)}.png`);
      [button.textContent, button.title] = ["PNG", "Save as PNG"];
    } catch (error) {
      [button.textContent, button.title] = ["No PNG", error.message];
    }
  });
  head.append(" ", button);
}
