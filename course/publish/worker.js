// The service worker of the site: what was opened once opens again without a network. While there
// is one, pages come from it; files whose names carry a hash are asked for only once.
"use strict";
const FILES = new Set([/* every page, asset, picture and part of the search index */]);
const CACHE = "course COURSE";
const AT_ONCE = 6;
const base = self.registration.scope;
const path = url => url.startsWith(base) ? url.slice(base.length).split(/[?#]/)[0] : null;

async function fetchAndKeep(name, options) {
  const response = await fetch(base + name, options);
  if (response.ok && !response.redirected) {
    await (await caches.open(CACHE)).put(base + name, response.clone());
  }
  return response;
}

self.addEventListener("install", event => {
  const first = [...FILES].filter(name => name.startsWith("assets/"));
  event.waitUntil(Promise.all(first.map(name => fetchAndKeep(name))).then(() => self.skipWaiting()));
});

// Let go of what the site no longer has.
self.addEventListener("activate", event => event.waitUntil((async () => {
  const cache = await caches.open(CACHE);
  for (const request of await cache.keys()) {
    if (!FILES.has(path(request.url))) await cache.delete(request);
  }
  await self.clients.claim();
})()));

self.addEventListener("fetch", event => {
  const name = path(event.request.url);
  if (event.request.method !== "GET" || name === null || !FILES.has(name)) return;
  event.respondWith((async () => {
    const kept = await (await caches.open(CACHE)).match(base + name);
    if (kept && /^(assets|media)\//.test(name)) return kept;
    try {
      return await fetchAndKeep(name, { cache: "no-cache" });
    } catch (error) {
      return kept || Response.error();
    }
  })());
});

// "keep" fetches the whole course and says how far it is; a page as it opens says which it is.
self.addEventListener("message", event => event.waitUntil((async () => {
  const wanted = event.data === "keep" ? [...FILES] : event.data.filter(name => FILES.has(name));
  const all = wanted.length;
  let kept = 0;
  async function work() {
    while (wanted.length) {
      const name = wanted.pop();
      const response = await fetchAndKeep(name, { cache: "no-cache" }).catch(() => null);
      if (response && response.ok) kept += 1;
      if (event.data === "keep") event.source.postMessage({ kept, all });
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work));
})()));
