// The search page: reads the index that the build made and ranks its pages in the browser.
const LEVEL_WEIGHT = [0, 1, 2.5, 5, 9];
const ASIDE = 0.1; // worth of a word that only questions, evidence or references have: level 0
const K = 1.4; // saturation of repeated words
const B = 0.6; // how much a long lesson is held back
const TITLE = 1.5; // what a word of the title is worth, above the text
const SHOWN = 30;
const SYNONYM = 0.8; // what a lesson is worth that only another word for the same finds
const MANY = 300; // lessons above which no passages are loaded
const MARKS = /[\u0300-\u036f]+/g;
const CJK = /[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+/g;
const SINGLE = { "ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ł": "l" };

export function fold(text) {
  const bare = text.toLowerCase().normalize("NFKD").replace(MARKS, "").normalize("NFC");
  return bare.replace(/[ßæœøđł]/g, (letter) => SINGLE[letter]);
}

export function tokens(text) {
  const found = [];
  for (const word of fold(text).match(/[\p{L}\p{N}]+/gu) ?? []) {
    for (const run of word.match(CJK) ?? []) {
      for (let i = 0; i < Math.max(1, run.length - 1); i++) found.push(run.slice(i, i + 2));
    }
    found.push(...word.split(CJK).filter(Boolean));
  }
  return found;
}

// Where the words of a sorted list that begin with `prefix` lie: [first, after the last].
export function range(words, prefix) {
  const bound = (beyond) => {
    let low = 0;
    let high = words.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const head = words[middle].slice(0, prefix.length);
      if (head < prefix || (beyond && head === prefix)) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return [bound(false), bound(true)];
}

function scoreWord(part, prefix, exactOnly, total, lengths, average) {
  const scores = new Map();
  const [from, to] = range(part.list, prefix);
  const rarityOf = (at) => Math.log(1 + total / part.postings[at].length);
  let limit = Infinity;
  for (let at = from; at < to; at++) {
    const exact = part.list[at] === prefix;
    if (exactOnly && !exact) continue;
    // The word itself sorts first; a longer one, however rare, says less than it does.
    limit = exact ? rarityOf(at) : limit;
    const rarity = exact ? limit : 0.6 * Math.min(limit, rarityOf(at));
    let code = 0;
    for (const step of part.postings[at]) {
      code += step;
      const lesson = Math.floor(code / LEVEL_WEIGHT.length);
      const weight = LEVEL_WEIGHT[code % LEVEL_WEIGHT.length];
      const damping = K * (1 - B + (B * lengths[lesson]) / average);
      const score = rarity * (weight ? (weight * (K + 1)) / (weight + damping) : ASIDE);
      if (score > (scores.get(lesson) ?? 0)) scores.set(lesson, score);
    }
  }
  return scores;
}

// Lessons by number with their score; a word that is nowhere is shortened until it is, but for a
// common one, which the index does not hold.
export function rank(query, lessons, partOf, common) {
  const words = tokens(query);
  const lengths = lessons.map((lesson) => lesson[4]);
  const average = lengths.reduce((sum, length) => sum + length, 0) / lengths.length || 1;
  const sums = new Map();
  words.forEach((word, at) => {
    const last = at === words.length - 1 && !/\s$/.test(query);
    let scores = new Map();
    for (let end = word.length; end > 0 && !scores.size; end--) {
      if (end < word.length && (end < 4 || common.has(word))) break;
      const part = partOf(word);
      if (!part) break;
      const whole = end === word.length && !last;
      scores = scoreWord(part, word.slice(0, end), whole, lessons.length, lengths, average);
      if (whole && end > 3 && !scores.size && !common.has(word)) {
        scores = scoreWord(part, word, false, lessons.length, lengths, average);
      }
    }
    lessons.forEach((lesson, number) => {
      lesson.title ??= tokens(lesson[1]);
      const exact = lesson.title.includes(word);
      if (!exact && !(last && lesson.title.some((own) => own.startsWith(word)))) return;
      // Common words are not in the index; alone, they still find a title.
      if (scores.has(number) || words.length === 1) {
        scores.set(number, (scores.get(number) ?? 0) + TITLE * (exact ? 1 : 0.6));
      }
    });
    for (const [lesson, score] of scores) {
      const [sum, hits] = sums.get(lesson) ?? [0, 0];
      sums.set(lesson, [sum + score, hits + 1]);
    }
  });
  const most = Math.max(0, ...Array.from(sums.values(), ([, hits]) => hits));
  return Array.from(sums, ([lesson, [sum, hits]]) => [lesson, sum * (hits / most) ** 2])
    .sort((a, b) => b[1] - a[1] || a[0] - b[0]);
}

// The query with each phrase of a group replaced by the others of its group.
export function alternatives(query, groups) {
  const text = ` ${tokens(query).join(" ")} `;
  return groups.flatMap((group) => group.filter((phrase) => text.includes(` ${phrase} `))
    .flatMap((phrase) => group.filter((other) => other !== phrase)
      .map((other) => text.replace(` ${phrase} `, ` ${other} `).trim() + " ")));
}

// The passage of a lesson that holds most of the words, and where: [passage, matches], or null.
export function passage(words, passages) {
  let best = null;
  for (const one of passages) {
    const own = tokens(one.text);
    const hits = words.filter((word) => own.some((other) => other.startsWith(word))).length;
    if (hits && (!best || hits > best[1])) best = [one, hits];
  }
  return best && best[0];
}

export class Index {
  constructor(base) {
    this.base = base;
    this.parts = new Map();
  }

  async read(name) {
    const response = await fetch(new URL(`search/${name}.json`, this.base));
    if (!response.ok) throw new Error(`search index: status ${response.status}`);
    return response.json();
  }

  async load() {
    const head = await this.read("index");
    this.lessons = head.lessons.concat(head.others ?? []);
    this.common = new Set(head.common.split(" "));
    this.synonyms = head.synonyms ?? [];
    this.shards = head.shards ? new Set(head.shards) : null;
    if (!this.shards) this.parts.set("", this.unpack(head));
    return this;
  }

  unpack({ words, postings }) {
    return { list: words ? words.split(" ") : [], postings };
  }

  shard(word) {
    if (!this.shards) return "";
    return word[0] >= "a" && word[0] <= "z" ? word[0] : "other";
  }

  async find(query) {
    const ways = [query, ...alternatives(query, this.synonyms)];
    const needed = new Set(tokens(ways.join(" ")).map((word) => this.shard(word)));
    await Promise.all(Array.from(needed, async (name) => {
      if (this.parts.has(name) || !this.shards?.has(name)) return;
      this.parts.set(name, this.unpack(await this.read(name)));
    }));
    const partOf = (word) => this.parts.get(this.shard(word));
    const best = new Map();
    ways.forEach((way, at) => {
      for (const [number, score] of rank(way, this.lessons, partOf, this.common)) {
        const worth = at ? SYNONYM * score : score;
        if (worth > (best.get(number) ?? 0)) best.set(number, worth);
      }
    });
    return Array.from(best).sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  }

  // The passages of the course by lesson; none where they are too many to load for a search.
  async passages() {
    if (this.lessons.length > MANY) return new Map();
    const response = await fetch(new URL("corpus/chunks.jsonl", this.base));
    const lines = response.ok ? (await response.text()).split("\n").filter(Boolean) : [];
    const found = new Map();
    for (const one of lines.map((line) => JSON.parse(line))) {
      if (!found.has(one.lessonId)) found.set(one.lessonId, []);
      found.get(one.lessonId).push(one);
    }
    return found;
  }
}

function start(form) {
  const base = new URL("../", import.meta.url);
  const box = form.querySelector("input");
  const count = document.getElementById("page-count");
  const list = document.getElementById("page-results");
  const [none, one, many, failed, planned, ...kinds] = form.dataset.words.split("|");
  let index;
  let passages;
  let turn = 0;

  // Below each lesson the passage that speaks of it, with a link to its heading.
  async function quote(query, found) {
    const ready = await index;
    passages ??= ready.passages();
    const byLesson = await passages;
    const words = [query, ...alternatives(query, ready.synonyms)].flatMap(tokens)
      .filter((word) => !ready.common.has(word));
    return (lesson, entry) => {
      const one = lesson.length < 6 && passage(words, byLesson.get(lesson[0]) ?? []);
      if (!one) return;
      const [page, anchor] = one.url.split("#");
      const link = document.createElement("a");
      link.className = "passage";
      link.href = new URL(page + form.dataset.index + (anchor ? `#${anchor}` : ""), base).href;
      link.append(...marked(one.text, words));
      entry.append(link);
    };
  }

  // A piece of the text around the first of the words, each of them marked.
  function marked(text, words) {
    const spans = Array.from(text.matchAll(/[\p{L}\p{N}]+/gu))
      .filter(([word]) => words.some((one) => fold(word).startsWith(one)));
    const from = spans.length ? Math.max(0, text.lastIndexOf(" ", spans[0].index - 60)) : 0;
    const to = Math.min(text.length, from + 220);
    const parts = [from ? "… " : ""];
    let at = from;
    for (const { 0: word, index: start } of spans) {
      if (start < at || start + word.length > to) continue;
      const mark = document.createElement("mark");
      mark.textContent = word;
      parts.push(text.slice(at, start), mark);
      at = start + word.length;
    }
    parts.push(text.slice(at, to), to < text.length ? " …" : "");
    return parts;
  }

  function item([id, title, summary, isPlanned, , kind]) {
    const link = document.createElement("a");
    const text = document.createElement("span");
    link.href = new URL((kind ? id : `lessons/${id}/`) + form.dataset.index, base).href;
    link.append(title);
    if (isPlanned) {
      const badge = document.createElement("span");
      badge.className = "planned";
      badge.textContent = planned;
      link.append(" ", badge);
    }
    text.textContent = kind ? `${kinds[kind - 1]}: ${summary}` : summary;
    link.append(" ", text);
    const entry = document.createElement("li");
    entry.append(link);
    return entry;
  }

  async function show() {
    const mine = ++turn;
    const query = box.value;
    let found = [];
    try {
      index ??= new Index(base).load();
      const ready = await index;
      found = (await ready.find(query)).map(([number]) => ready.lessons[number]);
    } catch {
      index = undefined;
      count.textContent = failed;
      return;
    }
    if (mine !== turn) return;
    const shown = found.slice(0, SHOWN).map((lesson) => [lesson, item(lesson)]);
    list.replaceChildren(...shown.map(([, entry]) => entry));
    if (!query.trim()) count.textContent = "";
    else if (!found.length) count.textContent = none;
    else count.textContent = found.length === 1 ? one : many.replace("{n}", found.length);
    const add = found.length ? await quote(query, found).catch(() => null) : null;
    if (add && mine === turn) shown.forEach(([lesson, entry]) => add(lesson, entry));
  }

  function remember() {
    const address = new URL(location.href);
    if (box.value) address.searchParams.set("q", box.value);
    else address.searchParams.delete("q");
    history.replaceState(null, "", address);
  }

  function move(event) {
    const links = Array.from(list.querySelectorAll("a:not(.passage)"));
    const at = links.indexOf(document.activeElement);
    if (event.key === "ArrowDown" && links.length) links[Math.min(at + 1, links.length - 1)].focus();
    else if (event.key === "ArrowUp" && at > 0) links[at - 1].focus();
    else if (event.key === "ArrowUp" && at === 0) box.focus();
    else if (event.key === "Escape" && at >= 0) box.focus();
    else return;
    event.preventDefault();
  }

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    remember();
    await show();
    list.querySelector("a")?.click();
  });
  box.addEventListener("input", () => {
    remember();
    show();
  });
  for (const part of [box, list]) part.addEventListener("keydown", move);
  box.value = new URLSearchParams(location.search).get("q") ?? "";
  show();
  if (!box.value) box.focus();
}

const form = globalThis.document?.querySelector("form[role=search]");
if (form) start(form);
