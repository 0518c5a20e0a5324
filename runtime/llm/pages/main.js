// The page: which view is shown, and the key.

import * as chat from "./chat.js";
import * as documents from "./documents.js";
import { byId } from "./dom.js";
import * as engines from "./engines.js";
import { askForKey, call } from "./keyed.js";

const VIEWS = { chat, documents, engines };
const NAMES = { chat: "Chat", documents: "Documents", engines: "Engines" };
const UNAUTHORISED = 401;
let shown = "";

function show() {
  const wanted = location.hash.slice(1);
  const name = wanted in VIEWS ? wanted : shown || "chat";
  if (name === shown) return;
  VIEWS[shown]?.leave?.();
  shown = name;
  // Not named like its address: the browser would look for it there, and take the focus away.
  for (const view of Object.keys(VIEWS)) byId(`${view}-view`).hidden = view !== name;
  for (const link of document.querySelectorAll(".tabs a")) {
    if (link.hash === `#${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${NAMES[name]} · Paddock`;
  byId("main").scrollTop = 0;
  VIEWS[name].enter();
}

for (const view of Object.values(VIEWS)) view.start();
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  byId("main").focus();
});
byId("change-key").addEventListener("click", async () => {
  if (await askForKey()) VIEWS[shown].enter();
});
addEventListener("hashchange", show);
show();
call("health", { quiet: true }).then(({ auth }) => auth === "key", ({ status }) => status === UNAUTHORISED)
  .then((locked) => { byId("change-key").hidden = !locked; });
