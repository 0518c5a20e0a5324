// The key of the server: sent along, asked for once, kept in this tab. And the events of a chat.

import { Failure, failureOf, send as attempt } from "./api.js";
import { byId } from "./dom.js";
import { load, save } from "./store.js";
import { events as eventsOf } from "./stream.js";

/** Send a request and give the answer, which is no error; a missing key is asked for once.
 *  *quiet*: nobody is asked, for what is looked at again and again. */
export async function send(path, { quiet = false, owner, ...request } = {}) {
  for (;;) {
    const key = load("key", ""), headers = {};
    if (key) headers.Authorization = `Bearer ${asBytes(key)}`;
    if (owner) headers["X-Client-Id"] = asBytes(owner);
    try {
      return await attempt(path, { ...request, headers });
    } catch (failure) {
      if (failure.status !== 401) throw failure;
      failure.steps = ["“Key”, at the top of the page, takes it."];
      if (quiet) throw failure;
      if (key !== load("key", "")) continue; // somebody else has asked for it meanwhile
      if (!(await askForKey(key !== ""))) throw failure;
    }
  }
}

/** Send a request and give the JSON of its answer. */
export async function call(path, options) {
  return (await send(path, options)).json();
}

/** A header carries bytes: UTF-8 of the text, one character a byte. */
function asBytes(text) {
  return Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join("");
}

/** The JSON of each event of a chat stream; ends at the server's mark, throws where it fails. */
export async function* events(response) {
  for await (const { data } of eventsOf(response)) {
    if (data === "[DONE]") return;
    const event = JSON.parse(data);
    if (event.error) throw failureOf(event, Number(event.error.code) || 500);
    yield event;
  }
  throw new Failure("The connection ended before the reply did.");
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
