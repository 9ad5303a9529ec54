// The page's own script: citations become links to the cards of the sources panel.
// Messages arrive as plain text with [1] in it; everything here only decorates what is shown, so
// that copies, and the page without this script, stay plain text.
"use strict";

const MARKER = /\[(?:\d{1,3}|[A-Z])\]|\u00a0?\u2060([✗◐])\u2060/g;
const BADGES = {
  "✗": ["contradicted", "The abstract says otherwise"],
  "◐": ["unmentioned", "The abstracts do not mention this"],
};
const CALM = matchMedia("(prefers-reduced-motion: reduce)");

const byId = (id) => document.getElementById(id);
const setAttribute = (element, name, value) => {
  // Setting what is already set would wake the observer again, for ever.
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
};
const setClass = (element, name, isOn) => {
  if (element.classList.contains(name) !== isOn) element.classList.toggle(name, isOn);
};

// ---- citations -----------------------------------------------------------------------------

function turnOf(element) {
  const row = element.closest(".bot-row");
  let turn = -1;
  for (const other of byId("chat").querySelectorAll(".user-row, .bot-row")) {
    if (other.classList.contains("user-row")) turn += 1;
    if (other === row) return turn;
  }
  return turn;
}

const cardOf = (link) => byId(link.getAttribute("href").slice(1));

function markerLink(label, turn, known) {
  const link = document.createElement("a");
  link.className = "cite";
  link.href = `#src-${turn}-${label}`;
  link.dataset.label = label;
  link.append(bracket("["), label, bracket("]"));
  // The first marker of each source is where "Back to the answer" leads to.
  const id = `cite-${turn}-${label}`;
  if (!known.has(id)) link.id = id;
  known.add(id);
  return link;
}

function badge(sign) {
  const [kind, words] = BADGES[sign];
  const span = document.createElement("span");
  span.className = `badge ${kind}`;
  span.textContent = `${sign} ${words}`;
  return span;
}

function decorated(text, turn, known) {
  const fragment = document.createDocumentFragment();
  let done = 0;
  for (const match of text.matchAll(MARKER)) {
    const label = match[0].slice(1, -1);
    if (!match[1] && !byId(`src-${turn}-${label}`)) continue; // the card may still come
    // A marker stays on the line of the word before it.
    fragment.append(text.slice(done, match.index).replace(/ $/, "\u00a0"));
    if (match[1]) fragment.append("\u00a0", badge(match[1]));
    else fragment.append(markerLink(label, turn, known));
    done = match.index + match[0].length;
  }
  fragment.append(text.slice(done));
  return fragment;
}

function bracket(sign) {
  // Not seen, but part of what is selected and copied.
  const span = document.createElement("span");
  span.className = "bracket";
  span.textContent = sign;
  return span;
}

function decorateMessage(markdown) {
  const walker = document.createTreeWalker(markdown, NodeFilter.SHOW_TEXT, {
    acceptNode(node) {
      if (node.parentElement.closest("a, code, pre, .katex, .badge, .bracket, button"))
        return NodeFilter.FILTER_REJECT;
      MARKER.lastIndex = 0;
      return MARKER.test(node.data) ? NodeFilter.FILTER_ACCEPT : NodeFilter.FILTER_SKIP;
    },
  });
  const nodes = [];
  while (walker.nextNode()) nodes.push(walker.currentNode);
  if (nodes.length) {
    const turn = turnOf(markdown);
    const known = new Set([...markdown.querySelectorAll("a.cite[id]")].map((link) => link.id));
    for (const node of nodes) node.replaceWith(decorated(node.data, turn, known));
  }
  for (const quote of markdown.querySelectorAll("blockquote")) {
    setClass(quote, "trouble", quote.textContent.trimStart().startsWith("⚠"));
    if (/^\s*\d+ sentences? withheld/.test(quote.textContent)) foldWithheld(quote);
  }
}

function foldWithheld(quote) {
  if (quote.querySelector("details")) return;
  quote.className = "withheld";
  const fold = document.createElement("details");
  const summary = document.createElement("summary");
  summary.textContent = quote.firstElementChild.textContent;
  quote.firstElementChild.remove();
  fold.append(summary, ...quote.childNodes);
  quote.append(fold);
}

function titleOf(card) {
  const heading = card.querySelector(".title").cloneNode(true);
  heading.querySelectorAll(".katex-mathml").forEach((node) => node.remove());
  return heading.textContent.trim();
}

function nameLinks() {
  for (const link of byId("chat").querySelectorAll("a.cite")) {
    const card = cardOf(link);
    if (card) setAttribute(link, "aria-label", `Source ${link.dataset.label}: ${titleOf(card)}`);
  }
}

// ---- jumping to a card and back ----------------------------------------------------------------

function reveal(element, block) {
  for (let fold = element.closest("details"); fold; fold = fold.parentElement.closest("details"))
    fold.open = true;
  element.scrollIntoView({ behavior: CALM.matches ? "auto" : "smooth", block });
}

function flash(element) {
  document.querySelectorAll(".flash").forEach((other) => other.classList.remove("flash"));
  void element.offsetWidth; // starts the animation again
  element.classList.add("flash");
}

function marksOf(link) {
  // The words that this marker cites; the card may hold those of other markers too.
  const index = [...link.closest(".bot-row").querySelectorAll("a.cite")].indexOf(link);
  return [...cardOf(link).querySelectorAll(`mark.c${index}`)];
}

function jump(link) {
  const card = cardOf(link);
  if (!card) return;
  hidePreview();
  document.querySelectorAll("mark.here").forEach((mark) => mark.classList.remove("here"));
  const marks = marksOf(link);
  for (const mark of marks) mark.classList.add("here");
  const fits = card.offsetHeight < innerHeight * 0.6;
  reveal(fits || !marks.length ? card : marks[0], "center");
  card.focus({ preventScroll: true });
  flash(card);
}

function goBack(link) {
  const marker = cardOf(link);
  if (!marker) return;
  reveal(marker, "center");
  marker.focus({ preventScroll: true });
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a.cite, a.backlink");
  if (!link) return;
  event.preventDefault();
  (link.classList.contains("cite") ? jump : goBack)(link);
});

// ---- actions ------------------------------------------------------------------------------------

// Links to "#act/verb/subject" are actions; hidden boxes take them to the server.
const BOXES = { open: "open", summarise: "summarise" };
const IN_CHAT = new Set(["open", "summarise", "about"]);
const NARROW = matchMedia("(max-width: 899px)");
let numActions = 0;

function perform(command, verb) {
  const box = byId(BOXES[verb] ?? "act").querySelector("textarea, input");
  numActions += 1; // the same action once more is a change all the same
  box.value = `${command}/${numActions}`;
  box.dispatchEvent(new Event("input", { bubbles: true }));
}

async function copyBibtex(paper) {
  try {
    const answer = await fetch(`/export/paper.bib?id=${paper}`);
    if (!answer.ok) return say("The library has no such paper any more.");
    await writeClipboard(await answer.text());
    say("BibTeX copied.");
  } catch {
    say("BibTeX could not be copied: the browser or the server refuses.");
  }
}

function showTab(name) {
  const tabs = [...document.querySelectorAll("#tabs button[role=tab]")];
  tabs.find((tab) => tab.textContent.trim() === name && tab.ariaSelected !== "true")?.click();
}

function focusBox() {
  showTab("Ask");
  document.querySelector("#box textarea")?.focus(); // at once: the next key is a letter already
  // A tab that is opened is drawn in the next frame.
  requestAnimationFrame(() => document.querySelector("#box textarea")?.focus());
}

function act(link) {
  const command = link.getAttribute("href").slice("#act/".length);
  const [verb, subject] = command.split("/");
  if (verb === "bibtex") return copyBibtex(subject);
  perform(command, verb);
  if (IN_CHAT.has(verb)) showTab("Ask");
  if (verb === "about" || verb === "everything") focusBox();
  if (verb === "open" && NARROW.matches) document.querySelector("#history .toggle-button")?.click();
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a.act");
  if (!link) return;
  event.preventDefault();
  act(link);
});

// What has been done is said once, to be seen and heard.
const said = document.createElement("div");
said.id = "said";
said.setAttribute("role", "status");
let saidTimer = 0;

function say(words) {
  if (!said.isConnected) document.querySelector(".gradio-container").append(said);
  said.textContent = words;
  said.classList.add("shown");
  clearTimeout(saidTimer);
  saidTimer = setTimeout(() => said.classList.remove("shown"), 4000);
}

document.addEventListener(
  "click",
  (event) => {
    if (!event.target.closest?.("#delete")) return;
    if (confirm("Delete this conversation? It cannot be brought back.")) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  },
  { capture: true },
);

function keepAddress() {
  // So that a reload, and a bookmark, open the conversation again.
  const list = document.querySelector("#talks :is(.talks, .nothing)");
  if (!list || list.classList.contains("found")) return; // not heard from the server, or filtered
  const current = list.querySelector(".current a")?.getAttribute("href").split("/")[2];
  const wanted = current ? `?c=${current}` : "";
  const isOther = wanted ? location.search !== wanted : new URLSearchParams(location.search).has("c");
  if (isOther) history.replaceState(history.state, "", location.pathname + wanted);
}

// ---- the keyboard ---------------------------------------------------------------------------------

const KEYS = [
  ["/", "go to the question box"],
  ["Enter", "send the question, or open the citation"],
  ["Shift Enter", "begin a new line"],
  ["j", "next citation"],
  ["k", "previous citation"],
  ["y", "copy the BibTeX of the citation's paper"],
  ["Esc", "leave the question box, close what is open"],
  ["?", "show this list"],
];

const help = document.createElement("dialog");
help.id = "keys";
help.setAttribute("aria-labelledby", "keys-title");

function showKeys() {
  if (!help.isConnected) {
    const title = document.createElement("h2");
    title.id = "keys-title";
    title.textContent = "Keys";
    const list = document.createElement("dl");
    for (const [key, meaning] of KEYS) {
      const term = document.createElement("dt");
      const keyboard = document.createElement("kbd");
      keyboard.textContent = key;
      term.append(keyboard);
      const words = document.createElement("dd");
      words.textContent = meaning;
      list.append(term, words);
    }
    const close = document.createElement("button");
    close.type = "button";
    close.textContent = "Close";
    close.addEventListener("click", () => help.close());
    help.append(title, list, close);
    document.querySelector(".gradio-container").append(help);
  }
  help.showModal();
}

function step(by) {
  const links = [...byId("chat").querySelectorAll("a.cite")];
  if (!links.length) return;
  const at = links.indexOf(document.activeElement);
  const next = at < 0 ? (by > 0 ? 0 : links.length - 1) : at + by;
  links[Math.min(Math.max(next, 0), links.length - 1)].focus();
}

function copyFocused() {
  const link = document.activeElement;
  const card = link?.matches?.("a.cite") ? cardOf(link) : link?.closest?.(".card");
  const bibtex = card?.querySelector("a.act.bibtex");
  if (bibtex) act(bibtex);
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.target.closest?.("input, textarea, select, [contenteditable=true], dialog")) return;
  const doing = {
    "/": focusBox,
    j: () => step(1),
    k: () => step(-1),
    y: copyFocused,
    "?": showKeys,
  }[event.key];
  if (!doing) return;
  event.preventDefault();
  doing();
});

// ---- dark and light -------------------------------------------------------------------------------

const DARK = "paper-qa-dark";

document.addEventListener("click", (event) => {
  if (!event.target.closest?.("#dark")) return;
  const isDark = document.body.classList.toggle("dark");
  localStorage.setItem(DARK, isDark ? "yes" : "no");
});

function keepLight() {
  // Gradio follows the system when it starts; what was chosen here wins once it has.
  const chosen = localStorage.getItem(DARK);
  if (chosen) document.body.classList.toggle("dark", chosen === "yes");
}

// ---- preview of a source ------------------------------------------------------------------------

const preview = document.createElement("div");
preview.id = "preview";
preview.setAttribute("role", "tooltip");
preview.hidden = true;
let hideTimer = 0;
let previewed = null;

function showPreview(link) {
  const card = cardOf(link);
  if (!card) return;
  previewed = link;
  clearTimeout(hideTimer);
  const parts = [card.querySelector("h3"), card.querySelector(".meta")];
  // Nodes are cloned, never written as HTML: what was made safe stays safe.
  preview.replaceChildren(...parts.map((node) => node.cloneNode(true)));
  for (const mark of marksOf(link)) preview.append(mark.cloneNode(true));
  // The styles of formulas hold inside Gradio's container only.
  document.querySelector(".gradio-container").append(preview);
  preview.hidden = false;
  placePreview();
}

function placePreview() {
  if (preview.hidden) return;
  if (!previewed.isConnected) return hidePreview();
  const at = previewed.getBoundingClientRect();
  const width = preview.offsetWidth;
  const left = Math.min(Math.max(8, at.left - 24), innerWidth - width - 8);
  const isAbove = at.top > preview.offsetHeight + 16;
  preview.style.left = `${left}px`;
  preview.style.top = `${isAbove ? at.top - preview.offsetHeight - 8 : at.bottom + 8}px`;
}

function hidePreview() {
  clearTimeout(hideTimer);
  preview.hidden = true;
}

document.addEventListener("mouseover", (event) => {
  if (!event.target.closest) return;
  const link = event.target.closest("a.cite");
  if (link) showPreview(link);
  else if (event.target.closest("#preview")) clearTimeout(hideTimer);
  else if (!preview.hidden) {
    clearTimeout(hideTimer);
    hideTimer = setTimeout(hidePreview, 150);
  }
});
document.addEventListener("focusin", (event) => {
  if (event.target.matches("a.cite:focus-visible")) showPreview(event.target);
  else hidePreview();
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  hidePreview();
  if (event.target.matches?.("#box textarea")) event.target.blur(); // else j and k are typed
});
document.addEventListener("scroll", placePreview, { capture: true, passive: true });

// ---- the question box ------------------------------------------------------------------------------

let sent = null; // the question that is on its way, until it is in the conversation
let numInputs = 0; // what was typed or pasted since the page was opened

const numAsked = () => byId("chat").querySelectorAll(".user-row").length;

function clearSent() {
  // Once in a while Gradio puts back into the box what was sent and is in the conversation.
  if (!sent || numAsked() <= sent.before) return;
  const { words, inputs } = sent;
  sent = null;
  setTimeout(() => {
    const box = document.querySelector("#box textarea");
    if (box.value !== words || numInputs !== inputs) return; // cleared, or typed anew
    box.value = "";
    box.dispatchEvent(new Event("input", { bubbles: true }));
  }, 200);
}

function onSend(event) {
  const isEnter = event.type === "keydown" && event.key === "Enter" && !event.shiftKey;
  const isSend = event.type === "click" && event.target.closest("#box .submit-button");
  if (!isSend && !(isEnter && event.target.matches("#box textarea"))) return;
  const words = document.querySelector("#box textarea").value;
  if (words.trim()) {
    sent = { words, before: numAsked(), inputs: numInputs };
    return;
  }
  event.preventDefault();
  event.stopImmediatePropagation();
}

document.addEventListener("input", (event) => {
  if (event.target.matches?.("#box textarea")) numInputs += 1;
});
document.addEventListener("keydown", onSend, { capture: true });
document.addEventListener("click", onSend, { capture: true });

// ---- copies are plain text ------------------------------------------------------------------------

const plain = (text) =>
  text
    .replace(/\\\[([\s\S]+?)\\\]/g, (_, tex) => `$$${tex}$$`)
    .replace(/\\\(([\s\S]+?)\\\)/g, (_, tex) => `$${tex}$`)
    .replace(/\\([*_~`])/g, "$1")
    .replace(/[\u200b\u2060]/g, "");

const writeClipboard = navigator.clipboard?.writeText.bind(navigator.clipboard);
if (writeClipboard) navigator.clipboard.writeText = (text) => writeClipboard(plain(text));

document.addEventListener("copy", (event) => {
  const selection = getSelection();
  if (selection.isCollapsed || event.target.closest?.("input, textarea")) return;
  const box = document.createElement("div");
  for (let i = 0; i < selection.rangeCount; i += 1)
    box.append(selection.getRangeAt(i).cloneContents());
  // A formula would be copied twice, once as shown and once for screen readers.
  for (const formula of box.querySelectorAll(".katex")) {
    const source = formula.querySelector("annotation");
    if (source) formula.replaceWith(`$${source.textContent}$`);
  }
  if (!box.querySelector(".cite") && !/[\u200b\u2060$]/.test(box.textContent)) return;
  // As a node of the page, so that innerText keeps the line breaks.
  box.style.cssText = "position:fixed;left:-9999px";
  document.body.append(box);
  event.clipboardData.setData("text/plain", box.innerText.replace(/[\u200b\u2060]/g, "").replace(/\u00a0/g, " "));
  box.remove();
  event.preventDefault();
});

// ---- what Gradio leaves unsaid ----------------------------------------------------------------------

const opened = new Map(); // folds of the panel that the reader opened or closed

const foldKey = (fold) => {
  const title = fold.closest(".card")?.querySelector(".title").textContent ?? "";
  return `${fold.closest(".turn").id} ${title}`;
};

document.addEventListener("click", (event) => {
  const fold = event.target.closest("#sources summary")?.parentElement;
  if (fold) setTimeout(() => opened.set(foldKey(fold), fold.open));
});

function keepFolds() {
  // The panel is drawn anew while an answer is written; what the reader opened stays open.
  const folds = document.querySelectorAll("#sources details");
  if (!folds.length) opened.clear(); // a new chat
  for (const fold of folds) {
    const isOpen = opened.get(foldKey(fold));
    if (isOpen !== undefined && fold.open !== isOpen) fold.open = isOpen;
  }
}

function nameControls() {
  const isBusy = Boolean(byId("state-text")?.textContent.trimEnd().endsWith("…"));
  const log = byId("chat").querySelector("[role=log]");
  // Else a screen reader would read every piece of a growing answer; the status line speaks instead.
  if (log) setAttribute(log, "aria-busy", String(isBusy));
  const send = document.querySelector("#box .submit-button");
  if (send) setAttribute(send, "aria-label", "Send question");
  const examples = byId("chat").querySelector(".examples");
  if (examples) setAttribute(examples, "role", "group");
}

let hasStarted = false;

function refresh() {
  if (!byId("chat")) return;
  if (!hasStarted) keepLight();
  hasStarted = true;
  keepAddress();
  byId("chat").querySelectorAll(".bot-row .md, .bot-row .prose").forEach(decorateMessage);
  nameLinks();
  keepFolds();
  nameControls();
  clearSent();
}

let isQueued = false;
new MutationObserver(() => {
  if (isQueued) return;
  isQueued = true;
  requestAnimationFrame(() => {
    isQueued = false;
    refresh();
  });
}).observe(document.documentElement, {
  childList: true,
  subtree: true,
  characterData: true,
});
