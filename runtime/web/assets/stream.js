// Event streams: one that a page follows while it is visible, and one that answers a request.

import { Failure } from "./api.js";

const AGAIN_MS = 3000;
const TOKEN = new URLSearchParams(location.search).get("token");

/** Follow the events of *path* while the page is visible. *on* maps names of events to what takes
 *  their data; *onLink* hears "connecting", "open", "lost" and "refused". */
export function follow({ path = "/stream", query, on, onLink = () => {} }) {
  let source = null, timer = 0, asked = query, ended = false;

  function open() {
    if (source || ended || document.hidden) return;
    const words = new URLSearchParams(asked);
    if (TOKEN) words.set("token", TOKEN);
    onLink("connecting");
    source = new EventSource(`${path}?${words}`);
    source.onopen = () => onLink("open");
    source.onerror = lose;
    for (const [name, take] of Object.entries(on)) {
      source.addEventListener(name, (event) => { if (event.data) take(JSON.parse(event.data)); });
    }
  }

  function shut() {
    clearTimeout(timer);
    source?.close();
    source = null;
  }

  /** The browser comes back by itself after a cut; a refusal is final for it, not for us. */
  async function lose() {
    if (source?.readyState !== EventSource.CLOSED) {
      onLink("lost");
      return;
    }
    shut();
    const status = await fetch(location.href, { method: "HEAD", cache: "no-store" })
      .then((answer) => answer.status, () => 0);
    onLink(status === 401 ? "refused" : "lost");
    if (status !== 401) timer = setTimeout(open, AGAIN_MS);
  }

  function turn() {
    if (document.hidden) shut();
    else open();
  }

  document.addEventListener("visibilitychange", turn);
  open();
  return {
    /** Go on with another query. */
    restart(next) { asked = next; shut(); open(); },
    close() { ended = true; shut(); document.removeEventListener("visibilitychange", turn); },
  };
}

/** The events of an answer: their names and the text of their data. */
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
      yield* parts.map(parsed).filter((event) => event.data !== null);
      if (done) return;
    }
  } catch (error) {
    if (error instanceof Failure || error.name === "AbortError") throw error;
    throw new Failure("The connection to the server was lost.");
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** An event of one block of lines; a comment, which keeps the connection open, has no data. */
function parsed(block) {
  const event = { name: "message", data: null };
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) event.name = line.slice(6).trim();
    if (line.startsWith("data:")) event.data = (event.data === null ? "" : `${event.data}\n`) + line.slice(5).trimStart();
  }
  return event;
}
