// Asking: sends a conversation, follows the queue, and fills an exchange with what comes back.

import { call, events, send } from "./keyed.js";
import { watch } from "./ticker.js";

/** An exchange that waits for its reply. */
export function newExchange(ask, model) {
  return { ask, model, ...blank() };
}

/** What an exchange is before a word of its reply has come. */
export function blank() {
  return {
    reply: "", reasoning: "", calls: [], state: "running",
    queue: { phase: "sending" }, figures: {}, error: null,
  };
}

/** The messages of a request: what was answered before, and the last question. */
export function messagesOf(exchanges, system) {
  const before = exchanges.slice(0, -1).filter((exchange) => exchange.reply);
  return [
    ...(system ? [{ role: "system", content: system }] : []),
    ...before.flatMap(({ ask, reply }) => [
      { role: "user", content: ask }, { role: "assistant", content: reply },
    ]),
    { role: "user", content: exchanges.at(-1).ask },
  ];
}

/** Send *body* and fill *exchange*; *changed* is called after every step, *signal* stops it. */
export async function fill(exchange, body, signal, changed) {
  const began = performance.now();
  let unwatch = () => {}, firstAt = 0, lastAt = 0;
  try {
    const response = await send("v1/chat/completions", {
      method: "POST", signal,
      body: { ...body, stream: true, stream_options: { include_usage: true } },
    });
    exchange.queue = placeFrom(response.headers);
    changed();
    const number = response.headers.get("X-Request-Id");
    unwatch = watch(() => follow(exchange, number, changed));
    for await (const event of events(response)) {
      exchange.model = event.model ?? exchange.model;
      if (event.usage) noteUsage(exchange.figures, event.usage, firstAt, lastAt);
      for (const choice of event.choices ?? []) {
        if (take(exchange, choice)) {
          lastAt = performance.now();
          if (!firstAt) {
            firstAt = lastAt;
            unwatch();
            exchange.figures.first = firstAt - began;
          }
        }
      }
      changed();
    }
    exchange.figures.waited = (await find(number).catch(() => null))?.queue_ms;
    exchange.state = "done";
  } catch (error) {
    exchange.state = error.name === "AbortError" ? "stopped" : "failed";
    exchange.error = { message: error.message, steps: error.steps };
    if (error.status === undefined && error.name !== "AbortError") throw error;
  } finally {
    unwatch();
    changed();
  }
}

/** Take what a frame adds; says whether that was a piece of the reply. */
function take(exchange, { delta = {}, finish_reason: finish, truncated }) {
  if (truncated || finish === "length") exchange.figures.truncated = true;
  exchange.reply += delta.content ?? "";
  exchange.reasoning += delta.reasoning_content ?? "";
  for (const part of delta.tool_calls ?? []) {
    const place = part.index ?? exchange.calls.length;
    const known = exchange.calls[place] ??= { name: "", arguments: "" };
    known.name += part.function?.name ?? "";
    known.arguments += part.function?.arguments ?? "";
  }
  return Boolean(delta.content || delta.reasoning_content || delta.tool_calls);
}

function noteUsage(figures, usage, firstAt, lastAt) {
  const took = lastAt - firstAt;
  Object.assign(figures, {
    reply: usage.completion_tokens,
    prompt: usage.prompt_tokens,
    kept: usage.prompt_tokens_details?.cached_tokens ?? 0,
  });
  // The first token came at the start of that time, so it took none of it.
  if (took >= 20 && usage.completion_tokens > 1) figures.rate = (usage.completion_tokens - 1) / took * 1000;
}

function placeFrom(headers) {
  const position = Number(headers.get("X-Queue-Position")) || 1;
  const waitMs = Number(headers.get("X-Estimated-Wait-Ms")) || 0;
  return { phase: position > 1 ? "queued" : "loading", position, waitMs };
}

/** Look where the request stands now. */
async function follow(exchange, number, changed) {
  const ours = await find(number);
  if (ours?.state === "running") exchange.queue = { phase: "reading" };
  if (ours?.state === "queued") {
    const { position, wait_ms: waitMs } = ours;
    exchange.queue = { phase: position > 1 ? "queued" : "loading", position, waitMs };
  }
  changed();
}

/** What the server knows of a request. */
async function find(number) {
  const { running, waiting, last } = await call("v1/requests", { quiet: true });
  return [...running, ...waiting, ...last].find((request) => String(request.id) === number);
}
