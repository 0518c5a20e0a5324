// Markdown as models write it, as elements. Text reaches the page as text nodes only.

import { copyButton, el } from "./dom.js";

const DEEPEST = 6;
const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([\w+#.-]{0,40})/;
const HEADING = /^ {0,3}(#{1,6})[ \t]+(.*)$/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])(?:[ \t]+(.*)|$)/;
const RULE = /^ {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$/;
const QUOTE = /^ {0,3}> ?(.*)$/;
const LINK = /\[([^[\]\n]{1,500})\]\(\s*([^\s()<>]{1,2000})(?:\s+"[^"\n]{0,200}")?\s*\)/y;
const ADDRESS = /https?:\/\/[^\s<>"'`)\]]{1,2000}/y;
const PUNCTUATION = /[!-/:-@[-`{-~]/;
const WORD = /[\p{L}\p{N}_]/u;

/** A text that grows: `show` puts it into *target*, and replaces only the blocks that changed. */
export class Rendering {
  constructor(target) {
    this.target = target;
    this.sources = [];
  }

  show(text) {
    const blocks = parse(text.replaceAll("\r\n", "\n").split("\n"));
    const sources = blocks.map((block) => JSON.stringify(block));
    let same = 0;
    while (same < sources.length && sources[same] === this.sources[same]) same += 1;
    while (this.target.children.length > same) this.target.lastElementChild.remove();
    this.target.append(...blocks.slice(same).map(build));
    this.sources = sources;
  }
}

/** The blocks of some lines: objects of a `kind` and what belongs to it. */
export function parse(lines, depth = 0) {
  const blocks = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at];
    const next = !line.trim() ? [null, at + 1]
      : fence(lines, at) ?? heading(lines, at) ?? rule(lines, at) ?? table(lines, at)
        ?? (depth < DEEPEST ? quote(lines, at, depth) ?? list(lines, at, depth) : null)
        ?? paragraph(lines, at, depth);
    if (next[0]) blocks.push(next[0]);
    at = next[1];
  }
  return blocks;
}

function fence(lines, at) {
  const start = FENCE.exec(lines[at]);
  if (!start) return null;
  const indent = lines[at].search(/\S/);
  let end = at + 1;
  const closes = (line) => line.trim().startsWith(start[1]) && !line.trim().replaceAll(start[1][0], "");
  while (end < lines.length && !closes(lines[end])) end += 1;
  const inside = lines.slice(at + 1, end).map((line) => line.slice(Math.min(indent, lead(line))));
  return [{ kind: "code", language: start[2], text: inside.join("\n") }, end + 1];
}

function heading(lines, at) {
  const found = HEADING.exec(lines[at]);
  if (!found) return null;
  return [{ kind: "heading", level: found[1].length, text: found[2].trim() }, at + 1];
}

function rule(lines, at) {
  return lines[at].length < 100 && RULE.test(lines[at]) ? [{ kind: "rule" }, at + 1] : null;
}

function quote(lines, at, depth) {
  const inside = [];
  let found;
  while (at < lines.length && (found = QUOTE.exec(lines[at]))) { inside.push(found[1]); at += 1; }
  return inside.length ? [{ kind: "quote", blocks: parse(inside, depth + 1) }, at] : null;
}

function list(lines, at, depth) {
  const first = ITEM.exec(lines[at]);
  if (!first) return null;
  const indent = first[1].length, ordered = /\d/.test(first[2]);
  const items = [];
  for (; at < lines.length; at += 1) {
    const line = lines[at], item = ITEM.exec(line);
    if (item && item[1].length <= indent + 1) {
      if (item[1].length < indent || /\d/.test(item[2]) !== ordered) break;
      items.push([item[3] ?? ""]);
    } else if (!line.trim()) {
      const following = lines[at + 1] ?? "";
      if (!following.trim() || (lead(following) < indent + 2 && !ITEM.test(following))) break;
      items.at(-1).push("");
    } else if (lead(line) >= indent + 2) {
      items.at(-1).push(line.slice(Math.min(lead(line), indent + first[2].length + 1)));
    } else if (items.at(-1).at(-1) !== "" && !FENCE.test(line) && !HEADING.test(line)) {
      items.at(-1).push(line); // a paragraph that goes on without being indented
    } else break;
  }
  const start = ordered ? Number.parseInt(first[2], 10) : 1;
  return [{ kind: "list", ordered, start, items: items.map((item) => parse(item, depth + 1)) }, at];
}

function table(lines, at) {
  if (!lines[at].includes("|") || at + 1 >= lines.length) return null;
  const rules = cells(lines[at + 1]);
  const head = cells(lines[at]);
  if (rules.length !== head.length || !rules.every((cell) => /^:?-+:?$/.test(cell))) return null;
  const rows = [];
  for (at += 2; at < lines.length && lines[at].includes("|"); at += 1) {
    const row = cells(lines[at]);
    rows.push(head.map((_, column) => row[column] ?? ""));
  }
  const right = rules.map((cell) => cell.endsWith(":"));
  return [{ kind: "table", head, rows, right }, at];
}

function cells(line) {
  const trimmed = line.trim().replace(/^\|/, "").replace(/\|$/, "");
  return trimmed.split("|").map((cell) => cell.trim());
}

function paragraph(lines, at, depth) {
  const inside = [];
  do { inside.push(lines[at].trim()); at += 1; } while (at < lines.length && !interrupts(lines, at, depth));
  return [{ kind: "paragraph", text: inside.join("\n") }, at];
}

function interrupts(lines, at, depth) {
  const line = lines[at];
  return !line.trim() || FENCE.test(line) || HEADING.test(line) || rule(lines, at) !== null
    || (depth < DEEPEST && (QUOTE.test(line) || ITEM.test(line)));
}

const lead = (line) => line.length - line.trimStart().length;

function build(block) {
  switch (block.kind) {
    case "code": return code(block.text, block.language);
    case "heading": return el(block.level < 3 ? "h4" : "h5", {}, ...inline(block.text));
    case "rule": return el("hr");
    case "quote": return el("blockquote", {}, ...block.blocks.map(build));
    case "list": return el(block.ordered ? "ol" : "ul", block.ordered ? { start: block.start } : {},
      ...block.items.map((item) => el("li", {}, ...loose(item))));
    case "table": return buildTable(block);
    default: return el("p", {}, ...inline(block.text));
  }
}

/** The blocks of a list item; a lone first paragraph needs no element of its own. */
function loose(blocks) {
  const [first, ...others] = blocks;
  if (first?.kind !== "paragraph") return blocks.map(build);
  return [el("span", {}, ...inline(first.text)), ...others.map(build)];
}

/** A piece of code with its language and a button that copies it. */
export function code(text, language = "") {
  return el("figure", { className: "code" },
    el("figcaption", {}, el("span", { textContent: language || "text" }), copyButton(() => text)),
    el("pre", { tabIndex: 0 }, el("code", { textContent: text })));
}

function buildTable({ head, rows, right }) {
  const side = (column) => (right[column] ? "right" : "");
  const row = (tag, values) => el("tr", {}, ...values.map((value, column) =>
    el(tag, { className: side(column) }, ...inline(value))));
  return el("div", { className: "table", tabIndex: 0, role: "region", "aria-label": "Table" },
    el("table", {}, el("thead", {}, row("th", head)), el("tbody", {}, ...rows.map((r) => row("td", r)))));
}

/** Text with emphasis, code and links, as nodes. Its time grows with the length of the text. */
export function inline(text, depth = 0) {
  const nodes = [], lost = new Set();
  let plain = "", at = 0;
  const put = (node) => {
    if (plain) nodes.push(plain);
    plain = "";
    nodes.push(node);
  };
  while (at < text.length) {
    const letter = text[at];
    const found = letter === "\n" ? [el("br"), at + 1]
      : letter === "`" ? inlineCode(text, at, lost)
        : "*_~".includes(letter) ? emphasis(text, at, depth, lost)
          : letter === "[" || text.startsWith("![", at) ? link(text, letter === "[" ? at : at + 1)
            : letter === "h" && !WORD.test(text[at - 1] ?? "") ? address(text, at) : null;
    if (found) {
      put(found[0]);
      at = found[1];
    } else if (letter === "\\" && PUNCTUATION.test(text[at + 1] ?? "")) {
      plain += text[at + 1];
      at += 2;
    } else {
      const length = "`*_~".includes(letter) ? runLength(text, at) : 1;
      plain += text.slice(at, at + length);
      at += length;
    }
  }
  if (plain) nodes.push(plain);
  return nodes;
}

function runLength(text, at) {
  let end = at;
  while (text[end] === text[at]) end += 1;
  return end - at;
}

function inlineCode(text, at, lost) {
  const length = runLength(text, at), mark = "`".repeat(length);
  if (lost.has(mark)) return null;
  for (let end = at + length; (end = text.indexOf("`", end)) >= 0;) {
    const run = runLength(text, end);
    if (run === length) {
      const inside = text.slice(at + length, end).replaceAll("\n", " ");
      return [el("code", { textContent: inside.trim() || inside }), end + length];
    }
    end += run;
  }
  lost.add(mark);
  return null;
}

function emphasis(text, at, depth, lost) {
  const length = runLength(text, at), letter = text[at];
  if (length > 3 || depth >= DEEPEST || (letter === "~" && length !== 2)) return null;
  const mark = letter.repeat(length);
  const opens = !/\s/.test(text[at + length] ?? " ")
    && !(letter === "_" && WORD.test(text[at - 1] ?? ""));
  if (!opens || lost.has(mark)) return null;
  let end = at + length;
  for (let tries = 0; tries < 12; tries += 1) {
    end = text.indexOf(mark, end);
    if (end < 0) break;
    const run = runLength(text, end);
    const closes = run === length && !/\s/.test(text[end - 1])
      && !(letter === "_" && WORD.test(text[end + run] ?? ""));
    if (closes) {
      const inside = inline(text.slice(at + length, end), depth + 1);
      const tag = letter === "~" ? "s" : length === 1 ? "em" : "strong";
      const node = el(tag, {}, ...inside);
      return [length === 3 ? el("em", {}, node) : node, end + length];
    }
    end += run;
  }
  if (end < 0) lost.add(mark);
  return null;
}

function link(text, at) {
  LINK.lastIndex = at;
  const found = LINK.exec(text);
  return found && [anchor(found[2], [found[1]]), LINK.lastIndex];
}

function address(text, at) {
  ADDRESS.lastIndex = at;
  const found = ADDRESS.exec(text);
  if (!found) return null;
  const shown = found[0].replace(/[.,;:!?]{1,20}$/, "");
  return [anchor(shown, [shown]), at + shown.length];
}

/** A link to another site; what names no web page stays text. */
function anchor(target, inside) {
  let url = null;
  try {
    url = new URL(target);
  } catch { /* no whole address: it would lead into this server */ }
  if (!url || !["http:", "https:"].includes(url.protocol)) return el("span", {}, ...inside);
  return el("a", { href: url.href, title: url.href, target: "_blank", rel: "noopener noreferrer nofollow" },
    ...inside);
}
