// Cues by the browser's own voice, once somebody has switched it on.

/** Let *button* switch the voice; returns what says a cue. Without a voice the button stays hidden. */
export function speaker(button) {
  const voice = window.speechSynthesis;
  if (!voice) return () => {};
  let speaks = false;
  button.hidden = false;
  button.addEventListener("click", () => {
    speaks = !speaks;
    button.setAttribute("aria-pressed", String(speaks));
    if (!speaks) voice.cancel();
  });
  return ({ text }) => {
    if (!speaks || !text) return;
    voice.cancel(); // the car has passed what the cue before was about
    const words = new SpeechSynthesisUtterance(text);
    words.lang = "en";
    voice.speak(words);
  };
}
