// Lessons that a page leads to.

import { el } from "./dom.js";

/** A lesson, as a link where the course is known; its address may only be one of the web.
 *  The page of the lesson leads back to *corner* of the *session*, where one is given. */
export function lessonLink({ title, url }, session = "", corner = "") {
  if (!/^https?:\/\//.test(url ?? "")) return title;
  const address = new URL(url);
  if (session) {
    const back = new URL("/ui/session", location.href);
    back.searchParams.set("session", session);
    if (corner) back.searchParams.set("corner", corner);
    address.searchParams.set("from", back.href);
    address.searchParams.set("as", corner ? `Your session, ${corner}` : "Your session");
  }
  return el("a", { href: address.href, textContent: title });
}
