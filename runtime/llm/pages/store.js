// What this tab remembers: the key, the settings of the chat, the conversations.

const PREFIX = "paddock.";

/** A value of this tab, or *otherwise*. */
export function load(name, otherwise) {
  try {
    const text = sessionStorage.getItem(PREFIX + name);
    return text === null ? otherwise : JSON.parse(text);
  } catch {
    return otherwise;
  }
}

/** Keep a value; false where the browser has no room or no storage. */
export function save(name, value) {
  try {
    sessionStorage.setItem(PREFIX + name, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

/** Keep the conversations; the oldest ones go where the browser has no more room. */
export function saveConversations(conversations) {
  let kept = conversations;
  while (kept.length && !save("conversations", kept)) kept = kept.slice(0, -1);
  if (!kept.length) save("conversations", kept);
}

/** A name that nobody else has; `randomUUID` is missing on a page without HTTPS. */
export function freshId() {
  const numbers = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(numbers, (number) => number.toString(16).padStart(2, "0")).join("");
}
