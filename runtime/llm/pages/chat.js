// The chat: conversations, the composer, and which reply is shown where.

import { byId, confirmed, el } from "./dom.js";
import { ExchangeView, modelName } from "./exchange.js";
import { parameters } from "./format.js";
import { call } from "./keyed.js";
import { blank, fill, messagesOf, newExchange } from "./replies.js";
import { freshId, load, save, saveConversations } from "./store.js";

const FRAME_MS = 40;
const NEAR_END = 90;
const SPOKEN = 1200;
const EXAMPLES = [
  ["A technique", "What is trail braking?"],
  ["The weather", "How do I drive in the wet?"],
  ["Before you drive", "I am nervous before my first track day. What should I do?"],
];

const conversations = load("conversations", []);
const runs = new Map(); // how to stop the reply of a conversation, by its id
const views = new Map(); // the view of each exchange that is shown
const pending = new Set(); // exchanges that changed since they were drawn
let current = conversations[0] ?? null;
let models = [];
let frame = 0;
let following = true; // whether the end of the conversation stays in view
let lastTop = 0;

/** Connect the page's elements; call once. */
export function start() {
  for (const exchange of conversations.flatMap((conversation) => conversation.exchanges)) {
    if (exchange.state === "running") exchange.state = "stopped"; // the page was loaded anew
  }
  const question = byId("question");
  byId("composer").addEventListener("submit", (event) => { event.preventDefault(); ask(question.value); });
  question.addEventListener("input", grow);
  question.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || touched()) return;
    event.preventDefault();
    ask(question.value);
  });
  document.addEventListener("keydown", (event) => {
    const open = document.querySelector("dialog[open], :popover-open");
    if (event.key === "Escape" && !open && !byId("chat-view").hidden) stop();
  });
  byId("stop").addEventListener("click", () => { stop(); question.focus(); });
  byId("latest").addEventListener("click", () => { toEnd(); question.focus(); });
  byId("scroll").addEventListener("scroll", noteScroll);
  new ResizeObserver(() => { if (following) toEnd(); }).observe(byId("scroll")); // a keyboard comes up
  byId("model").addEventListener("change", () => { save("model", byId("model").value); describeModel(); });
  for (const button of document.querySelectorAll("[data-new-chat]")) {
    button.addEventListener("click", () => { choose(null); question.focus(); });
  }
  byId("examples").append(...EXAMPLES.map(([kind, text]) => el("li", {},
    el("button", { type: "button", onclick: () => ask(text) },
      el("span", { className: "kind", textContent: kind }), el("span", { textContent: text })))));
  byId("keys").hidden = touched();
  // Where there is room, the list is no popover: its buttons would not be stops of the keyboard.
  const wide = matchMedia("(min-width: 56rem)");
  const place = () => { byId("rail").popover = wide.matches ? null : "auto"; };
  wide.addEventListener("change", place);
  place();
  addEventListener("pagehide", () => saveConversations(conversations));
  startSettings();
  draw();
}

/** The chat comes into view. */
export async function enter() {
  if (!touched()) byId("question").focus({ preventScroll: true });
  toEnd();
  await listModels();
}

/** Whether fingers write: Enter is then the only way to a new line, and a keyboard covers half the page. */
const touched = () => matchMedia("(pointer: coarse)").matches;

async function listModels() {
  const select = byId("model");
  try {
    await call("health"); // which asks the system model how it stands
    const { data } = await call("v1/models");
    models = data.filter((model) => model.meta.kind === "chat");
  } catch (error) {
    byId("about-model").textContent = error.message;
    return;
  }
  const chosen = select.value || load("model", "");
  select.replaceChildren(...models.map((model) => el("option", { value: model.id, textContent: title(model) })));
  const known = (id) => models.some((model) => model.id === id);
  const served = models.find((model) => model.meta.selected)?.id;
  const usable = models.find((model) => model.id !== "sysmodel-builtin" || model.meta.loaded)?.id;
  select.hidden = !models.length;
  select.value = known(chosen) ? chosen : [served, usable, models[0]?.id].find(known) ?? "";
  describeModel();
}

function title({ id, meta }) {
  const traits = [meta.note ? "demonstration" : null, meta.n_params ? parameters(meta.n_params) : null];
  if ((id === "sysmodel-builtin" || meta.upstreams) && !meta.loaded) traits.push("not available");
  const told = traits.filter(Boolean).join(", ");
  return told ? `${modelName(id)} (${told})` : modelName(id);
}

function describeModel() {
  const model = models.find((other) => other.id === byId("model").value);
  const about = byId("about-model");
  if (!model) about.textContent = "There is no chat model on this machine yet.";
  else if (model.meta.note) about.textContent = `${subject(model.id)} is ${model.meta.note}.`;
  else if (model.id === "sysmodel-builtin" && !model.meta.loaded) {
    about.textContent = "The built-in model is not available now. “Engines” says how it stands.";
  } else if (model.meta.upstreams) {
    const hosts = model.meta.upstreams.map(({ url }) => new URL(url).host || url);
    about.textContent = `${subject(model.id)} answers at ${hosts.join(", ")}. What you write is sent there.`;
  } else about.textContent = `${subject(model.id)} answers on this machine. What you write stays here.`;
}

const subject = (id) => (id === "sysmodel-builtin" ? "The built-in model" : id);

function startSettings() {
  const fields = ["system", "temperature", "top-k", "reply-tokens"].map(byId);
  const kept = load("settings", {});
  const mark = () => { byId("open-tuning").classList.toggle("set", fields.some((field) => field.value.trim())); };
  for (const field of fields) {
    field.value = kept[field.id] ?? "";
    field.addEventListener("change", () => {
      save("settings", Object.fromEntries(fields.map((one) => [one.id, one.value])));
      mark();
    });
  }
  byId("tuning").addEventListener("submit", (event) => {
    event.preventDefault();
    byId("tuning").hidePopover();
  });
  mark();
}

function numberIn(id) {
  const field = byId(id);
  return field.value.trim() === "" || !field.validity.valid ? undefined : Number(field.value);
}

/** Ask a question in the conversation that is shown, or in a new one. */
function ask(text) {
  if (!text.trim() || runs.has(current?.id)) return;
  if (!current) {
    current = { id: freshId(), title: text.trim().replaceAll(/\s+/g, " ").slice(0, 80), exchanges: [] };
    conversations.unshift(current);
  }
  current.exchanges.push(newExchange(text.trim(), byId("model").value));
  byId("question").value = "";
  grow();
  draw();
  toEnd();
  answer(current);
}

/** Let the last question of a conversation be answered. */
async function answer(conversation) {
  const exchange = conversation.exchanges.at(-1);
  const stopping = new AbortController();
  const settings = {
    temperature: numberIn("temperature"), top_k: numberIn("top-k"),
    max_completion_tokens: numberIn("reply-tokens"),
  };
  runs.set(conversation.id, stopping);
  showRunning();
  speak("Waiting for the reply.");
  try {
    await fill(exchange, {
      ...settings,
      model: exchange.model || undefined,
      session_id: conversation.id,
      messages: messagesOf(conversation.exchanges, byId("system").value.trim()),
    }, stopping.signal, () => redraw(exchange));
  } finally {
    runs.delete(conversation.id);
    saveConversations(conversations);
    showRunning();
    if (conversation === current && exchange.state !== "failed") {
      const view = views.get(exchange);
      view?.refresh();
      speak(view?.text.textContent.slice(0, SPOKEN) || "No reply.");
    }
  }
}

function askAgain(exchange) {
  if (runs.has(current.id)) return;
  Object.assign(exchange, blank(), { model: byId("model").value || exchange.model });
  views.get(exchange)?.refresh();
  byId("question").focus();
  answer(current);
}

function stop() {
  runs.get(current?.id)?.abort();
}

/** What a screen reader says: once a reply is whole, not at every word. */
function speak(text) {
  byId("spoken").textContent = text;
}

function choose(conversation) {
  current = conversation;
  if (byId("rail").popover) byId("rail").hidePopover();
  draw();
  toEnd();
}

async function remove(conversation) {
  const sure = await confirmed("Delete this conversation?", conversation.title, "Delete");
  if (!sure) return;
  runs.get(conversation.id)?.abort();
  conversations.splice(conversations.indexOf(conversation), 1);
  saveConversations(conversations);
  if (conversation === current) choose(null);
  else drawList();
}

function draw() {
  views.clear();
  const last = current?.exchanges.at(-1);
  for (const exchange of current?.exchanges ?? []) {
    views.set(exchange, new ExchangeView(exchange, exchange === last ? () => askAgain(exchange) : null));
  }
  byId("exchanges").replaceChildren(...Array.from(views.values(), (view) => view.element));
  byId("empty").hidden = views.size > 0;
  document.querySelector(".bar").hidden = !conversations.length;
  byId("title").textContent = current?.title ?? "New chat";
  drawList();
  showRunning();
}

function drawList() {
  byId("conversations").replaceChildren(...conversations.map((conversation) => el("li", {},
    el("button", { type: "button", textContent: conversation.title, title: conversation.title,
      "aria-current": conversation === current ? "true" : null, onclick: () => choose(conversation) }),
    el("button", { type: "button", className: "remove", textContent: "×",
      "aria-label": `Delete ${conversation.title}`, onclick: () => remove(conversation) }))));
}

/** Draw an exchange soon: the pieces of a fast reply come quicker than anybody reads. */
function redraw(exchange) {
  pending.add(exchange);
  frame ||= setTimeout(() => {
    frame = 0;
    for (const changed of pending) views.get(changed)?.refresh();
    pending.clear();
    if (following) toEnd();
    else byId("latest").hidden = false;
  }, FRAME_MS);
}

function showRunning() {
  const running = runs.has(current?.id);
  byId("send").hidden = running;
  byId("stop").hidden = !running;
  byId("keys").textContent = running ? "Escape stops the reply" : "Enter sends, Shift+Enter starts a line";
}

function atEnd() {
  const box = byId("scroll");
  return box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_END;
}

/** Only whoever scrolls up leaves the end: it also moves away as a text grows or the window shrinks. */
function noteScroll() {
  const { scrollTop } = byId("scroll");
  if (atEnd()) following = true;
  else if (scrollTop < lastTop) following = false;
  lastTop = scrollTop;
  byId("latest").hidden = following;
}

function toEnd() {
  const box = byId("scroll");
  box.scrollTop = current ? box.scrollHeight : 0;
  lastTop = box.scrollTop;
  following = true;
  byId("latest").hidden = true;
}

/** As high as its text, up to a third of the window. */
function grow() {
  const field = byId("question");
  field.style.height = "auto";
  field.style.height = `${Math.min(field.scrollHeight + 2, innerHeight / 3)}px`;
}
