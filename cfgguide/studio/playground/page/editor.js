// The grammar's editor: a textarea, with colours, line numbers and mistakes drawn behind it.

const PARTS = /(\/\/[^\n]*)|("(?:\\.|[^"\\\n])*"i?|\/(?![\/*])(?:\\.|[^\/\\\n])+\/[imslux]*)|(^%\w+)|(\b_?[A-Z][A-Z_0-9]*\b)|(^[?!]?[a-z_]\w*(?=[.{:\s][^\n]*:?))/gm;
const KINDS = ["comment", "string", "statement", "terminal", "rule"];
const MAX_COLOURED = 60000;

export function span(className, text) {
  const made = document.createElement("span");
  if (className) made.className = className;
  made.textContent = text;
  return made;
}

export class Editor {
  constructor(onChange) {
    this.area = document.getElementById("grammar");
    this.backdrop = document.getElementById("backdrop");
    this.gutter = document.getElementById("gutter");
    this.wrong = null;
    this.area.addEventListener("input", () => {
      this.wrong = null;
      this.draw();
      onChange();
    });
    this.area.addEventListener("scroll", () => this.scroll());
  }

  get text() {
    return this.area.value;
  }

  set text(text) {
    this.area.value = text;
    this.wrong = null;
    this.area.scrollTop = this.area.scrollLeft = 0;
    this.draw();
  }

  // Marks the place of an error; null for none.
  mark(error) {
    this.wrong = null;
    if (error?.line) {
      const lines = this.text.split("\n");
      const before = lines.slice(0, error.line - 1).reduce((sum, line) => sum + line.length + 1, 0);
      const start = Math.min(before + error.column - 1, this.text.length);
      this.wrong = [start, start + error.length];
    }
    this.draw();
  }

  goTo(error) {
    this.mark(error);
    const [start, end] = this.wrong;
    this.area.focus();
    this.area.setSelectionRange(start, Math.min(end, this.text.length));
    this.area.scrollTop = Math.max(0, (error.line - 4) * 1.5 * parseFloat(getComputedStyle(this.area).fontSize));
  }

  scroll() {
    this.backdrop.scrollTop = this.gutter.scrollTop = this.area.scrollTop;
    this.backdrop.scrollLeft = this.area.scrollLeft;
  }

  draw() {
    const text = this.text;
    const pieces = [];
    let at = 0;
    if (text.length <= MAX_COLOURED) {
      for (const found of text.matchAll(PARTS)) {
        const kind = KINDS[found.slice(1).findIndex((part) => part !== undefined)];
        if (found.index > at) pieces.push([at, found.index, ""]);
        at = found.index + found[0].length;
        pieces.push([found.index, at, kind]);
      }
    }
    pieces.push([at, text.length, ""]);
    const drawn = document.createDocumentFragment();
    const [from, to] = this.wrong ?? [-1, -1];
    for (const [start, end, kind] of pieces) {
      const cuts = [start, ...[from, to].filter((cut) => start < cut && cut < end), end];
      for (let i = 0; i + 1 < cuts.length; i += 1) {
        const made = span(kind, text.slice(cuts[i], cuts[i + 1]));
        if (cuts[i] >= from && cuts[i + 1] <= to && from < to && cuts[i] < cuts[i + 1]) {
          const mark = document.createElement("mark");
          mark.className = "wrong";
          mark.append(made);
          drawn.append(mark);
        } else drawn.append(made);
      }
    }
    if (from >= text.length) {
      const mark = document.createElement("mark");
      mark.className = "wrong";
      mark.textContent = " ";
      drawn.append(mark);
    }
    drawn.append("\n\n");
    this.backdrop.replaceChildren(drawn);
    const n = text.split("\n").length;
    if (n !== this.nLines) {
      this.nLines = n;
      this.gutter.textContent = Array.from({ length: n }, (_, i) => i + 1).join("\n") + "\n\n";
    }
    this.scroll();
  }
}
