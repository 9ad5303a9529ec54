// What the lists of papers need beyond their HTML, which the server sends anew after a change:
// rows that were open stay open, stars show at once, and the keyboard keeps its place.
"use strict";

const STAR = ["star", "☆ Add to reading list"];
const STARRED = ["unstar", "★ On your reading list"];

const openRows = new Set();
let wanted = null; // returns what the keyboard goes to, once it is there

const parts = (link) => link.getAttribute("href").split("/");

document.addEventListener("click", (event) => {
  const row = event.target.closest?.("summary")?.parentElement;
  if (row?.matches(".paper"))
    setTimeout(() => openRows[row.open ? "add" : "delete"](row.id));
});

function keepOpen() {
  for (const row of document.querySelectorAll("details.paper"))
    if (!row.open && openRows.has(row.id)) row.open = true;
}

// The list of all papers is not sent again for a star: that would close what is being read.
function showStar(subject, [verb, words]) {
  for (const link of document.querySelectorAll("#papers-list a.act")) {
    const [, was, about] = parts(link);
    if (about !== subject || (was !== "star" && was !== "unstar")) continue;
    link.setAttribute("href", `#act/${verb}/${subject}`);
    link.className = `act ${verb}`;
    link.textContent = words;
  }
}

function afterRemoval(link) {
  const rows = () => [...document.querySelectorAll("#reading .saved summary")];
  const at = rows().findIndex((summary) => summary.parentElement.contains(link));
  wanted = () => {
    if (link.isConnected) return null;
    const left = rows();
    return left[Math.min(at, left.length - 1)] ?? document.querySelector("#reading-title h2");
  };
}

function afterListing() {
  const before = document.querySelector("#papers-count .number");
  wanted = () => {
    const now = document.querySelector("#papers-count .number");
    const isOver = now && now !== before && !now.textContent.includes("…");
    return isOver && now.checkVisibility() ? now : null;
  };
}

function keepFocus() {
  const element = wanted?.();
  if (!element) return;
  wanted = null;
  if (!element.matches("summary, a, button")) element.tabIndex = -1;
  element.focus({ preventScroll: element.matches("summary") });
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a.act");
  if (!link) return;
  const [, verb, subject] = parts(link);
  if (verb === "star") showStar(subject, STARRED);
  if (verb === "unstar") {
    if (link.closest("#reading")) afterRemoval(link);
    say("Removed. A note you made comes back with the paper.");
    showStar(subject, STAR);
  }
  if (verb === "similar" || verb === "library") afterListing();
});

// Gradio has links open in a tab of their own, which would flash up for a download. Without
// `download` the page would believe that it is left, and end its connection.
document.addEventListener(
  "click",
  (event) => {
    const link = event.target.closest?.("a[href^='/export/']");
    link?.removeAttribute("target");
    link?.setAttribute("download", "");
  },
  { capture: true },
);

let isWaiting = false;
new MutationObserver(() => {
  if (isWaiting) return;
  isWaiting = true;
  requestAnimationFrame(() => {
    isWaiting = false;
    keepOpen();
    keepFocus();
  });
}).observe(document.documentElement, { childList: true, subtree: true, characterData: true });
