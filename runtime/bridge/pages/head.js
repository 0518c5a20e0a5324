// The head that all pages of the bridge share, and the bridge's health in one line.

import { byId, el } from "./dom.js";

const PAGES = {
  sessions: ["/", "Sessions"],
  live: ["/ui/live", "Live"],
  driver: ["/ui/driver", "Drivers"],
  car: ["/ui/car", "Car"],
  docs: ["/docs", "API"],
};
const MARK = "M1 4h9l4 13 5-9h12";
const SVG = "http://www.w3.org/2000/svg";

/** Fill ``#head`` with the brand and the links to the pages, of which *current* is this one. */
export function bridgeHead(current, ...more) {
  const mark = document.createElementNS(SVG, "svg"), path = document.createElementNS(SVG, "path");
  mark.setAttribute("viewBox", "0 0 32 20");
  mark.setAttribute("width", "32");
  mark.setAttribute("height", "20");
  mark.setAttribute("aria-hidden", "true");
  path.setAttribute("d", MARK);
  mark.append(path);
  const links = Object.entries(PAGES).map(([name, [href, textContent]]) =>
    el("a", { href, textContent, "aria-current": name === current ? "page" : null }));
  byId("head").replaceChildren(
    el("a", { className: "brand", href: "/" }, mark, "Paddock"),
    el("nav", { className: "tabs", "aria-label": "Pages" }, ...links), ...more);
}
