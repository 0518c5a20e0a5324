// The reference of a server's API, made from its OpenAPI document.

import { call } from "./api.js";
import { byId, el, problem, replace } from "./dom.js";
import { amount } from "./format.js";

const DEEP = 6;
let parts = {};

/** What a name such as ``#/components/schemas/Lap`` stands for. */
const resolve = (schema = {}) => (schema.$ref ? parts[schema.$ref.split("/").pop()] ?? {} : schema);

function routesOf({ paths }) {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), ...operation })));
}

function show(document) {
  parts = document.components?.schemas ?? {};
  byId("title").textContent = `${document.info.title} ${document.info.version}`;
  byId("about").textContent = document.info.description ?? "";
  const groups = new Map();
  for (const route of routesOf(document)) {
    const tag = route.tags?.[0] ?? "other";
    groups.set(tag, [...groups.get(tag) ?? [], route]);
  }
  replace(byId("routes"), ...[...groups].map(([tag, routes]) =>
    el("section", {}, el("h2", { textContent: tag }), ...routes.map(entry))));
  find();
  openAsked();
}

/** A route: one line, and the rest when it is opened, for there are many. */
function entry(route) {
  const id = `${route.method} ${route.path}`;
  const more = el("div", { className: "more" });
  const fold = el("details", { className: "route", id: encodeURIComponent(id), "data-words": `${id} ${route.summary ?? ""} ${route.tags ?? ""}`.toLowerCase() },
    el("summary", {}, el("b", { className: `method ${route.method.toLowerCase()}`, textContent: route.method }),
      el("code", { textContent: route.path }), el("span", { textContent: route.summary ?? "" })), more);
  fold.addEventListener("toggle", () => {
    if (!fold.open) return;
    history.replaceState(null, "", `#${fold.id}`);
    if (!more.childElementCount) more.append(...detail(route));
  });
  return fold;
}

function detail({ description, parameters = [], requestBody, responses }) {
  const shown = [];
  if (description) shown.push(el("p", { className: "prose", textContent: description }));
  if (parameters.length) {
    shown.push(el("h3", { textContent: "Parameters" }), list(parameters.map((parameter) => ({
      name: parameter.name, note: parameter.in, needed: parameter.required,
      schema: { ...parameter.schema, description: parameter.description ?? parameter.schema?.description } })), DEEP));
  }
  if (requestBody) {
    shown.push(el("h3", { textContent: "Body" }), ...content(requestBody.content));
  }
  const good = Object.entries(responses).filter(([status]) => status < "400");
  const bad = Object.entries(responses).filter(([status]) => status >= "400");
  for (const [status, answer] of good) {
    shown.push(el("h3", { textContent: `Answer ${status}` }), ...content(answer.content));
  }
  if (bad.length) {
    shown.push(el("h3", { textContent: "Errors" }), el("dl", { className: "shape" }, ...bad.map(([status, answer]) =>
      el("div", {}, el("dt", {}, el("code", { textContent: status })), el("dd", { textContent: answer.description })))));
  }
  return shown;
}

function content(media = {}) {
  const kinds = Object.entries(media);
  if (!kinds.length) return [el("p", { className: "fine", textContent: "No content." })];
  return kinds.flatMap(([type, { schema }]) => [
    el("p", { className: "fine", textContent: type }), schema ? shape(schema, 0, []) : null].filter(Boolean));
}

/** The fields of a schema; those that hold further fields can be opened. */
function shape(schema, depth, above) {
  const whole = resolve(schema);
  const inner = whole.type === "array" ? resolve(whole.items) : whole;
  if (!inner.properties) return el("p", {}, el("code", { textContent: kind(schema) }), ` ${whole.description ?? ""}`);
  const needed = new Set(inner.required ?? []);
  const rows = Object.entries(inner.properties).map(([name, field]) => ({ name, schema: field, needed: needed.has(name) }));
  return list(rows, depth, [...above, inner]);
}

function list(rows, depth, above = []) {
  return el("dl", { className: "shape" }, ...rows.map(({ name, note, needed, schema }) => {
    const whole = resolve(schema), target = fields(schema);
    const about = [note, schema.description ?? whole.description, limits(whole)].filter(Boolean).join(" · ");
    const nested = target && depth < DEEP && !above.includes(target)
      ? el("details", {}, el("summary", { textContent: "Fields" }), shape(target, depth + 1, above)) : null;
    return el("div", {},
      el("dt", {}, el("code", { textContent: name }), el("span", { className: "fine", textContent: ` ${kind(schema)}${needed ? ", required" : ""}` })),
      el("dd", {}, about, nested ?? ""));
  }));
}

/** The object that a field holds, or holds a list or a map of. */
function fields(schema) {
  const whole = resolve(schema);
  if (whole.properties) return whole;
  const inside = whole.items ?? (typeof whole.additionalProperties === "object" ? whole.additionalProperties : null);
  if (inside) return fields(inside);
  for (const choice of whole.anyOf ?? whole.oneOf ?? []) {
    const found = fields(choice);
    if (found) return found;
  }
  return null;
}

/** A type in words: integer, list of Lap, text or null. */
function kind(schema = {}) {
  const name = schema.$ref?.split("/").pop(), whole = resolve(schema);
  if (whole.const !== undefined) return JSON.stringify(whole.const);
  if (whole.enum) return whole.enum.map((value) => JSON.stringify(value)).join(" | ");
  const choices = whole.anyOf ?? whole.oneOf;
  if (choices) return choices.map(kind).join(" | ");
  if (whole.type === "array") return `list of ${kind(whole.items ?? whole.prefixItems?.[0])}`;
  if (name) return name;
  return whole.type ?? "anything";
}

function limits({ minimum, maximum, exclusiveMinimum: over, maxLength, default: otherwise }) {
  return [
    minimum === undefined ? "" : `at least ${minimum}`, over === undefined ? "" : `over ${over}`,
    maximum === undefined ? "" : `at most ${maximum}`, maxLength === undefined ? "" : `at most ${maxLength} characters`,
    otherwise === undefined || otherwise === null ? "" : `default ${JSON.stringify(otherwise)}`,
  ].filter(Boolean).join(", ");
}

function find() {
  const words = byId("find").value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const section of document.querySelectorAll("#routes > section")) {
    let here = 0;
    for (const route of section.querySelectorAll(".route")) {
      route.hidden = !words.every((word) => route.dataset.words.includes(word));
      if (!route.hidden) here += 1;
    }
    section.hidden = !here;
    shown += here;
  }
  byId("count").textContent = amount(shown, "route");
}

function openAsked() {
  const asked = document.getElementById(location.hash.slice(1));
  if (!asked) return;
  asked.open = true;
  asked.scrollIntoView();
}

byId("find").addEventListener("input", find);
call("/openapi.json").then(show, (error) => replace(byId("routes"), problem(error)));
