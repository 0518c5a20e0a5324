// Tells an open page that the site behind it changed: it loads again, or shows why it cannot.
(() => {
  "use strict";
  const script = document.currentScript;
  const shown = new URL(script.src).searchParams.get("site");
  const events = new URL("__reload", script.src);
  let source = null;
  let dialog = null;
  let dismissed = "";

  const hide = () => {
    if (dialog) dialog.remove();
    dialog = null;
  };

  const make = (name, text, style) => {
    const element = document.createElement(name);
    element.textContent = text;
    Object.assign(element.style, style);
    return element;
  };

  const show = (failure) => {
    hide();
    dialog = make("dialog", "", {
      background: "#1b1d22", color: "#f4f4f2", border: "3px solid #ff6b5e", borderRadius: "8px",
      boxSizing: "border-box", maxHeight: "90vh", maxWidth: "min(72rem, 94vw)", overflow: "auto",
      padding: "1.25rem",
    });
    const title = make("h2", "The course does not build", { color: "inherit", margin: "0 0 1rem" });
    title.id = "reload-title";
    const report = make("pre", failure, {
      background: "none", border: "0", color: "inherit", font: "0.9rem/1.5 monospace",
      margin: "0 0 1rem", overflowWrap: "anywhere", padding: "0", whiteSpace: "pre-wrap",
    });
    report.tabIndex = 0;
    const button = make("button", "Close (Esc)", {
      font: "inherit", minHeight: "44px", padding: "0.6rem 1rem",
    });
    button.type = "button";
    button.addEventListener("click", () => dialog.close());
    dialog.setAttribute("aria-labelledby", title.id);
    dialog.dataset.reload = "failure";
    dialog.addEventListener("close", () => {
      dismissed = failure;
      hide();
    });
    dialog.append(title, report, button);
    document.body.append(dialog);
    dialog.showModal();
    button.focus();
  };

  const update = (message) => {
    const state = JSON.parse(message.data);
    if (state.failure) {
      if (state.failure !== dismissed) show(state.failure);
    } else if (state.site !== shown) {
      location.reload();
    } else {
      dismissed = "";
      hide();
    }
  };

  // A browser opens six connections to one host: hidden pages give theirs back.
  const listen = () => {
    if (source) source.close();
    source = null;
    if (document.hidden) return;
    source = new EventSource(events);
    source.addEventListener("state", update);
  };

  document.addEventListener("visibilitychange", listen);
  window.addEventListener("pagehide", () => source && source.close());
  window.addEventListener("pageshow", (event) => event.persisted && listen());
  listen();
})();
