// One timer for everything on the page that is looked at again and again; it rests while hidden.

const PACE_MS = 1000;
const watchers = new Set();
let timer = 0;

/** Call *look* now and every *paceS* seconds while the page is visible; returns how to end it. */
export function watch(look, paceS = 1) {
  const watcher = { look, paceS, due: 0, busy: false };
  watchers.add(watcher);
  turn();
  return () => { watchers.delete(watcher); adjust(); };
}

function turn() {
  adjust();
  if (document.hidden) return;
  const now = performance.now();
  for (const watcher of watchers) {
    if (watcher.busy || now < watcher.due) continue;
    watcher.due = now + watcher.paceS * 1000 - PACE_MS / 2;
    watcher.busy = true;
    Promise.resolve(watcher.look()).catch(() => {}).finally(() => { watcher.busy = false; });
  }
}

function adjust() {
  const wanted = watchers.size > 0 && !document.hidden;
  if (wanted && !timer) timer = setInterval(turn, PACE_MS);
  if (!wanted && timer) { clearInterval(timer); timer = 0; }
}

document.addEventListener("visibilitychange", turn);
