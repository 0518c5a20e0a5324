// Lets others watch a session: a link for them, and its code for the camera of a phone.

import { call } from "./api.js";
import { byId, copyButton, el, problem } from "./dom.js";

const LOCAL = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Make a link for spectators of *session* and show it. */
export async function share(session) {
  const box = el("div", { className: "shared" });
  const dialog = el("dialog", { "aria-labelledby": "share-title", onclose: () => dialog.remove() },
    el("form", { method: "dialog" },
      el("h2", { id: "share-title", textContent: "Watch along" }), box,
      el("div", { className: "row", id: "share-ends" }, el("button", { className: "button quiet", textContent: "Close" }))));
  document.body.append(dialog);
  dialog.showModal();
  try {
    const { url, address } = await call("/spectator/token", { method: "POST", body: { session_id: session } });
    const code = url.replace("?", "/code.svg?");
    box.append(
      el("p", { textContent: "Whoever has this link can watch this session for four hours, and nothing else." }),
      el("img", { className: "code", src: code, alt: "The link as a QR code" }),
      el("p", { className: "link" }, el("code", { textContent: address })),
      LOCAL.has(new URL(address).hostname) ? el("p", { className: "note", textContent: "This link is for this machine. For a phone, start the bridge with --spectator-port 8766 (the demo: make demo SHARE=1): it opens nothing but shared sessions to the network." }) : "");
    byId("share-ends").append(copyButton(() => address));
  } catch (error) {
    box.append(problem(error));
  }
}
