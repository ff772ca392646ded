// What is shown of one place beside the list: why a token may follow, the stack, the tree, drawings.

import { span } from "./editor.js";

const byId = (id) => document.getElementById(id);

function element(name, className, ...children) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

function expectedItems(expected) {
  return expected.map(({ terminal, example }) => {
    const item = element("li", "", terminal === "$END" ? "end of the text" : terminal);
    if (example) item.append(element("em", "", example));
    return item;
  });
}

export function showWhy(answer, box = byId("why")) {
  if (answer.error) {
    box.replaceChildren(element("p", "no", answer.error.message));
    return;
  }
  const { is_allowed: isAllowed } = answer;
  const verdict = element("p", "", span(isAllowed ? "yes" : "no", isAllowed ? "allowed" : "refused"));
  const bytes = span("bytes", "");
  bytes.append(span("taken", answer.taken), span("refused", answer.refused));
  verdict.prepend(bytes, " ");
  const parts = [verdict];
  if (answer.reason) parts.push(element("p", "", answer.reason));
  if (answer.readings.length && (isAllowed || answer.offset)) {
    parts.push(element("p", "note", `${isAllowed ? "It" : "The part before"} ${answer.readings.slice(0, 3).join("; or ")}.`));
  }
  if (answer.expected.length) {
    parts.push(element("p", "note", isAllowed ? "Then may follow:" : "Expected there:"));
    parts.push(element("ul", "expected", ...expectedItems(answer.expected.slice(0, 40))));
  }
  box.replaceChildren(...parts);
}

export function showStacks(answer) {
  const box = byId("stacks");
  if (answer.error) {
    box.replaceChildren(element("p", "note", answer.error.message));
    return;
  }
  const parts = answer.ways.map((way) => {
    const stack = element("ol", "stack");
    if (way.n_below) stack.append(element("li", "", `${way.n_below} below …`));
    for (const [state, symbol] of way.stack) {
      stack.append(element("li", "", symbol || "start", element("small", "", String(state))));
    }
    const more = way.n_ahead > way.ahead.length ? ` and ${way.n_ahead - way.ahead.length} more` : "";
    const open = way.open === null
      ? "Nothing is read after these."
      : `Then the lexer is inside of ${way.open}, which may be ${way.ahead.join(", ")}${more}.`;
    return element("div", "", stack, element("p", "note", open));
  });
  if (answer.n_ways > answer.ways.length) parts.push(element("p", "note", `and ${answer.n_ways - answer.ways.length} more ways to read it`));
  if (answer.n_ways > 1) parts.unshift(element("p", "note", `${answer.n_ways} ways to read the text so far:`));
  box.replaceChildren(...parts);
}

export function showExpected(answer) {
  byId("expected").replaceChildren(
    ...(answer.error ? [element("li", "", answer.error.message)] : expectedItems(answer.expected)),
  );
}

function treeNode(node, depth) {
  if (node.terminal) return element("div", "leaf", span("", node.terminal), node.text);
  const made = element("details", "", element("summary", "", node.rule));
  made.open = depth < 6;
  made.append(...node.children.map((child) => treeNode(child, depth + 1)));
  return made;
}

export function showTree(answer) {
  byId("tree-note").textContent = answer.error
    ? answer.error.message
    : `Lark’s own tree of this text${answer.is_cut ? ", cut: it is too large to be shown" : ""}.`;
  byId("tree").replaceChildren(...(answer.error ? [] : [treeNode(answer.tree, 0)]));
}

export function showDrawing(answer) {
  const box = byId("drawing");
  byId("drawing-note").textContent = answer.error ? answer.error.message : "Its FSM over bytes; two rings mark where a lexeme may end.";
  if (answer.error) {
    box.replaceChildren();
    return;
  }
  const image = document.createElement("img");
  image.alt = "Drawing of the terminal’s FSM";
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(answer.svg)}`;
  box.replaceChildren(image);
}

export function showReport(answer) {
  byId("report-note").textContent = answer.error ? answer.error.message : "";
  const sections = answer.error ? [] : [...answer.sections, answer.summary];
  if (!answer.error && !answer.sections.length) byId("report-note").textContent = "No conflicts, no overlaps, nothing unused.";
  byId("report").replaceChildren(...sections.map((text) => element("pre", "", text)));
}
