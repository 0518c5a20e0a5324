// The documents: whose they are, adding, deleting, and searching them by meaning.

import { byId, confirmed, copyButton, el, problem } from "./dom.js";
import { amount, count } from "./format.js";
import { call } from "./keyed.js";
import { load, save } from "./store.js";

const PAGE = 200;
const HITS = 8;
const TEXT_FILE = /\.(txt|md|markdown)$/i;
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

let owner = new URLSearchParams(location.search).get("collection") ?? load("owner", "chat-page");
let model = "";
const parts = {};

/** Build the view; call once. */
export function start() {
  parts.owner = el("input", { id: "owner", type: "text", value: owner, maxLength: 128, spellcheck: false,
    autocomplete: "off" });
  parts.owner.setAttribute("list", "owners");
  parts.owners = el("datalist", { id: "owners" });
  parts.missing = el("div", { className: "missing", hidden: true });
  parts.query = el("input", { id: "query", type: "search", placeholder: "Where do I brake for turn 7?" });
  parts.found = el("p", { className: "found", role: "status" });
  parts.hits = el("ol", { className: "hits" });
  parts.model = el("select", { id: "embedding-model" });
  parts.modelRow = el("label", { className: "field", hidden: true }, "Embedding model", parts.model);
  parts.files = el("input", { id: "files", type: "file", multiple: true, className: "hidden",
    accept: ".txt,.md,.markdown,text/plain,text/markdown" });
  parts.drop = el("label", { className: "drop", htmlFor: "files" },
    el("strong", { textContent: "Choose .txt or .md files" }), el("span", { textContent: "or drop them here" }));
  parts.name = el("input", { id: "name", type: "text", maxLength: 256, required: true, autocomplete: "off",
    placeholder: "notes/turn-7" });
  parts.text = el("textarea", { id: "text", rows: 6, required: true });
  parts.write = el("form", {}, el("label", { className: "field" }, "Name", parts.name),
    el("label", { className: "field" }, "Text", parts.text),
    el("button", { className: "button quiet", textContent: "Add this text" }));
  parts.log = el("div", { className: "log", role: "status" });
  parts.listed = el("h2", { textContent: "Stored" });
  parts.list = el("ul", { className: "rows" });
  parts.search = el("form", { className: "search", role: "search" },
    el("label", { className: "hidden", htmlFor: "query", textContent: "Search" }), parts.query,
    el("button", { className: "button", textContent: "Search" }));
  parts.whose = el("label", { className: "field whose" }, "Collection", parts.owner,
    el("span", { className: "fine", textContent: "Programs that send this name as X-Client-Id share these documents." }));
  byId("documents-body").append(parts.missing, el("div", { className: "columns" },
    el("div", {}, parts.search, parts.found, parts.hits, parts.listed, parts.list),
    el("div", { className: "aside" }, parts.whose, parts.owners, parts.modelRow,
      el("h2", { textContent: "Add" }), parts.files, parts.drop, parts.log,
      el("details", { className: "fold" }, el("summary", { textContent: "Write or paste a text" }), parts.write))));
  connect();
}

function connect() {
  parts.owner.addEventListener("change", () => {
    owner = parts.owner.value.trim() || "chat-page";
    parts.owner.value = owner;
    save("owner", owner);
    parts.log.replaceChildren();
    forgetHits();
    list();
  });
  parts.model.addEventListener("change", () => { model = parts.model.value; forgetHits(); });
  parts.search.addEventListener("submit", (event) => { event.preventDefault(); search(); });
  parts.files.addEventListener("change", () => { addFiles([...parts.files.files]); parts.files.value = ""; });
  parts.write.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (await add(parts.name.value.trim(), parts.text.value)) parts.write.reset();
  });
  const view = byId("documents-view");
  const over = (on) => (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    parts.drop.classList.toggle("over", on);
  };
  view.addEventListener("dragover", over(true));
  view.addEventListener("dragleave", over(false));
  view.addEventListener("drop", (event) => {
    over(false)(event);
    addFiles([...(event.dataTransfer?.files ?? [])]);
  });
}

/** The view is opened. */
export async function enter() {
  await Promise.all([listModels(), list(), listOwners()]);
}

async function listModels() {
  let answer;
  try {
    answer = await call("v1/models");
  } catch {
    parts.missing.hidden = true;
    return; // the list of documents says why
  }
  const embedding = answer.data.filter((entry) => entry.meta.kind === "embedding").map((entry) => entry.id);
  if (!embedding.includes(model)) model = embedding[0] ?? "";
  parts.model.replaceChildren(...embedding.map((id) => el("option", { value: id, textContent: id })));
  parts.model.value = model;
  parts.modelRow.hidden = embedding.length < 2;
  parts.missing.hidden = Boolean(model);
  if (!model) showMissing(answer.hints?.[0] ?? "");
  for (const field of byId("documents-body").querySelectorAll(".search *, .drop, #files, form [id], form button")) {
    field.disabled = !model;
  }
  parts.drop.classList.toggle("off", !model);
}

/** What has to be done first, with the command that the server names. */
function showMissing(hint) {
  const command = /(?:python -m |paddock-)[\w. -]+/.exec(hint)?.[0].trim() ?? "python -m runtime.llm pull minilm";
  parts.missing.replaceChildren(el("h2", { textContent: "An embedding model comes first" }),
    el("p", { textContent: "Documents are found by what they mean, and that takes a second, small model, which is not "
      + "installed yet. This command fetches it once (about 90 MB); the server needs no restart." }),
    el("div", { className: "command" }, el("code", { textContent: command }), copyButton(() => command)),
    el("button", { type: "button", className: "button quiet", textContent: "Look again", onclick: enter }));
}

async function listOwners() {
  const { data } = await call("v1/tenants", { owner, quiet: true }).catch(() => ({ data: [] }));
  parts.owners.replaceChildren(...data.map((tenant) =>
    el("option", { value: tenant.tenant_id, label: amount(tenant.document_count, "document") })));
}

async function list() {
  const documents = [];
  try {
    for (let page, after = ""; !page || (page.has_more && documents.length < 1000);) {
      const rest = after ? `&after=${encodeURIComponent(after)}` : "";
      page = await call(`v1/documents?limit=${PAGE}${rest}`, { owner });
      documents.push(...page.data);
      after = documents.at(-1)?.document_id ?? "";
    }
  } catch (error) {
    parts.list.replaceChildren(el("li", {}, problem(error)));
    return;
  }
  parts.listed.textContent = documents.length ? amount(documents.length, "document") : "Nothing stored yet";
  parts.list.replaceChildren(...documents.map(showDocument));
}

function showDocument(stored) {
  const { document_id: id } = stored;
  const told = [amount(stored.chunk_count, "chunk"), `${count(stored.chars)} characters`,
    DAY.format(stored.created * 1000)];
  return el("li", {}, el("div", {}, el("strong", { textContent: id }), el("p", { textContent: told.join(" · ") })),
    el("button", { type: "button", className: "plain", textContent: "Delete", "aria-label": `Delete ${id}`,
      onclick: () => remove(id) }));
}

async function remove(id) {
  if (!(await confirmed("Delete this document?", id, "Delete"))) return;
  try {
    await call(`v1/documents/${encodeURIComponent(id)}`, { method: "DELETE", owner });
    forgetHits();
    note(`${id} is deleted.`);
  } catch (error) {
    note(`${id}: ${error.message}`, true);
  }
  await list();
}

async function addFiles(files) {
  parts.log.replaceChildren();
  for (const file of files) {
    if (!TEXT_FILE.test(file.name) && !file.type.startsWith("text/")) {
      note(`${file.name} is no text; .txt and .md files can be added.`, true);
      continue;
    }
    await add(file.name, await file.text());
  }
}

/** Whether there is a model to embed with; it is looked for again where a key was missing before. */
async function ready() {
  if (!model) await enter();
  return model !== "";
}

/** Store a text under a name; says whether it worked. */
async function add(name, text) {
  if (!(await ready())) return false;
  const line = note(`${name} is being read …`);
  try {
    const stored = await call("v1/documents", {
      method: "POST", owner, body: { id: name, text, model, metadata: { source: "chat page" } },
    });
    line.textContent = `${name}: ${amount(stored.chunk_count, "chunk")}${stored.replaced ? ", replaced" : ""}.`;
    await list();
    return true;
  } catch (error) {
    line.textContent = `${name}: ${error.message}`;
    line.className = "bad";
    return false;
  }
}

function note(text, bad = false) {
  const line = el("p", { textContent: text, className: bad ? "bad" : "" });
  parts.log.append(line);
  return line;
}

function forgetHits() {
  parts.hits.replaceChildren();
  parts.found.textContent = "";
}

async function search() {
  const query = parts.query.value.trim();
  if (!query || !(await ready())) return;
  parts.found.textContent = "Searching …";
  try {
    const { data } = await call("v1/search", { method: "POST", owner, body: { query, model, k: HITS } });
    parts.hits.replaceChildren(...data.map(showHit));
    parts.found.textContent = data.length ? `${amount(data.length, "passage")}, the closest first`
      : "There is nothing to find in this collection yet.";
  } catch (error) {
    forgetHits();
    parts.hits.append(el("li", {}, problem(error)));
  }
}

function showHit(hit) {
  const bar = el("i");
  bar.style.inlineSize = `${Math.max(0, Math.min(1, hit.score)) * 100}%`;
  return el("li", {}, el("div", { className: "score" },
    el("span", { className: "hidden", textContent: "Similarity " }), el("b", { textContent: hit.score.toFixed(2) }),
    el("span", { className: "meter", "aria-hidden": "true" }, bar)),
  el("div", {}, el("p", { className: "passage", textContent: hit.text.replaceAll(/\n\s*\n/g, "\n") }),
    el("p", { className: "source", textContent: `${hit.document_id}, passage ${hit.chunk_index + 1}` })));
}
