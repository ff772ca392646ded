// A list of up to hundreds of thousands of tokens: only the rows on the screen exist, and the server
// sends the parts that are looked at.

import { span } from "./editor.js";

const HEIGHT = 26;
const PART = 200;
const BEYOND = 8;

function percent(chance) {
  if (chance >= 0.9995) return "100%";
  if (chance >= 0.0001) return `${(100 * chance).toPrecision(chance >= 0.1 ? 3 : 2)}%`;
  return chance > 0 ? "<0.01%" : "0%";
}

export class TokenList {
  // `fetchPart(first, n)` returns the answer, or null if it is not wanted any more.
  constructor(fetchPart, onChosen, onTaken) {
    this.box = document.getElementById("list");
    this.spacer = document.getElementById("spacer");
    this.empty = document.getElementById("empty");
    this.fetchPart = fetchPart;
    this.onChosen = onChosen;
    this.onTaken = onTaken;
    this.parts = new Map();
    this.rows = new Map();
    this.n = 0;
    this.turn = 0;
    this.chosen = -1;
    this.box.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => this.draw()).observe(this.box);
    this.box.addEventListener("click", (event) => {
      const row = event.target.closest(".row");
      if (row) this.choose(Number(row.dataset.index));
    });
    this.box.addEventListener("dblclick", () => this.take());
    this.box.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.box.clientHeight / HEIGHT) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -1e9, End: 1e9 };
    if (event.key === "Enter") {
      event.preventDefault();
      this.take();
    } else if (event.key in steps && this.n) {
      event.preventDefault();
      this.choose(Math.min(Math.max(this.chosen + steps[event.key], 0), this.n - 1));
    }
  }

  itemAt(index) {
    return this.parts.get(Math.floor(index / PART))?.[index % PART];
  }

  async choose(index) {
    this.chosen = index;
    const top = index * HEIGHT;
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    else if (top + HEIGHT > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = top + HEIGHT - this.box.clientHeight;
    this.draw();
    await this.load(Math.floor(index / PART));
    const item = this.itemAt(index);
    if (item && this.chosen === index) this.onChosen(item);
  }

  take() {
    const item = this.itemAt(this.chosen);
    if (item) this.onTaken(item);
  }

  // Shows another list; the first part is fetched, and then drawn at once.
  async reset() {
    const turn = (this.turn += 1);
    const answer = await this.fetchPart(0, PART);
    if (answer === null || turn !== this.turn) return null;
    this.parts = new Map([[0, answer.items]]);
    this.loading = new Map();
    this.n = answer.n_found;
    this.chosen = -1;
    this.box.scrollTop = 0;
    this.box.removeAttribute("aria-activedescendant");
    this.spacer.style.height = `${this.n * HEIGHT}px`;
    this.empty.hidden = this.n > 0;
    for (const row of this.rows.values()) row.remove();
    this.rows.clear();
    this.draw();
    return answer;
  }

  load(part) {
    if (this.parts.has(part)) return Promise.resolve();
    this.loading ??= new Map();
    if (!this.loading.has(part)) {
      const turn = this.turn;
      this.loading.set(part, this.fetchPart(part * PART, PART).then((answer) => {
        this.loading.delete(part);
        if (answer === null || turn !== this.turn) return;
        this.parts.set(part, answer.items);
        this.draw();
      }));
    }
    return this.loading.get(part);
  }

  draw() {
    const first = Math.max(0, Math.floor(this.box.scrollTop / HEIGHT) - BEYOND);
    const last = Math.min(this.n, Math.ceil((this.box.scrollTop + this.box.clientHeight) / HEIGHT) + BEYOND);
    for (const [index, row] of this.rows) {
      if (index < first || index >= last) {
        row.remove();
        this.rows.delete(index);
      }
    }
    for (let index = first; index < last; index += 1) {
      const item = this.itemAt(index);
      let row = this.rows.get(index);
      if (row?.dataset.waits && item) {
        row.remove();
        row = undefined;
      }
      if (!row) {
        row = this.row(index, item);
        this.rows.set(index, row);
        this.box.append(row);
      }
      row.setAttribute("aria-selected", String(index === this.chosen));
      if (index === this.chosen) this.box.setAttribute("aria-activedescendant", row.id);
      if (!item) this.load(Math.floor(index / PART));
    }
  }

  row(index, item) {
    const row = document.createElement("div");
    row.className = "row";
    row.id = `row-${index}`;
    row.dataset.index = index;
    row.style.top = `${index * HEIGHT}px`;
    row.setAttribute("role", "option");
    row.setAttribute("aria-setsize", this.n);
    row.setAttribute("aria-posinset", index + 1);
    if (!item) {
      row.dataset.waits = "1";
      row.append(span("text", "…"));
      return row;
    }
    const text = span("text", "");
    const shown = document.createElement("b");
    shown.textContent = item.text || "(no text)";
    text.append(shown);
    row.append(text);
    if (item.kind) row.append(span("kind", item.kind));
    if (item.before !== undefined) {
      const chance = span("chance", `${percent(item.before)} → ${percent(item.after)}`);
      chance.title = "the model's probability before the mask, and after it";
      row.append(chance);
    }
    row.append(span("id", item.id));
    return row;
  }
}
