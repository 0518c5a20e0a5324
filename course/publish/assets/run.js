// Programs of a lesson that run in the page. This file is two things: in the page it adds the
// buttons, and as a worker it runs Python, so that an endless loop can be stopped.
"use strict";
if (typeof document === "undefined") runPrograms(); else addButtons(document.currentScript);

function runPrograms() {
  let said = "", ready = null;
  const keep = text => { said += text + "\n"; };
  const load = home => import(home + "pyodide.mjs")
    .then(({ loadPyodide }) => loadPyodide({ indexURL: home, stdout: keep, stderr: keep }));
  onmessage = async ({ data: { home, sources } }) => {
    try {
      const python = await (ready = ready || load(home));
      for (const source of sources) {
        said = "";
        await python.runPythonAsync(source);
      }
      postMessage({ text: said });
    } catch (error) {
      postMessage({ text: said + String(error.message || error).trim(), failed: true });
    }
  };
}

function addButtons(script) {
  const [runWord, stopWord, loadWord, outputWord, editWord] = script.dataset.words.split("|");
  const home = String(new URL(script.dataset.python, location.href));
  let worker = null, done = 0, onAnswer = null;

  // A new Python, in which nothing has run.
  function forget() {
    if (worker) worker.terminate();
    worker = null;
    done = 0;
    if (onAnswer) onAnswer(null);
  }

  function run(sources, answer) {
    if (!worker) worker = new Worker(script.src, { type: "module" });
    onAnswer = data => { onAnswer = null; answer(data); };
    worker.onmessage = ({ data }) => onAnswer && onAnswer(data);
    worker.onerror = event => onAnswer && onAnswer({ text: event.message || "?", failed: true });
    worker.postMessage({ home, sources });
  }

  const blocks = Array.from(document.querySelectorAll(".code[id]"))
    .filter(block => block.querySelector("code.language-python, code.language-py"));
  const source = block => block.querySelector("code").textContent;

  blocks.forEach((block, at) => {
    const button = document.createElement("button"), output = document.createElement("div");
    const code = block.querySelector("code");
    button.type = "button";
    button.className = "run";
    button.textContent = runWord;
    output.className = "code output mine";
    output.hidden = true;
    output.innerHTML = "<p class='code-name'></p><pre tabindex='0'><samp role='status'></samp></pre>";
    output.firstChild.textContent = outputWord;
    code.setAttribute("contenteditable", "plaintext-only");
    code.setAttribute("role", "textbox");
    code.setAttribute("aria-multiline", "true");
    code.setAttribute("aria-label", editWord);
    code.setAttribute("spellcheck", "false");
    code.addEventListener("input", () => { if (!onAnswer && at < done) forget(); });
    button.addEventListener("click", () => {
      if (onAnswer) { forget(); return; }
      // A block needs those above it; one that ran already begins with a new Python.
      if (at < done) forget();
      const sources = blocks.slice(done, at + 1).map(source);
      button.textContent = stopWord;
      output.hidden = false;
      output.lastChild.firstChild.textContent = loadWord;
      run(sources, data => {
        button.textContent = runWord;
        if (data && data.failed) forget();
        else if (data) done = at + 1;
        output.classList.toggle("failed", Boolean(data && data.failed));
        output.lastChild.firstChild.textContent = data ? data.text : "";
        output.hidden = !data;
      });
    });
    block.prepend(button);
    block.after(output);
  });
}
