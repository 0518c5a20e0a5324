// Requests to the server this page came from, and errors in its words.

const EMPTY = 204;
const TOKEN = new URLSearchParams(location.search).get("token");

/** What the server, or the way to it, said was wrong. */
export class Failure extends Error {
  constructor(message, status = 0, steps = [], answer = {}) {
    super(message);
    Object.assign(this, { status, steps, answer });
  }
}

/** Send a request and give the answer, which is no error. *body* becomes JSON, *raw* is sent as it
 *  is. A spectator's page passes on the token of its own address. */
export async function send(path, { method = "GET", body, raw, signal, headers = {} } = {}) {
  const sent = { Accept: "application/json", ...headers };
  if (TOKEN) sent.Authorization = `Bearer ${TOKEN}`;
  if (body !== undefined) sent["Content-Type"] = "application/json";
  const content = body === undefined ? raw : JSON.stringify(body);
  let response;
  try {
    response = await fetch(path, { method, headers: sent, body: content, signal, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure("The server cannot be reached. Does it run?");
  }
  if (response.ok) return response;
  let error = {};
  try {
    error = await response.json();
  } catch { /* a proxy's page says less than its status */ }
  throw failureOf(error, response.status);
}

/** Send a request and give the JSON of its answer; null where it is empty. */
export async function call(path, options) {
  const response = await send(path, options);
  return response.status === EMPTY ? null : response.json();
}

/** An error of a server, whose words stand in ``error``: an object, or the words themselves. */
export function failureOf(answer, status) {
  const { error = answer } = answer;
  const words = typeof error === "string" ? error : error.message;
  const message = typeof words === "string" && words ? words : `The server answered ${status}.`;
  const steps = error.next_steps ?? answer.next_steps ?? [];
  return new Failure(message.charAt(0).toUpperCase() + message.slice(1), status, steps, answer);
}
