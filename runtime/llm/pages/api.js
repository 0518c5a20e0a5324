// Requests to the server this page came from: the key, errors in its words, event streams.

import { byId } from "./dom.js";
import { load, save } from "./store.js";

/** What the server, or the way to it, said was wrong. */
export class Failure extends Error {
  constructor(message, status = 0, steps = []) {
    super(message);
    Object.assign(this, { status, steps });
  }
}

/** Send a request and give the answer, which is no error; a missing key is asked for once.
 *  *quiet*: nobody is asked, for what is looked at again and again. */
export async function send(path, { quiet = false, ...request } = {}) {
  for (;;) {
    const key = load("key", "");
    const response = await attempt(path, request, key);
    if (response.ok) return response;
    const failure = await failureOf(response);
    if (failure.status !== 401 || quiet) throw failure;
    if (key !== load("key", "")) continue; // somebody else has asked for it meanwhile
    if (!(await askForKey(key !== ""))) throw failure;
  }
}

/** Send a request and give the JSON of its answer. */
export async function call(path, options) {
  return (await send(path, options)).json();
}

async function attempt(path, { method = "GET", body, signal, owner }, key) {
  const headers = { Accept: "application/json" };
  if (key) headers.Authorization = `Bearer ${asBytes(key)}`;
  if (owner) headers["X-Client-Id"] = asBytes(owner);
  if (body !== undefined) headers["Content-Type"] = "application/json";
  try {
    return await fetch(path, {
      method, headers, signal, cache: "no-store",
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure("The server cannot be reached. Does it run?");
  }
}

/** A header carries bytes: UTF-8 of the text, one character a byte. */
function asBytes(text) {
  return Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join("");
}

async function failureOf(response) {
  let error = {};
  try {
    error = (await response.json()).error ?? {};
    if (typeof error === "string") error = { message: error };
  } catch { /* a proxy's page says less than its status */ }
  return failure(error, response.status);
}

function failure(error, status) {
  const message = typeof error.message === "string" ? error.message : `The server answered ${status}.`;
  const told = message.charAt(0).toUpperCase() + message.slice(1);
  const steps = status === 401 ? ["“Key”, at the top of the page, takes it."] : error.next_steps ?? [];
  return new Failure(told, status, steps);
}

/** The JSON of each event of a chat stream; ends at the server's mark, throws where it fails. */
export async function* events(response) {
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      rest += decoder.decode(value, { stream: !done });
      const parts = rest.split("\n\n");
      rest = parts.pop();
      for (const part of parts) {
        if (!part.startsWith("data: ")) continue; // a comment that keeps the connection open
        const data = part.slice(6);
        if (data === "[DONE]") return;
        const event = JSON.parse(data);
        if (event.error) throw failure(event.error, Number(event.error.code) || 500);
        yield event;
      }
      if (done) throw new Failure("The connection ended before the reply did.");
    }
  } catch (error) {
    if (error instanceof Failure || error.name === "AbortError") throw error;
    throw new Failure("The connection to the server was lost.");
  } finally {
    reader.cancel().catch(() => {});
  }
}

let asking = null;

/** Let the user type the key; true when there is a new one to try. */
export function askForKey(refused = false) {
  asking ??= showKeyDialog(refused).finally(() => { asking = null; });
  return asking;
}

function showKeyDialog(refused) {
  const dialog = byId("key-dialog"), field = byId("key");
  byId("key-wrong").hidden = !refused;
  field.value = "";
  dialog.returnValue = "";
  dialog.showModal();
  field.focus();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      const given = dialog.returnValue === "ok" && field.value.trim();
      if (given) save("key", given);
      field.value = "";
      resolve(Boolean(given));
    }, { once: true });
  });
}
