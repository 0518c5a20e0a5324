// What the browser keeps for its reader: lessons done and questions answered, on this device only;
// a button that copies code; and pages that still open without a network.
(function () {
  "use strict";
  const { course, root, words } = document.currentScript.dataset;
  const KEY = `course.${course}.progress`, VERSION = 1;
  const NEAR = /^(localhost|127(\.\d+){3}|10(\.\d+){3}|192\.168(\.\d+){2}|172\.(1[6-9]|2\d|3[01])(\.\d+){2}|\[::1\]|[a-z0-9-]+\.local)$/;
  const [copyWord, copiedWord] = words.split("|");

  // -- what is kept ---------------------------------------------------------------------------

  // {version, last, lessons: {id: {title, url, next, done, answers: {question: right}}}}
  function load() {
    try { return checked(JSON.parse(localStorage.getItem(KEY))) || empty(); }
    catch (error) { return empty(); }
  }

  function save(progress) {
    try { localStorage.setItem(KEY, JSON.stringify(progress)); }
    catch (error) { /* private mode: nothing is kept */ }
  }

  const empty = () => ({ version: VERSION, last: "", lessons: {} });

  // The progress in *data*, which may come from any file; null when it holds none.
  function checked(data) {
    if (!data || data.version !== VERSION || typeof data.lessons !== "object") return null;
    const progress = empty();
    for (const id in data.lessons) {
      const lesson = data.lessons[id];
      if (!/^[a-z][a-z0-9-]*$/.test(id) || !lesson || typeof lesson.title !== "string") continue;
      const next = lesson.next && typeof lesson.next.title === "string" && local(lesson.next.url);
      progress.lessons[id] = {
        title: lesson.title, url: local(lesson.url) || `lessons/${id}/`, done: lesson.done === true,
        next: next ? { title: lesson.next.title, url: next } : null, answers: {},
      };
      for (const question in lesson.answers || {}) {
        progress.lessons[id].answers[question] = lesson.answers[question] === true;
      }
    }
    if (data.last in progress.lessons) progress.last = data.last;
    return progress;
  }

  const local = url => typeof url === "string" && /^lessons\/[a-z0-9-]+\//.test(url) ? url : "";
  const path = url => url.slice(new URL(root || "./", location.href).href.length).split(/[?#]/)[0];

  // -- pages ----------------------------------------------------------------------------------

  function onLesson(article) {
    const progress = load(), id = article.dataset.lesson, next = article.querySelector(".nearby .next");
    const lesson = progress.lessons[id] = progress.lessons[id] || { done: false, answers: {} };
    lesson.title = article.querySelector("h1").textContent;
    lesson.url = path(location.href);
    const title = next && next.lastChild.textContent.trim();
    lesson.next = next && local(path(next.href)) ? { title, url: path(next.href) } : null;
    progress.last = id;
    save(progress);

    const row = article.querySelector(".finish"), button = row.querySelector("button");
    const score = row.querySelector("output"), sheets = article.querySelectorAll("[data-question]");
    const show = () => {
      button.setAttribute("aria-pressed", String(lesson.done));
      const right = Object.values(lesson.answers).filter(Boolean).length;
      const some = Object.keys(lesson.answers).length > 0;
      score.textContent = some ? fill(score.dataset.text, right, sheets.length) : "";
      sheets.forEach(sheet => {
        sheet.classList.toggle("was-right", lesson.answers[sheet.dataset.question] === true);
      });
    };
    button.addEventListener("click", () => {
      lesson.done = !lesson.done;
      keep(id, lesson);
      show();
    });
    article.addEventListener("answered", event => {
      lesson.answers[event.target.dataset.question] = event.detail;
      keep(id, lesson);
      show();
    });
    row.hidden = false;
    show();
  }

  // Another tab may have changed the other lessons.
  function keep(id, lesson) {
    const progress = load();
    progress.lessons[id] = lesson;
    save(progress);
  }

  const fill = (text, done, all) => text.replace("{done}", done).replace("{all}", all);

  function onHome(section) {
    const progress = load(), known = Object.values(progress.lessons);
    const all = Number(section.dataset.total), done = known.filter(lesson => lesson.done).length;
    const last = progress.lessons[progress.last];
    const goal = last && (last.done ? last.next : last);
    section.hidden = false;
    section.querySelector("progress").value = done;
    section.querySelector(".count").textContent = fill(section.dataset.text, done, all);
    section.querySelector(".know").hidden = known.length === 0;
    const link = section.querySelector(".go-on");
    link.hidden = !goal;
    if (goal) {
      link.href = root + goal.url;
      link.querySelector(".where").textContent = goal.title;
    }
  }

  function addKeeping(section) {
    const file = section.querySelector("input[type=file]"), said = section.querySelector(".said");
    section.querySelector(".export").addEventListener("click", () => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([JSON.stringify(load(), null, 2)],
        { type: "application/json" }));
      link.download = `${course}-progress.json`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
    file.addEventListener("change", () => file.files[0].text().then(text => {
      let found = null;
      try { found = checked(JSON.parse(text)); } catch (error) { /* said below */ }
      said.textContent = found ? section.dataset.imported : section.dataset.strange;
      file.value = "";
      if (!found) return;
      const progress = load();
      Object.assign(progress.lessons, found.lessons);
      progress.last = found.last || progress.last;
      save(progress);
      onHome(section);
    }));
    section.querySelector(".forget").addEventListener("click", () => {
      try { localStorage.removeItem(KEY); } catch (error) { /* there is nothing */ }
      said.textContent = "";
      onHome(section);
    });
  }

  // A link back to the page of a program on this machine or network that led here: ?from=…&as=….
  function addWayBack(article) {
    const asked = new URLSearchParams(location.search), name = (asked.get("as") || "").slice(0, 60);
    let from = null;
    try { from = new URL(asked.get("from") || ""); } catch (error) { return; }
    const own = from.hostname === location.hostname || NEAR.test(from.hostname);
    if (!/^https?:$/.test(from.protocol) || !own) return;
    const link = document.createElement("a"), line = document.createElement("p");
    link.href = from.href;
    // The words are the link's own: the host says where it leads, whatever they promise.
    link.textContent = `← ${name ? `${name} (${from.host})` : from.host}`;
    line.className = "back";
    line.append(link);
    article.prepend(line);
  }

  // A tick behind each link to a lesson that is done.
  function tick() {
    const progress = load();
    document.querySelectorAll(".rows a, .steps a, .cards a, .index a, .links a").forEach(link => {
      const match = /^lessons\/([a-z0-9-]+)\//.exec(path(link.href));
      const lesson = match && progress.lessons[match[1]];
      link.classList.toggle("done", Boolean(lesson && lesson.done));
    });
  }

  // -- code and network -----------------------------------------------------------------------

  function addCopy(block) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = copyWord;
    button.addEventListener("click", () => {
      navigator.clipboard.writeText(block.querySelector("code").textContent).then(() => {
        button.textContent = copiedWord;
        setTimeout(() => { button.textContent = copyWord; }, 2000);
      });
    });
    block.prepend(button);
  }

  function serveOffline() {
    if (!("serviceWorker" in navigator) || !location.protocol.startsWith("http")) return;
    if (document.querySelector("script[src*='.js?site=']")) return;  // `serve` shows what changes
    navigator.serviceWorker.register(new URL(`${root}sw.js`, location.href)).catch(() => {});
    const here = [location, ...document.images].map(one => path(one.href || one.src));
    navigator.serviceWorker.ready.then(worker => worker.active.postMessage(here));
    const button = document.querySelector(".keep-offline"), said = document.querySelector(".said");
    if (!button) return;
    button.hidden = false;
    button.addEventListener("click", () => {
      button.disabled = true;
      navigator.serviceWorker.ready.then(worker => worker.active.postMessage("keep"));
    });
    navigator.serviceWorker.addEventListener("message", event => {
      const { kept, all } = event.data;
      said.textContent = fill(button.dataset.text, kept, all);
      button.disabled = kept < all;
    });
  }

  const article = document.querySelector("article[data-lesson]");
  const section = document.getElementById("page-progress");
  if (article) {
    onLesson(article);
    addWayBack(article);
  }
  if (section) {
    addKeeping(section);
    onHome(section);
  }
  tick();
  addEventListener("pageshow", event => {
    if (!event.persisted) return;
    tick();
    if (section) onHome(section);
  });
  const programs = document.querySelectorAll(".code[id]:has(code:not(.language-text))");
  if (navigator.clipboard) programs.forEach(addCopy);
  serveOffline();
})();
