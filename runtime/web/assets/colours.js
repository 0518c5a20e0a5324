// Colours of the tokens for what is drawn on a canvas.

const FAMILY = getComputedStyle(document.body).fontFamily;
const probe = document.createElement("span");
const known = new Map();
const dark = matchMedia("(prefers-color-scheme: dark)");

dark.addEventListener("change", () => known.clear());

/** The colour of a token such as ``--accent``, as a canvas takes it; other colours as they are. */
export function colour(name) {
  if (!name.startsWith("--")) return name;
  let value = known.get(name);
  if (value === undefined) {
    probe.style.color = `var(${name})`;
    probe.hidden = true;
    document.body.append(probe);
    value = getComputedStyle(probe).color;
    probe.remove();
    known.set(name, value);
  }
  return value;
}

/** The font of labels on a canvas. */
export const labelFont = (weight = 400) => `${weight} 12px ${FAMILY}`;

/** Call *changed* when the system turns from light to dark or back. */
export function onScheme(changed) {
  dark.addEventListener("change", changed);
}
