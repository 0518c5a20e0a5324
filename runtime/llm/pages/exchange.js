// One exchange of a conversation on the page: the question, and the reply in whatever state it is.

import { copyButton, el, problem } from "./dom.js";
import { count, seconds, span } from "./format.js";
import { Rendering, code } from "./markdown.js";

const SHOWN_PLACES = 12;

/** The name of a model as people say it. */
export const modelName = (id) => (id === "sysmodel-builtin" ? "Built-in model" : id);

/** The question and the reply as an element; `refresh` shows what has changed since. */
export class ExchangeView {
  /** *again* asks the question once more; only the last one can be. */
  constructor(exchange, again) {
    this.exchange = exchange;
    this.again = again;
    this.queue = el("div", { className: "queue" });
    this.reasoning = el("div", { className: "text" });
    this.thinking = el("details", { className: "reasoning", hidden: true },
      el("summary", { textContent: "Reasoning" }), this.reasoning);
    this.text = el("div", { className: "text" });
    this.calls = el("div", { className: "calls" });
    this.end = el("div", { className: "end" });
    this.who = el("h3", { className: "who" });
    this.reply = el("div", { className: "reply" },
      this.queue, this.thinking, this.text, this.calls, this.end);
    this.element = el("li", { className: "exchange" },
      el("div", { className: "turn" }, el("h2", { className: "who", textContent: "You" }),
        el("p", { className: exchange.ask.length > 240 ? "ask long" : "ask", textContent: exchange.ask })),
      el("div", { className: "turn" }, this.who, this.reply));
    this.rendering = new Rendering(this.text);
    this.reasoningRendering = new Rendering(this.reasoning);
    this.refresh();
  }

  refresh() {
    const { exchange } = this;
    this.who.textContent = modelName(exchange.model);
    this.reply.dataset.state = exchange.state;
    this.reply.setAttribute("aria-busy", String(exchange.state === "running"));
    this.rendering.show(exchange.reply);
    this.thinking.hidden = !exchange.reasoning;
    if (exchange.reasoning) this.reasoningRendering.show(exchange.reasoning);
    this.calls.replaceChildren(...exchange.calls.map(showCall));
    const silent = !exchange.reply && !exchange.reasoning && !exchange.calls.length;
    const waits = exchange.state === "running" && silent;
    this.queue.replaceChildren(...(waits ? showWaiting(exchange.queue) : []));
    if (this.ended === exchange.state) return; // its buttons stay, one may have the focus
    this.ended = exchange.state;
    this.end.replaceChildren(...(exchange.state === "running" ? [] : this.ending()));
  }

  ending() {
    const { exchange } = this;
    if (exchange.state === "failed") {
      return [problem(exchange.error, ...this.askAgain("Try again", "button quiet"))];
    }
    const notes = [];
    if (exchange.state === "stopped") notes.push("You stopped this reply.");
    if (exchange.figures.truncated) notes.push("The token budget ended this reply.");
    if (!exchange.reply && !exchange.calls.length && !notes.length) notes.push("The model said nothing.");
    const actions = el("div", { className: "actions" },
      exchange.reply ? copyButton(() => exchange.reply) : null, ...this.askAgain("Ask again", "plain"));
    return [...notes.map((note) => el("p", { className: "note", textContent: note })),
      el("div", { className: "foot" }, showFigures(exchange.figures), actions)];
  }

  askAgain(textContent, className) {
    return this.again ? [el("button", { type: "button", className, textContent, onclick: this.again })] : [];
  }
}

function showCall(call) {
  let text = call.arguments;
  try {
    text = JSON.stringify(JSON.parse(text), null, 2);
  } catch { /* still on its way, or no JSON */ }
  return el("div", { className: "call" },
    el("p", {}, "Wants to call ", el("strong", { textContent: call.name })), code(text, "arguments"));
}

/** Where a question stands that has no word of a reply yet. */
function showWaiting({ phase, position = 0, waitMs = 0 }) {
  const words = {
    sending: "The server makes the model ready",
    loading: "The model is being loaded",
    reading: "The model reads the conversation",
  };
  if (phase !== "queued") return [el("p", { className: "pending", textContent: words[phase] })];
  const places = Array.from({ length: Math.min(position, SHOWN_PLACES) }, (_, place) =>
    el("i", { className: place === Math.min(position, SHOWN_PLACES) - 1 ? "ours" : "" }));
  const about = waitMs >= 1000 ? `, about ${span(waitMs / 1000)}` : "";
  const ahead = position - 1;
  return [el("p", { className: "pending" }, el("strong", { textContent: `Place ${position} in the queue` }),
    ` ${ahead === 1 ? "one request is" : `${ahead} requests are`} before yours${about}`),
  el("div", { className: "grid-places", "aria-hidden": "true" }, ...places)];
}

function showFigures({ waited, first, rate, reply, prompt, kept }) {
  const shown = [
    ["Waited", waited >= 50 ? seconds(waited) : null],
    ["First word", first === undefined ? null : seconds(first)],
    ["Rate", rate ? `${rate < 10 ? rate.toFixed(1) : count(Math.round(rate))} tok/s` : null],
    ["Reply", reply === undefined ? null : `${count(reply)} tok`],
    ["Prompt kept", prompt === undefined ? null : `${count(kept)} of ${count(prompt)} tok`],
  ];
  return el("dl", { className: "figures" }, ...shown.filter(([, value]) => value).map(([name, value]) =>
    el("div", {}, el("dt", { textContent: name }), el("dd", { textContent: value }))));
}
