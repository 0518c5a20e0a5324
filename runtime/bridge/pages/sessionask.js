// Questions to the coach about a session: the answer as it comes, and what it says of places.

import { Failure, send } from "./api.js";
import { byId, el, problem, replace } from "./dom.js";
import { lessonLink } from "./lessons.js";
import { events } from "./stream.js";

/** Let the coach be asked about *session*. *onFact* hears the first fact of an answer that has a
 *  place, *onClick* the one that was clicked. */
export function startAsking(session, chips, { onFact, onClick }) {
  const form = byId("ask"), field = byId("question"), log = byId("answers");
  const stop = byId("stop");
  let running = null;
  let last = Promise.resolve(); // until then the questions before are being answered

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const question = field.value.trim();
    field.value = "";
    if (question) ask(question);
  });
  stop.addEventListener("click", () => { running.abort(); field.focus(); });
  offer(chips);

  /** Ask *question*; while an answer comes, it waits for its end. */
  function ask(question) {
    const turn = el("li", { className: "turn", "data-state": "waiting" },
      el("p", { className: "asked", textContent: question }), el("p", { className: "said" }));
    log.append(turn);
    last = last.then(() => take(question, turn));
  }

  async function take(question, turn) {
    const said = turn.querySelector(".said");
    running = new AbortController();
    turn.dataset.state = "running";
    stop.hidden = false;
    byId("coach-status").textContent = "The coach is answering.";
    try {
      await answer(question, turn, said, running.signal);
    } catch (error) {
      turn.append(error.name === "AbortError"
        ? el("p", { className: "fine", textContent: "You stopped this answer." })
        : problem(error, el("button", { type: "button", className: "plain", textContent: "Ask again",
          onclick: () => { turn.remove(); ask(question); } })));
    } finally {
      turn.dataset.state = "ended";
      stop.hidden = true;
    }
  }

  async function answer(question, turn, said, signal) {
    const body = { question, session_id: session.session_id, driver_id: session.driver };
    const response = await send("/coach/ask/stream", { method: "POST", body, signal });
    for await (const { name, data } of events(response)) {
      const event = JSON.parse(data);
      if (name === "error") throw new Failure(event.error);
      if (event.delta) said.append(event.delta);
      if (!event.done) continue;
      if (event.error) throw new Failure(event.error);
      finish(event, turn, said);
      return;
    }
    throw new Failure("The connection ended before the answer did.");
  }

  function finish(event, turn, said) {
    const placed = event.facts.filter(({ place }) => place && Number.isFinite(place.start_m));
    replace(said, ...withMarks(event.answer, [
      ...placed.map((fact) => ({ text: fact.text, node: el("button", {
        type: "button", className: "fact", textContent: fact.text, onclick: () => onClick(fact) }) })),
      ...event.lessons.map((lesson) => ({ text: lesson.title, node: lessonLink(lesson, session.session_id, placed[0]?.place.corner) })),
    ]));
    if (event.passage) turn.append(quotation(event.passage, event.lessons[0], session.session_id));
    const note = whyPlain(event.reason);
    if (note) turn.append(el("p", { className: "fine", textContent: note }));
    byId("coach-status").textContent = event.answer;
    offer(event.suggestions.length ? event.suggestions : followUps(event.facts, chips));
    if (placed.length) onFact(placed[0]);
  }

  /** Questions that one click asks. */
  function offer(questions) {
    replace(byId("chips"), ...questions.map((text) => el("button", {
      type: "button", className: "chip", textContent: text, onclick: () => ask(text) })));
  }
}

/** What the course says about it, with the way to the section that says so. */
function quotation({ heading, text, url }, lesson, session) {
  return el("figure", { className: "quotation" },
    el("blockquote", { lang: "en" }, el("p", { textContent: text })),
    el("figcaption", {}, `${lesson.title}: `, lessonLink({ title: heading, url }, session)));
}

/** The answer in pieces: sentences about a place of the lap show it, lessons are links. */
function withMarks(answer, marks) {
  const pieces = [];
  let from = 0;
  for (const { text, node } of marks) {
    const at = answer.indexOf(text, from);
    if (at < 0) continue;
    pieces.push(answer.slice(from, at), node);
    from = at + text.length;
  }
  pieces.push(answer.slice(from));
  return pieces;
}

/** What one may ask next: about the first corner that the answer names, or again from the start. */
function followUps(facts, chips) {
  const corner = facts.find(({ place }) => place?.corner)?.place.corner;
  return corner ? ["Why?", `How do I drive ${corner}?`, ...chips.slice(0, 1)] : chips;
}

const REASONS = {
  busy: "The language model was busy; the coach answered from the data alone.",
  timeout: "The language model took too long; the coach answered from the data alone.",
};

const whyPlain = (reason) => REASONS[reason] ?? "";
