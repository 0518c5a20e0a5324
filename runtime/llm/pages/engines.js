// The engines: what is in memory, what runs and waits, and the system model.

import { byId, el, problem } from "./dom.js";
import { modelName } from "./exchange.js";
import { amount, bytes, count, parameters, seconds, span } from "./format.js";
import { call } from "./keyed.js";
import { watch } from "./ticker.js";

const PACE_S = 2;
const SHOWN_REQUESTS = 10;
const BACKENDS = { LOCAL_CPU: "CPU", LOCAL_GPU: "GPU", LOCAL_NPU: "NPU" };
const TIME = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const PROVIDERS = {
  managed_gguf: "a file of this server", openai_http: "another server on this machine", ollama: "Ollama",
  none: "nothing is behind it", disabled: "switched off",
};
const FIELDS = { chosen: "thread choice", gpu_layers: "GPU layers" };
const STATES = {
  available: "ready", downloading: "being downloaded", downloadable: "can be downloaded", unavailable: "not available",
};

const parts = {};
const warming = new Map(); // what was said of making a model ready, by its id
let unwatch = () => {};
let asked = false;

/** Build the view; call once. */
export function start() {
  for (const name of ["trouble", "facts", "models", "loaded", "requests", "failures"]) parts[name] = el("div");
  parts.said = el("p", { className: "note", role: "status" });
  parts.unload = el("button", { type: "button", className: "button quiet", textContent: "Unload what rests",
    onclick: unload });
  parts.all = el("div", { hidden: true }, parts.facts,
    el("h2", { textContent: "Models" }), parts.models,
    el("div", { className: "beside" }, el("h2", { textContent: "In memory" }), parts.unload), parts.said, parts.loaded,
    el("h2", { textContent: "Requests" }), parts.requests, parts.failures);
  byId("engines-body").append(parts.trouble, parts.all);
}

/** The view is opened. */
export function enter() {
  asked = false;
  unwatch = watch(look, PACE_S);
}

/** The view is left. */
export function leave() {
  unwatch();
}

async function look() {
  const quiet = asked; // the key is asked for at most once
  asked = true;
  try {
    const [health, models, requests] = await Promise.all([
      call("health", { quiet }), call("v1/models", { quiet }), call("v1/requests", { quiet }),
    ]);
    show(parts.trouble);
    showAll(health, models.data, requests);
  } catch (error) {
    show(parts.trouble, problem(error));
  }
}

/** Put *children* into a part unless they are there already; the focus stays where it was. */
function show(part, ...children) {
  const next = el("div", {}, ...children);
  if (next.innerHTML === part.innerHTML) return;
  const key = part.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  part.replaceChildren(...next.childNodes);
  if (key) part.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus();
}

function showAll(health, models, requests) {
  const { documents } = health;
  parts.all.hidden = false;
  const facts = [
    ["Queue", `${health.inflight} running, ${health.queue_depth} waiting`],
    ["Conversations kept", count(health.sessions_cached)],
    ["Documents", `${count(documents.documents)} (${amount(documents.chunks, "chunk")})`],
    ["Running for", span(health.uptime_s)],
    ["Access", health.auth === "key" ? "with a key" : "open"],
    ["Version", health.version],
  ];
  show(parts.facts, documents.disk_full ? el("p", { className: "problem", textContent: "The disk is full." }) : null,
    el("dl", { className: "sheet" }, ...facts.map(([name, value]) =>
      el("div", {}, el("dt", { textContent: name }), el("dd", { textContent: value })))));
  show(parts.models, el("ul", { className: "rows" }, ...models.map((model) => showModel(model, health.sysmodel))));
  const engines = [...health.engines, ...health.embedding_engines];
  show(parts.loaded, engines.length ? el("ul", { className: "cards" }, ...engines.map(showEngine))
    : el("p", { className: "fine", textContent: "No engine is loaded. The first question loads one; “Make ready” does it now." }));
  parts.unload.hidden = !engines.length;
  showRequests(requests);
  show(parts.failures, ...(health.last_failures.length ? [el("h2", { textContent: "Engines that did not come up" }),
    el("ul", { className: "rows" }, ...health.last_failures.map((failure) => el("li", {}, el("div", {},
      el("strong", { textContent: engineName(failure.key) }),
      el("p", { textContent: `${TIME.format(failure.at * 1000)} · ${failure.result}` })))))] : []));
}

function showModel({ id, meta }, system) {
  const isSystem = id === "sysmodel-builtin";
  const traits = [
    meta.kind === "embedding" ? "embeddings" : "chat",
    isSystem ? PROVIDERS[system.provider] ?? system.provider : null,
    meta.n_params ? `${parameters(meta.n_params)} parameters` : null,
    meta.quant ?? null,
    meta.size ? bytes(meta.size) : null,
    meta.n_ctx_train ? `${count(meta.n_ctx_train)} tokens` : null,
  ];
  const state = isSystem ? STATES[system.status] ?? system.status
    : meta.upstreams ? (meta.loaded ? "upstream" : "upstream is down") : meta.loaded ? "in memory" : "on disk";
  const lit = isSystem ? system.status === "available" : meta.loaded;
  const said = warming.get(id) ?? { text: (isSystem && system.error) || "", bad: true };
  const lines = [el("strong", { textContent: modelName(id) }), el("p", { textContent: traits.filter(Boolean).join(" · ") })];
  if (meta.note) lines.push(el("p", { textContent: `It is ${meta.note}.` }));
  if (said.text) lines.push(el("p", { className: said.bad ? "note" : "good", textContent: said.text }));
  if (isSystem && typeof system.progress === "number") {
    lines.push(el("progress", { max: 1, value: system.progress, "aria-label": "Download" }));
  }
  const button = (text, act) => el("button", { type: "button", className: "plain", textContent: text,
    "aria-label": `${text}: ${modelName(id)}`, "data-key": `${text} ${id}`, disabled: warming.get(id) === WORKING,
    onclick: act });
  return el("li", {}, el("div", {}, ...lines), el("span", { className: lit ? "state on" : "state", textContent: state }),
    isSystem && system.status === "downloadable" ? button("Download", () => download(id))
      : isSystem || !meta.loaded ? button("Make ready", () => warm(id)) : null);
}

/** Every value of an engine besides its name: how it runs on this machine. */
function showEngine({ key, backend, attempts, ...rest }) {
  const fields = Object.entries(rest).flatMap(([name, value]) =>
    (value && typeof value === "object" ? Object.entries(value) : [[name, value]]));
  const figures = fields.filter(([, value]) => ["number", "string", "boolean"].includes(typeof value));
  const loads = attempts.map((attempt) => ["load", attempt.result === "ok" ? seconds(attempt.duration_ms) : attempt.result]);
  const shown = [["backend", BACKENDS[backend] ?? backend], ...figures, ...loads];
  return el("li", { className: "card" }, el("h3", { textContent: engineName(key) }),
    el("dl", { className: "figures" }, ...shown.map(([name, value]) => el("div", {},
      el("dt", { textContent: FIELDS[name] ?? name.replaceAll("_", " ") }),
      el("dd", { textContent: typeof value === "number" ? count(value) : String(value) })))));
}

/** The model that an engine's key begins with; its budget and backend follow. */
function engineName(key) {
  return key.replace(/_(model|\d+)_[A-Z_]+$/, "");
}

function showRequests({ running, waiting, last }) {
  const listed = [...running, ...waiting, ...last].slice(0, Math.max(SHOWN_REQUESTS, running.length + waiting.length));
  if (!listed.length) {
    show(parts.requests, el("p", { className: "fine", textContent: "Nobody has asked anything since the start." }));
    return;
  }
  const head = ["No.", "Model", "State", "Waited", "Took", "Tokens", "Client", ""];
  const right = new Set(["No.", "Waited", "Took", "Tokens"]);
  const cell = (tag, column, ...children) => el(tag, { className: right.has(head[column]) ? "right" : "" }, ...children);
  const rows = listed.map((request) => {
    const open = request.state === "running" || request.state === "queued";
    const cancel = open ? el("button", { type: "button", className: "plain", textContent: "Cancel",
      "data-key": `cancel ${request.id}`, "aria-label": `Cancel request ${request.id}`,
      onclick: () => call(`v1/requests/${request.id}`, { method: "DELETE" }).then(look, look) }) : "";
    const values = [count(request.id), modelName(request.model),
      el("span", { className: `state ${request.state}`, textContent: request.state }),
      seconds(request.queue_ms), seconds(request.inference_ms),
      request.completion_tokens ? count(request.completion_tokens) : "–", request.client.split(" ")[0], cancel];
    return el("tr", {}, ...values.map((value, column) => cell("td", column, value)));
  });
  show(parts.requests, el("div", { className: "table", tabIndex: 0, role: "region", "aria-label": "Requests" },
    el("table", {}, el("thead", {}, el("tr", {}, ...head.map((name, column) =>
      name ? cell("th", column, name) : el("td")))), el("tbody", {}, ...rows))));
}

const WORKING = { text: "Being made ready …" };

async function warm(id) {
  warming.set(id, WORKING);
  look();
  try {
    const { ms } = await call(`health/warm?deep=true&model=${encodeURIComponent(id)}`, { method: "POST" });
    warming.set(id, { text: `Ready after ${seconds(ms)}.` });
  } catch (error) {
    const late = error.status === 504;
    warming.set(id, { text: late ? "It takes more than a minute; the server goes on." : error.message, bad: true });
  }
  look();
}

async function download(id) {
  try {
    await call("v1/sysmodel/download", { method: "POST" });
    warming.delete(id);
  } catch (error) {
    warming.set(id, { text: error.message, bad: true });
  }
  look();
}

async function unload() {
  try {
    const { unloaded } = await call("v1/engines/unload", { method: "POST" });
    parts.said.textContent = unloaded ? `${amount(unloaded, "engine")} unloaded.` : "Every engine is in use.";
  } catch (error) {
    parts.said.textContent = error.message;
  }
  look();
}
