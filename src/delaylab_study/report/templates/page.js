"use strict";
// Rows of a table by the column whose head is clicked; a row and what unfolds below it stay together.
const value = (cell) => {
  const number = parseFloat(cell.dataset.value);
  return Number.isNaN(number) ? cell.textContent.trim() : number;
};
const order = (a, b) => {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a === typeof b) return a.localeCompare(b, undefined, { numeric: true });
  return typeof a === "number" ? -1 : 1;
};
const cellAt = (row, column) => {
  let at = 0;
  for (const cell of row.cells) {
    at += cell.colSpan;
    if (at > column) return cell;
  }
  return row.cells[row.cells.length - 1];
};
const sort = (head) => {
  const down = head.getAttribute("aria-sort") === "ascending";
  for (const each of head.parentNode.cells) each.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const groups = [];
  for (const row of [...head.closest("table").rows].slice(1)) {
    if (row.className === "opens") groups[groups.length - 1].push(row);
    else groups.push([row]);
  }
  // A label that stands once for the rows below it is written into each before they move.
  groups.forEach(([row], place) => {
    [...row.cells].forEach((cell, at) => {
      if (cell.dataset.once !== undefined && place) {
        cell.replaceChildren(...[...groups[place - 1][0].cells[at].cloneNode(true).childNodes]);
        delete cell.dataset.once;
      }
    });
  });
  const key = ([row]) => value(cellAt(row, head.cellIndex));
  groups.sort((a, b) => (down ? -1 : 1) * order(key(a), key(b)));
  head.closest("tbody").append(...groups.flat());
};
for (const table of document.querySelectorAll("main table")) {
  for (const head of table.rows[0].cells) {
    head.tabIndex = 0;
    head.addEventListener("click", () => sort(head));
    head.addEventListener("keydown", (event) => {
      if (event.key === "Enter") sort(head);
    });
  }
}
// A link leads into what is folded, and what it leads to is marked.
const reveal = () => {
  for (const each of document.querySelectorAll(".reached")) each.classList.remove("reached");
  const place = location.hash && document.getElementById(location.hash.slice(1));
  if (!place) return;
  for (let each = place; each; each = each.parentElement) {
    if (each.tagName === "DETAILS") each.open = true;
  }
  const opens = place.nextElementSibling;
  if (opens && opens.className === "opens") opens.querySelector("details").open = true;
  place.classList.add("reached");
  place.scrollIntoView({ block: "center", inline: "center" });
};
addEventListener("hashchange", reveal);
reveal();
// The quantile in bold of a drawing of the packet's way, and the colours of its cells.
for (const way of document.querySelectorAll(".switch")) {
  for (const button of way.querySelectorAll("button")) {
    button.addEventListener("click", () => {
      const name = button.value;
      for (const each of way.querySelectorAll("button")) {
        each.setAttribute("aria-pressed", String(each === button));
      }
      for (const text of way.querySelectorAll(`text[data-${name}]`)) {
        text.textContent = text.dataset[name];
      }
      for (const cell of way.querySelectorAll(`rect[data-${name}]`)) {
        const [fill, ink] = cell.dataset[name].split(" ");
        cell.setAttribute("fill", fill);
        for (const text of cell.parentNode.querySelectorAll("text")) text.setAttribute("fill", ink);
      }
    });
  }
}
