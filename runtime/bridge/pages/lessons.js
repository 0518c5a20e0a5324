// Lessons that a page leads to.

import { el } from "./dom.js";

/** A lesson, as a link where the course is known; its address may only be one of the web. */
export function lessonLink({ title, url }) {
  return /^https?:\/\//.test(url ?? "") ? el("a", { href: url, textContent: title }) : title;
}
