// The tokens of the text: coloured by terminal, each with the number of tokens that were allowed.

import { span } from "./editor.js";

const LINE_BREAK = /(^|[^\\])(\\\\)*\\n/; // as it is shown: a backslash and an n
const MAX_LEGEND = 24;

// Hues by turns, far apart where they are neighbours.
const HUES = [215, 38, 145, 330, 265, 185, 12, 75, 295, 110, 240, 55];

export function compact(n) {
  if (n === null || n === undefined) return "…";
  return n < 10000 ? String(n) : `${Math.round(n / 1000)}k`;
}

export class Tokens {
  constructor(onPlace) {
    this.box = document.getElementById("tokens");
    this.legend = document.getElementById("legend");
    this.chips = [];
    this.tokens = [];
    this.hues = new Map();
    this.place = 0;
    this.onPlace = onPlace;
    this.box.addEventListener("click", (event) => {
      const chip = event.target.closest(".token");
      if (chip && Number(chip.dataset.place) <= this.nRead) onPlace(Number(chip.dataset.place));
    });
    this.box.addEventListener("keydown", (event) => {
      const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -8, ArrowDown: 8, Home: -1e9, End: 1e9 };
      if (!(event.key in steps) || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      onPlace(Math.min(Math.max(this.place + steps[event.key], 0), this.nRead));
    });
  }

  terminals(names) {
    this.known = new Set(names);
    this.hues = new Map();
  }

  // The hue of a terminal: terminals get theirs in the order in which texts have them.
  hueOf(name) {
    if (!this.known?.has(name)) return undefined;
    if (!this.hues.has(name)) this.hues.set(name, HUES[this.hues.size % HUES.length]);
    return this.hues.get(name);
  }

  // Draws the tokens, those before `nKept` as they are.
  draw(tokens, nKept, nRead, counts) {
    this.tokens = tokens;
    this.nRead = nRead;
    for (const chip of this.chips.splice(nKept)) {
      chip.next?.remove();
      chip.remove();
    }
    for (let number = nKept; number <= tokens.length; number += 1) this.add(number);
    this.counts(counts);
    this.drawLegend();
  }

  add(number) {
    const token = this.tokens[number];
    const chip = document.createElement("div");
    chip.id = `token-${number}`;
    chip.className = "token";
    chip.dataset.place = number;
    chip.setAttribute("role", "option");
    chip.setAttribute("aria-selected", "false");
    const pieces = span("pieces", "");
    if (token) {
      for (const [text, terminal] of token.pieces) {
        const piece = span("", text);
        const name = terminal.split(/ or |…/)[0];
        const hue = this.hueOf(name);
        if (hue !== undefined) piece.style.setProperty("--hue", hue);
        else piece.classList.add("plain");
        piece.title = terminal || "not read";
        pieces.append(piece);
      }
      if (number >= this.nRead) chip.classList.add(number === this.nRead ? "refused" : "unread");
    } else {
      chip.classList.add("end");
      pieces.append(span("", "next"));
    }
    chip.append(pieces, span("n", ""));
    this.box.append(chip);
    if (token?.pieces.some(([text]) => LINE_BREAK.test(text))) {
      chip.next = document.createElement("span");
      chip.next.className = "break";
      this.box.append(chip.next);
    }
    this.chips.push(chip);
  }

  counts(counts) {
    this.chips.forEach((chip, number) => {
      const n = counts[number];
      const shown = number <= this.nRead ? compact(n) : "";
      const label = chip.lastChild;
      if (label.textContent !== shown) label.textContent = shown;
      const token = this.tokens[number];
      const said = token ? token.pieces.map(([text, name]) => `${text} ${name}`).join(", ") : "next token";
      const allowed = number <= this.nRead && n !== null ? `, ${n} allowed` : "";
      const status = number === this.nRead && token ? ", refused" : "";
      chip.setAttribute("aria-label", `${said}${status}${allowed}`);
    });
  }

  select(place) {
    this.chips[this.place]?.setAttribute("aria-selected", "false");
    this.place = place;
    const chip = this.chips[place];
    if (!chip) return;
    chip.setAttribute("aria-selected", "true");
    this.box.setAttribute("aria-activedescendant", chip.id);
    const top = chip.offsetTop, bottom = top + chip.offsetHeight;
    if (top < this.box.scrollTop) this.box.scrollTop = top - 4;
    else if (bottom > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = bottom - this.box.clientHeight + 4;
  }

  drawLegend() {
    const names = new Set();
    for (const token of this.tokens) for (const [, terminal] of token.pieces) if (terminal) names.add(terminal.split(/ or |…/)[0]);
    const shown = [...names].slice(0, MAX_LEGEND).join("\n");
    if (shown === this.shownLegend) return;
    this.shownLegend = shown;
    this.legend.replaceChildren(...[...names].slice(0, MAX_LEGEND).map((name) => {
      const item = document.createElement("li");
      item.textContent = name;
      const hue = this.hueOf(name);
      if (hue === undefined) item.className = "plain";
      else item.style.setProperty("--hue", hue);
      return item;
    }));
  }
}
