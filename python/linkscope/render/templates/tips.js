// What a cell or point says of its result, on hover and on focus; and chapters unfolded while the page is printed.
const tip = document.getElementById("tip");
const told = (one) => one?.dataset.tip ?? "";
for (const cell of document.querySelectorAll("td[title]")) {
  cell.dataset.tip = cell.title;
  cell.setAttribute("aria-label", `${cell.textContent}, ${cell.title}`);
  cell.removeAttribute("title");
  cell.tabIndex = 0;
}
const show = (target) => {
  tip.textContent = told(target);
  tip.hidden = false;
  const [at, box] = [target.getBoundingClientRect(), tip.getBoundingClientRect()];
  const left = Math.min(Math.max(8, at.left + at.width / 2 - box.width / 2), innerWidth - box.width - 8);
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${at.bottom + 8 + box.height < innerHeight ? at.bottom + 8 : at.top - box.height - 8}px`;
};
const hide = () => { tip.hidden = true; };
for (const name of ["pointerover", "focusin"]) {
  document.addEventListener(name, (event) => {
    const target = event.target.closest?.("[data-tip]");
    if (target) show(target);
    else if (!event.target.closest?.("svg.curves")) hide();
  });
}
document.addEventListener("focusout", hide);
document.addEventListener("scroll", hide, { passive: true, capture: true });
document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });

let unfolded = [];
addEventListener("beforeprint", () => {
  unfolded = [...document.querySelectorAll(".chapter:not(#results):not([open])")];
  for (const one of unfolded) one.open = true;
});
addEventListener("afterprint", () => { for (const one of unfolded) one.open = false; });
