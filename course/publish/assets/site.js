// Every page: the colour theme before the first paint, then small helpers. Nothing here is needed
// to read a page.
(function () {
  "use strict";
  var root = document.documentElement;

  function stored(key) {
    try { return localStorage.getItem(key); } catch (error) { return null; }
  }

  function store(key, value) {
    try {
      if (value) localStorage.setItem(key, value);
      else localStorage.removeItem(key);
    } catch (error) { /* private mode: the choice lasts for this page */ }
  }

  function applyTheme(theme) {
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
    else delete root.dataset.theme;
  }

  function themeButton(tools) {
    var words = tools.dataset.themeWords.split("|");
    var order = ["", "light", "dark"];
    var button = document.createElement("button");
    button.type = "button";
    button.innerHTML = '<svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true"' +
      ' focusable="false"><path d="M10 1a9 9 0 1 0 0 18 9 9 0 0 0 0-18Zm0 2v14a7 7 0 0 1 0-14Z"/>' +
      "</svg><span></span>";
    var label = button.querySelector("span");
    function show() {
      var at = Math.max(0, order.indexOf(root.dataset.theme || ""));
      label.textContent = words[0] + ": " + words[at + 1];
      button.title = label.textContent;
      return at;
    }
    button.addEventListener("click", function () {
      var theme = order[(show() + 1) % order.length];
      applyTheme(theme);
      store("paddock.theme", theme);
      show();
    });
    show();
    tools.append(button);
  }

  // What text means as a number where point ends the whole part and group may divide it; NaN for
  // text that is no such number.
  function number(text, point, group) {
    var form = "^[-+]?(\\d*|[1-9]\\d{0,2}(\\" + group + "\\d{3})+)(\\" + point + "\\d*)?(e[-+]?\\d+)?$";
    if (!text || !new RegExp(form, "i").test(text)) return NaN;
    return Number(text.split(group).join("").replace(point, "."));
  }

  // The numbers that a reader may mean, of whom some write 0.5 and some 0,5: what is a decimal
  // mark in the language of the course is nothing else, and 1,105 in English is 1105 or 1.105.
  function readings(typed) {
    var text = typed.replace(/[\s'\u2019]/g, "").replace("\u2212", "-");
    var marks = (1.5).toLocaleString(root.lang).indexOf(",") < 0 ? [".", ","] : [",", "."];
    var own = number(text, marks[0], marks[1]), other = number(text, marks[1], marks[0]);
    return [own, isNaN(own) || text.indexOf(marks[0]) < 0 ? other : NaN].filter(isFinite);
  }

  function verdict(question) {
    var data = question.dataset;
    if ("value" in data) {
      var found = readings(question.querySelector("input").value);
      return found.length ? found.some(function (value) {
        return Math.abs(value - Number(data.value)) <= Number(data.tolerance) + 1e-9;
      }) : null;
    }
    var chosen = Array.from(question.querySelectorAll("input:checked"), function (input) {
      return input.value;
    });
    if (!chosen.length) return null;
    return chosen.sort().join(" ") === data.answer.split(" ").sort().join(" ");
  }

  // The author's word on an option, beside it: the list of verdicts has the order of the options.
  function showReasons(question) {
    question.querySelectorAll(".option + .why").forEach(function (old) { old.remove(); });
    var verdicts = question.querySelectorAll(".verdicts > li");
    question.querySelectorAll(".option").forEach(function (option, at) {
      var why = verdicts[at] && verdicts[at].querySelector(".why");
      if (!why || !option.querySelector(":checked")) return;
      var reason = document.createElement("p");
      reason.className = "why";
      reason.textContent = why.textContent;
      option.after(reason);
    });
  }

  function checkButton(question, words) {
    var row = document.createElement("div");
    var button = document.createElement("button");
    var result = document.createElement("p");
    row.className = "check";
    button.type = "button";
    button.className = "button quiet";
    button.textContent = words[0];
    result.setAttribute("role", "status");
    button.addEventListener("click", function () {
      var right = verdict(question);
      var first = words["value" in question.dataset ? 4 : 3];
      result.textContent = right === null ? first : words[right ? 1 : 2];
      result.className = right === null ? "" : right ? "yes" : "no";
      if (right === null) return;
      showReasons(question);
      question.dispatchEvent(new CustomEvent("answered", { bubbles: true, detail: right }));
    });
    question.addEventListener("input", function () { result.textContent = ""; });
    question.addEventListener("keydown", function (event) {
      if (event.key !== "Enter" || !event.target.matches("input")) return;
      event.preventDefault();
      button.click();
    });
    row.append(button, result);
    question.querySelector("details").before(row);
  }

  function jumpToSearch(event) {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, textarea, select, [contenteditable]")) return;
    if (stored("paddock.slash") === "off") return;
    event.preventDefault();
    var box = document.getElementById("page-query");
    if (box) box.focus();
    else document.querySelector(".to-search").click();
  }

  function openContents() {
    var contents = document.querySelector("details.toc");
    if (contents && matchMedia("(min-width: 60rem)").matches) contents.open = true;
  }

  function shortcutChoice(row) {
    var box = row.querySelector("input");
    box.checked = stored("paddock.slash") !== "off";
    box.addEventListener("change", function () { store("paddock.slash", box.checked ? "" : "off"); });
    row.hidden = false;
  }

  applyTheme(stored("paddock.theme"));
  document.addEventListener("DOMContentLoaded", function () {
    document.querySelectorAll(".tools").forEach(themeButton);
    document.querySelectorAll(".quiz").forEach(function (quiz) {
      var words = quiz.dataset.words.split("|");
      quiz.querySelectorAll(".question").forEach(function (q) { checkButton(q, words); });
    });
    document.querySelectorAll(".shortcut").forEach(shortcutChoice);
    openContents();
    if (document.querySelector(".to-search")) document.addEventListener("keydown", jumpToSearch);
  });
  addEventListener("beforeprint", function () {
    document.querySelectorAll("details").forEach(function (fold) { fold.open = true; });
  });
})();
