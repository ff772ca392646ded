// The page: what is chosen and typed goes to the server, and what comes back is drawn.

import { call, latest, tab } from "./api.js";
import { Editor } from "./editor.js";
import { TokenList } from "./list.js";
import { showDrawing, showExpected, showReport, showStacks, showTree, showWhy } from "./panels.js";
import { Tokens } from "./tokens.js";

const byId = (id) => document.getElementById(id);
const textArea = byId("text");
const state = { place: 0, base: -1, tokens: [], nRead: 0, counts: [], isSentence: false, isCompiled: false, isAtEnd: true, tokenizer: "" };
let session = null;

function banner(message) {
  byId("banner").textContent = message;
  byId("banner").hidden = !message;
}

function seconds(value) {
  return value < 0.095 ? `${Math.max(1, Math.round(value * 1000))} ms` : `${value.toFixed(value < 10 ? 1 : 0)} s`;
}

// -- the address ----------------------------------------------------------------------------------

let savedAt = 0;

function save() {
  clearTimeout(savedAt);
  savedAt = setTimeout(() => {
    const bundled = session.bundled.find((each) => each.grammar === editor.text);
    const value = {
      ...(bundled ? { b: bundled.name } : { g: editor.text }),
      s: byId("start").value, p: byId("parser").value, i: byId("indented").checked ? 1 : 0,
      k: byId("tokenizer").selectedOptions[0]?.textContent, x: textArea.value, l: state.isAtEnd ? -1 : state.place,
    };
    const bytes = new TextEncoder().encode(JSON.stringify(value));
    let binary = "";
    for (let at = 0; at < bytes.length; at += 8192) binary += String.fromCharCode(...bytes.subarray(at, at + 8192));
    const encoded = btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
    history.replaceState(null, "", `${location.pathname}${location.search}#${encoded}`);
  }, 250);
}

function saved() {
  const encoded = location.hash.slice(1);
  if (!encoded) return null;
  try {
    const binary = atob(encoded.replaceAll("-", "+").replaceAll("_", "/"));
    return JSON.parse(new TextDecoder().decode(Uint8Array.from(binary, (each) => each.charCodeAt(0))));
  } catch {
    banner("The part of this address after # is damaged, so it was left out.");
    return null;
  }
}

// -- the grammar ----------------------------------------------------------------------------------

const editor = new Editor(() => {
  byId("choice").value = "";
  later(450);
});
let compileAt = 0;

function later(milliseconds) {
  clearTimeout(compileAt);
  compileAt = setTimeout(compile, milliseconds);
}

let turn = 0;

async function compile() {
  clearTimeout(compileAt);
  const mine = (turn += 1);
  state.isCompiled = false;
  const began = performance.now();
  const status = byId("grammar-status");
  status.classList.add("busy");
  const clock = setInterval(() => {
    const passed = performance.now() - began;
    if (passed < 300) return;
    status.textContent = `Compiling … ${seconds(passed / 1000)}`;
    byId("cancel").hidden = false;
  }, 100);
  const answer = await call("compile", {
    text: editor.text, start: byId("start").value, parser: byId("parser").value,
    indented: byId("indented").checked, tokenizer: byId("tokenizer").value,
  });
  clearInterval(clock);
  if (mine !== turn) return;
  document.body.dataset.compiled = mine;
  status.classList.remove("busy");
  byId("cancel").hidden = true;
  save();
  if (answer.error) {
    showError(answer);
    return;
  }
  byId("error").hidden = true;
  editor.mark(null);
  state.isCompiled = true;
  state.base = -1;
  byId("indented").checked = answer.is_indented;
  const chosen = answer.asked === "auto" || answer.is_bundled ? ` (${answer.parser === "lalr" ? "LALR" : "Earley"})` : "";
  status.textContent = `Compiled in ${seconds(answer.seconds)}${chosen} · ${answer.terminals.length} terminals, ` +
    `${answer.n_productions} productions, ${answer.n_states} parse states` +
    (answer.loading > 0.2 ? ` · tokenizer read in ${seconds(answer.loading)}` : "");
  document.body.classList.remove("stale");
  const isModels = session.has_model && byId("tokenizer").value === "model";
  byId("model-row").hidden = !isModels;
  const likeliest = byId("order").querySelector('[value="probability"]');
  if (isModels && !likeliest) byId("order").append(new Option("likeliest first", "probability", false, true));
  if (!isModels) likeliest?.remove();
  tokens.terminals(answer.terminals);
  state.nTokens = answer.n_tokens;
  byId("terminal").replaceChildren(...answer.terminals.map((name) => new Option(name, name)));
  stale.report = stale.terminals = true;
  read();
}

function showError({ error, is_cancelled: isCancelled }) {
  document.body.classList.add("stale");
  const box = byId("error");
  const isCancel = Boolean(isCancelled);
  byId("grammar-status").textContent = isCancel ? "Cancelled. Change the grammar, or choose another." : "Not compiled.";
  box.hidden = isCancel;
  box.replaceChildren(error.message);
  editor.mark(isCancel ? null : error);
  if (error.line && !isCancel) {
    const go = document.createElement("button");
    go.textContent = `Line ${error.line}, column ${error.column}`;
    go.addEventListener("click", () => editor.goTo(error));
    box.prepend(go, ": ");
  }
  if (error.code === "http" || error.code === "gone") banner(error.message);
}

// -- the text -------------------------------------------------------------------------------------

const tokens = new Tokens((place) => {
  goTo(place);
  const at = place < state.tokens.length ? state.tokens[place].start : textArea.value.length;
  if (document.activeElement !== textArea) textArea.setSelectionRange(at, at);
});

const read = latest(async () => {
  if (!state.isCompiled) return;
  const place = state.isAtEnd ? 1e9 : state.place;
  apply(await call("read", { text: textArea.value, base: state.base, place }));
});

function apply(answer) {
  if (answer.error) {
    state.tokens = [];
    state.nRead = 0;
    verdict("no", answer.error.message);
    tokens.draw([], 0, 0, []);
    state.base = -1;
    return;
  }
  state.tokens = [...state.tokens.slice(0, answer.n_kept), ...answer.tokens];
  Object.assign(state, { base: answer.base, nRead: answer.n_read, counts: answer.counts, isSentence: answer.is_sentence });
  tokens.draw(state.tokens, Math.min(answer.n_kept, state.lastRead ?? 0, answer.n_read), answer.n_read, answer.counts);
  state.lastRead = answer.n_read;
  const isWhole = answer.n_read === state.tokens.length;
  if (answer.stopped) verdict("no", answer.stopped);
  else if (!isWhole) verdict("no", `refused at token ${answer.n_read + 1} of ${state.tokens.length}`);
  else verdict(answer.is_sentence ? "yes" : "", answer.is_sentence ? "a sentence" : "no sentence yet: it may go on");
  byId("tokens-note").textContent = `${state.tokens.length} tokens; below each, how many were allowed there`;
  let place = state.isAtEnd ? answer.n_read : placeOfCaret();
  if (state.restored >= 0) {
    place = Math.min(state.restored, answer.n_read);
    const at = state.tokens[place]?.start ?? textArea.value.length;
    textArea.setSelectionRange(at, at);
  }
  state.restored = -1;
  goTo(Math.min(place, answer.n_read), true);
  stale.tree = true;
  document.body.dataset.picture = answer.base;
  if (!answer.is_complete) more(answer.base);
  refusal(isWhole);
  save();
}

function verdict(kind, message) {
  const box = byId("verdict");
  box.className = `verdict ${kind}`;
  if (box.textContent !== message) box.textContent = message;
}

async function more(base) {
  while (base === state.base) {
    const answer = await call("counts", { base });
    if (answer.error || answer.base !== state.base) return;
    state.counts = answer.counts;
    tokens.counts(answer.counts);
    showCount();
    if (answer.is_complete) {
      document.body.dataset.complete = base;
      return;
    }
  }
}

const refusal = (() => {
  let mine = 0;
  return async (isWhole) => {
    const box = byId("refusal");
    const now = (mine += 1);
    box.hidden ||= isWhole;
    if (isWhole) return;
    const base = state.base;
    const answer = await call("explain", { place: state.nRead, token_id: state.tokens[state.nRead].id });
    if (now !== mine || base !== state.base) return;
    box.hidden = false;
    box.className = "error why";
    showWhy(answer, box);
  };
})();

function placeOfCaret() {
  const caret = textArea.selectionStart;
  let place = state.tokens.findIndex((token) => token.end > caret);
  if (place < 0) place = state.tokens.length;
  return Math.min(place, state.nRead);
}

function goTo(place, isNew = false) {
  const isSame = place === state.place && !isNew;
  state.place = place;
  state.isAtEnd = place >= state.nRead;
  tokens.select(place);
  if (isSame) return;
  const before = state.tokens.slice(Math.max(0, place - 3), place).map((token) => token.pieces.map(([text]) => text).join("")).join("");
  byId("where").textContent = place ? `after ${place > 3 ? "…" : ""}${before.slice(-24)}` : "at the beginning";
  showCount();
  stale.follow = stale.parser = true;
  showView();
  save();
}

function showCount() {
  const n = state.counts[state.place];
  byId("n-allowed").textContent = n === null || n === undefined ? "…" : n.toLocaleString("en");
  byId("n-of").textContent = `of ${(state.nTokens ?? 0).toLocaleString("en")} tokens may follow`;
}

textArea.addEventListener("input", () => {
  state.isAtEnd = textArea.selectionStart >= textArea.value.length;
  read();
});
document.addEventListener("selectionchange", () => {
  if (document.activeElement !== textArea || textArea.value.length === 0) return;
  const isAtEnd = textArea.selectionStart >= textArea.value.length;
  if (isAtEnd && state.isAtEnd) return;
  const place = isAtEnd ? state.nRead : placeOfCaret();
  if (place !== state.place) goTo(place);
});

// -- the place ------------------------------------------------------------------------------------

const stale = { follow: true, parser: true, tree: true, terminals: true, report: true };
let view = "follow";

const list = new TokenList(
  async (first, n) => {
    const answer = await call("allowed", {
      place: state.place, query: byId("search").value, is_refused: byId("which").value === "refused",
      order: byId("order").value, first, n, with_model: session.has_model, prompt: byId("prompt").value,
    });
    return answer.error ? { items: [], n_found: 0, ...answer } : answer;
  },
  (item) => explain({ token_id: item.id }),
  (item) => goOn(item.id),
);

const views = {
  follow: latest(async () => {
    const base = state.base;
    const answer = await list.reset();
    if (answer?.error && answer.error.code !== "text") banner(answer.error.message);
    if (answer && state.base === base && answer.place === state.place) {
      state.counts[answer.place] = answer.n_allowed;
      showCount();
      const kept = answer.kept === null || answer.kept === undefined ? "" : ` · ${(100 * answer.kept).toFixed(1)}% of the model’s probability`;
      byId("n-of").textContent += kept;
      document.body.dataset.list = base;
    }
  }),
  parser: latest(async () => {
    showStacks(await call("place", { place: state.place }));
    showExpected(await call("expected", { place: state.place }));
  }),
  tree: latest(async () => showTree(await call("tree"))),
  terminals: latest(async () => {
    byId("drawing-note").textContent = "Drawing …";
    showDrawing(await call("draw", { terminal: byId("terminal").value }));
  }),
  report: latest(async () => {
    byId("report-note").textContent = "Looking for conflicts, overlaps and what is never used …";
    byId("report").replaceChildren();
    showReport(await call("report"));
  }),
};

function showView() {
  if (!state.isCompiled || !stale[view]) return;
  stale[view] = false;
  views[view]();
}

function chooseView(name) {
  view = name;
  for (const button of document.querySelectorAll('[role="tab"]')) {
    const isChosen = button.id === `tab-${name}`;
    button.setAttribute("aria-selected", String(isChosen));
    button.tabIndex = isChosen ? 0 : -1;
    byId(button.getAttribute("aria-controls")).hidden = !isChosen;
  }
  showView();
}

let explained = 0;

async function explain(asked) {
  const mine = (explained += 1);
  const answer = await call("explain", { place: state.place, ...asked });
  if (mine === explained) showWhy(answer);
}

async function goOn(tokenId) {
  if (byId("which").value === "refused") return;
  const answer = await call("go_on", { place: state.place, token_id: tokenId, base: state.base });
  if (!answer.error) textArea.value = answer.text;
  state.isAtEnd = true;
  apply(answer);
}

const tabButtons = [...document.querySelectorAll('[role="tab"]')];
tabButtons.forEach((button, number) => {
  button.addEventListener("click", () => chooseView(button.id.slice(4)));
  button.addEventListener("keydown", (event) => {
    const steps = { ArrowRight: 1, ArrowLeft: -1 };
    if (!(event.key in steps)) return;
    const next = tabButtons[(number + steps[event.key] + tabButtons.length) % tabButtons.length];
    next.focus();
    chooseView(next.id.slice(4));
  });
});
for (const id of ["which", "order"]) byId(id).addEventListener("change", () => views.follow());
byId("search").addEventListener("input", () => views.follow());
byId("search").addEventListener("keydown", (event) => {
  if (event.key !== "ArrowDown") return;
  event.preventDefault();
  byId("list").focus();
  list.choose(0);
});
byId("why-form").addEventListener("submit", (event) => {
  event.preventDefault();
  if (byId("piece").value) explain({ piece: byId("piece").value });
});
byId("terminal").addEventListener("change", () => views.terminals());

// -- a model --------------------------------------------------------------------------------------

let isWriting = false;

async function writeOne() {
  const answer = await call("write", { prompt: byId("prompt").value, temperature: Number(byId("temperature").value) || 0, base: state.base });
  if (answer.is_finished) return false;
  if (answer.error) {
    verdict("no", answer.error.message);
    return false;
  }
  textArea.value = answer.text;
  state.isAtEnd = true;
  apply(answer);
  return true;
}

async function run() {
  isWriting = !isWriting;
  byId("run").textContent = isWriting ? "Stop" : "Write";
  while (isWriting && state.nRead === state.tokens.length && (await writeOne()));
  isWriting = false;
  byId("run").textContent = "Write";
}

byId("next").addEventListener("click", writeOne);
byId("run").addEventListener("click", run);
byId("prompt").addEventListener("change", () => views.follow());

// -- the start ------------------------------------------------------------------------------------

byId("cancel").addEventListener("click", () => call("cancel"));
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    isWriting = false;
    if (!byId("cancel").hidden) call("cancel");
  } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && session?.has_model) {
    event.preventDefault();
    writeOne();
  }
});
for (const id of ["start", "parser", "indented", "tokenizer"]) byId(id).addEventListener("change", () => later(0));
addEventListener("pagehide", () => call("close", {}, { keepalive: true }));
addEventListener("pageshow", (event) => event.persisted && later(0));
addEventListener("hashchange", () => restore(saved()) && later(0));

const TEXTS = {
  json: '{"name": "Ronia", "year": 1981, "tags": ["forest", ', python: "def total(items):\n    result = 0\n    for item in items:\n        ",
  python312: "def total(items):\n    return ", sql: "SELECT name FROM users WHERE age > ", sql_select: "SELECT name FROM users WHERE ",
  postgresql: "SELECT name FROM users WHERE ",
};

function choose(value) {
  const kind = value.slice(0, 1);
  const name = value.slice(2);
  const found = (kind === "b" ? session.bundled : session.examples).find((each) => each.name === name);
  editor.text = found.grammar;
  byId("start").value = "start";
  byId("parser").value = found.parser ?? "auto";
  byId("indented").checked = false;
  textArea.value = kind === "b" ? (TEXTS[name] ?? "") : found.text;
  state.isAtEnd = true;
  later(0);
}

byId("choice").addEventListener("change", () => byId("choice").value && choose(byId("choice").value));

function restore(value) {
  if (!value || typeof value !== "object") return false;
  const bundled = session.bundled.find((each) => each.name === value.b);
  editor.text = bundled ? bundled.grammar : String(value.g ?? "");
  byId("choice").value = bundled ? `b:${bundled.name}` : "";
  byId("start").value = String(value.s ?? "start");
  byId("parser").value = session.parsers.includes(value.p) ? value.p : "auto";
  byId("indented").checked = Boolean(value.i);
  const tokenizer = session.tokenizers.find((each) => each.name === value.k);
  if (tokenizer) byId("tokenizer").value = tokenizer.id;
  else if (value.k) banner(`The tokenizer ${value.k} is not here: start the playground with --tokenizer PATH.`);
  textArea.value = String(value.x ?? "");
  state.isAtEnd = !(value.l >= 0);
  state.place = state.isAtEnd ? 0 : Number(value.l);
  state.restored = state.isAtEnd ? -1 : state.place;
  return true;
}

async function start() {
  const answer = await call("start");
  if (answer.error) {
    banner(answer.error.message);
    return;
  }
  session = answer;
  const group = (label, items, kind) => {
    const made = document.createElement("optgroup");
    made.label = label;
    made.append(...items.map(({ name }) => new Option(name, `${kind}:${name}`)));
    return made;
  };
  byId("choice").append(new Option("own", ""), group("examples", session.examples, "e"), group("bundled", session.bundled, "b"));
  byId("parser").append(...session.parsers.map((name) => new Option(name, name)));
  byId("tokenizer").append(...session.tokenizers.map(({ id, name }) => new Option(name, id)));
  byId("tokenizer").value = session.tokenizers.find(({ id }) => id !== "bytes")?.id;
  byId("parser").value = "auto";
  textArea.maxLength = session.max_text;
  document.body.dataset.tab = tab;
  if (!restore(saved())) {
    byId("choice").value = "b:json";
    choose("b:json");
  } else later(0);
}

start();
