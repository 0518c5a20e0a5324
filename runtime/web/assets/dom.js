// Elements, an error for people, and the question before something is lost.

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

/** Set the text of an element; the same text once more costs no layout. */
export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Put *children* in the place of what *parent* holds; null and undefined are left out. */
export function replace(parent, ...children) {
  parent.replaceChildren(...children.filter((child) => child !== null && child !== undefined));
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
export function confirmed(title, text, verb, keep = "Keep") {
  const dialog = el("dialog", { "aria-labelledby": "confirm-title" },
    el("form", { method: "dialog" },
      el("h2", { id: "confirm-title", textContent: title }),
      el("p", { textContent: text }),
      el("div", { className: "row" },
        el("button", { className: "button stop", id: "confirm-ok", value: "ok", textContent: verb }),
        el("button", { className: "button quiet", value: "cancel", autofocus: true, textContent: keep }))));
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "ok");
    }, { once: true });
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
