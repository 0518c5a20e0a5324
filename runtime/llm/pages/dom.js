// Elements, numbers as people read them, and the question before something is lost.

/** An element: properties by name, `data-` and `aria-` attributes, listeners as `onclick`. */
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (name.includes("-") || name === "role" || name === "for") element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export const byId = (id) => document.getElementById(id);

/** Seconds with the digits that matter. */
export function seconds(ms) {
  if (ms < 995) return `${(ms / 1000).toFixed(2)} s`;
  return ms < 59_500 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 60_000)} min`;
}

/** A length of time in words that stay short: 40 s, 12 min, 3 h, 2 days. */
export function span(total) {
  if (total < 90) return `${Math.round(total)} s`;
  if (total < 5400) return `${Math.round(total / 60)} min`;
  return total < 172_800 ? `${Math.round(total / 3600)} h` : `${Math.round(total / 86_400)} days`;
}

export const count = (number) => number.toLocaleString("en-GB");

/** "1 chunk", "2 chunks". */
export const amount = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

export function bytes(size) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let value = size, unit = 0;
  while (value >= 999.5 && unit < units.length - 1) { value /= 1000; unit += 1; }
  return `${value < 10 && unit ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/** 2.3 M, 1.4 B: the number of a model's parameters. */
export function parameters(number) {
  const [value, unit] = number >= 1e9 ? [number / 1e9, "B"] : [number / 1e6, "M"];
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${unit}`;
}

/** An error for people: the server's own words and what it advises. */
export function problem(error, ...actions) {
  const steps = error.steps?.length
    ? el("ul", {}, ...error.steps.map((step) => el("li", { textContent: step })))
    : null;
  return el("div", { className: "problem", role: "alert" },
    el("p", { textContent: error.message }), steps,
    actions.length ? el("div", { className: "row" }, ...actions) : null);
}

/** Ask before something is lost; true to go on. */
export function confirmed(title, text, verb) {
  const dialog = byId("confirm-dialog");
  byId("confirm-title").textContent = title;
  byId("confirm-text").textContent = text;
  byId("confirm-ok").textContent = verb;
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "ok"), { once: true });
  });
}

/** Put *text* on the clipboard; says whether it worked. Plain HTTP on a network has no clipboard. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = el("textarea", { value: text, className: "hidden" });
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }
}

/** A button that copies what *text* gives, and says so. */
export function copyButton(text) {
  const button = el("button", { type: "button", className: "plain", textContent: "Copy" });
  button.addEventListener("click", async () => {
    const focused = document.activeElement;
    button.textContent = (await copy(text())) ? "Copied" : "Not copied";
    focused?.focus();
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  return button;
}
