// Brings a trace to life: cursor, lines on and off, zoom, sliders. The build has drawn it already
// and left its data in the figure; `course/read/formula.py` computes the same formulas.
(function () {
  "use strict";
  const WIDTH = 2000, HEIGHT = 1000, NEAR_END = 0.08, SVG = "http://www.w3.org/2000/svg";

  // -- formulas -------------------------------------------------------------------------------

  const ROWS = {
    "+": (a, b) => a + b, "-": (a, b) => a - b, "*": (a, b) => a * b, "/": (a, b) => a / b,
    "%": (a, b) => a - b * Math.floor(a / b), "**": (a, b) => a ** b,
    "<": (a, b) => +(a < b), "<=": (a, b) => +(a <= b), ">": (a, b) => +(a > b),
    ">=": (a, b) => +(a >= b), "==": (a, b) => +(a === b), "!=": (a, b) => +(a !== b),
    and: (a, b) => +(a !== 0 && b !== 0), or: (a, b) => +(a !== 0 || b !== 0), not: a => +(a === 0),
    neg: a => -a, sqrt: Math.sqrt, abs: Math.abs, exp: Math.exp, log: Math.log, sin: Math.sin,
    cos: Math.cos, tan: Math.tan, atan: Math.atan, atan2: Math.atan2, hypot: Math.hypot,
    floor: Math.floor, round: a => Math.floor(a + 0.5), sign: a => (a > 0) - (a < 0),
    where: (condition, then, other) => isNaN(condition) ? NaN : condition ? then : other,
    min: (...values) => Math.min(...values), max: (...values) => Math.max(...values),
  };
  const kept = column => column.filter(value => !isNaN(value));
  const sum = column => kept(column).reduce((total, value) => total + value, 0);
  const xOf = choose => (column, x) => {
    const values = kept(column);
    return values.length ? x[column.indexOf(choose(values))] : NaN;
  };
  const lowest = values => values.reduce((a, b) => Math.min(a, b), Infinity);
  const highest = values => values.reduce((a, b) => Math.max(a, b), -Infinity);
  const FOLDS = {
    min: column => lowest(kept(column)), max: column => highest(kept(column)),
    sum, mean: column => sum(column) / kept(column).length,
    first: column => column[0], last: column => column[column.length - 1],
    count: column => column.filter(value => value === 1).length,
    argmin: xOf(lowest), argmax: xOf(highest),
    first_x: (column, x) => column.includes(1) ? x[column.indexOf(1)] : NaN,
  };
  const soFar = choose => column => {
    let best = NaN;
    return column.map(value => {
      if (!isNaN(value)) best = isNaN(best) ? value : choose(best, value);
      return best;
    });
  };
  const SCANS = {
    integral: (column, x) => {
      let total = 0;
      return column.map((value, n) =>
        n ? total += (x[n] - x[n - 1]) * (value + column[n - 1]) / 2 : 0);
    },
    slope: (column, x) => column.map((value, n) => {
      const a = Math.max(n - 1, 0), b = Math.min(n + 1, x.length - 1);
      return (column[b] - column[a]) / (x[b] - x[a]);
    }),
    smooth: (column, x, width) => {
      let start = 0, end = 0;
      return x.map(here => {
        while (x[start] < here - width / 2) start += 1;
        while (end < x.length && x[end] <= here + width / 2) end += 1;
        const part = column.slice(start, end);
        return sum(part) / kept(part).length;
      });
    },
    lag: (column, x, tau) => {
      let now = column[0];
      return column.map((value, n) => {
        if (n) now += (value - now) * (tau > 0 ? 1 - Math.exp((x[n - 1] - x[n]) / tau) : 1);
        return now;
      });
    },
    cummin: soFar(Math.min), cummax: soFar(Math.max), reverse: column => column.slice().reverse(),
  };

  function lookUp(column, x, place) {
    if (isNaN(place)) return NaN;
    let low = 0, high = x.length - 1;
    if (place <= x[0]) return column[0];
    if (place >= x[high]) return column[high];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (x[middle] <= place) low = middle; else high = middle;
    }
    const part = (place - x[low]) / (x[high] - x[low]);
    return part === 0 ? column[low] : column[low] + part * (column[high] - column[low]);
  }

  const finite = value => isFinite(value) ? value : NaN;
  const number = value => Array.isArray(value) ? value[0] : value;

  function evaluate(tree, scope) {
    if (typeof tree === "string") return scope[tree];
    if (!Array.isArray(tree)) return tree;
    const name = tree[0], x = scope.x;
    const column = value => Array.isArray(value) ? value : x.map(() => value);
    const args = tree.slice(1).map(part => evaluate(part, scope));
    if (name in FOLDS && args.length === 1) return finite(FOLDS[name](column(args[0]), x));
    if (name in SCANS) {
      return SCANS[name](column(args[0]), x, ...args.slice(1).map(number)).map(finite);
    }
    if (name === "at" || name === "shift") {
      const values = column(args[0]);
      const places = name === "at" ? args[1] : column(args[1]).map((move, n) => x[n] - move);
      if (!Array.isArray(places)) return lookUp(values, x, places);
      return places.map(place => lookUp(values, x, place));
    }
    const row = ROWS[name];
    if (!args.some(Array.isArray)) return finite(row(...args));
    return x.map((_, n) => finite(row(...args.map(arg => Array.isArray(arg) ? arg[n] : arg))));
  }

  // -- drawing --------------------------------------------------------------------------------

  const part = (axis, value) => (value - axis[0]) / (axis[1] - axis[0]);
  const percent = value => (100 * value).toFixed(2) + "%";

  function ticks(axis) {
    const raw = (axis[1] - axis[0]) / 5, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].find(factor => factor * power >= raw * 0.999) * power;
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    const all = [];
    for (let n = Math.ceil(axis[0] / step - 1e-9); n * step <= axis[1] + step * 1e-9; n += 1) {
      all.push([n * step, (n * step + 0).toFixed(digits)]);
    }
    return all;
  }

  function path(line, across, up) {
    const parts = [];
    let pen = false;
    line.xs.forEach((x, n) => {
      const y = line.ys[n];
      if (isNaN(x) || isNaN(y)) { pen = false; return; }
      const left = Math.round(WIDTH * part(across, x));
      const top = Math.round(HEIGHT * (1 - part(up, y)));
      if (line.style === "points") parts.push(`M${left} ${top}h0`);
      else if (!pen) parts.push(`M${left} ${top}`);
      else if (line.style === "steps") parts.push(`H${left}V${top}`);
      else parts.push(`L${left} ${top}`);
      pen = true;
    });
    const drawn = parts.join("");
    if (line.style !== "area" || !drawn) return drawn;
    const base = Math.round(HEIGHT * (1 - part(up, Math.max(up[0], Math.min(0, up[1])))));
    const first = drawn.slice(1).split(" ")[0];
    const last = drawn.slice(drawn.lastIndexOf("L") + 1).split(" ")[0];
    return `${drawn}L${last} ${base}L${first} ${base}Z`;
  }

  function draw(parent, name, attributes, text) {
    const element = document.createElementNS(SVG, name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    if (text !== undefined) element.textContent = text;
    parent.append(element);
    return element;
  }

  function make(name, className, text) {
    const element = document.createElement(name);
    element.className = className;
    if (text) element.textContent = text;
    return element;
  }

  function decimals(axis) {
    return Math.max(0, Math.min(4, 2 - Math.floor(Math.log10(axis[1] - axis[0]))));
  }

  // -- one figure -----------------------------------------------------------------------------

  class Trace {
    constructor(figure) {
      this.figure = figure;
      this.data = JSON.parse(figure.dataset.trace);
      // A map or a circle has no place along x that all lines share, and would lose its shape.
      this.rises = this.data.rises && !figure.classList.contains("equal");
      this.words = figure.dataset.words.split("|");
      this.off = new Set();
      this.across = this.data.across.slice();
      this.settings = { ...this.data.sliders };
      const numbers = column => column.map(value => value === null ? NaN : value);
      this.columns = { x: numbers(this.data.x) };
      for (const name in this.data.columns) this.columns[name] = numbers(this.data.columns[name]);
      this.charts = Array.from(figure.querySelectorAll(".chart"), (svg, n) => ({
        svg, up: this.data.panels[n].up, unit: this.data.panels[n].unit,
        lines: this.data.panels[n].lines.map((line, k) => (
          { ...line, path: svg.querySelectorAll(".lines path")[k] })),
        cursor: draw(svg, "line", { class: "cursor", y2: "100%" }),
        dots: draw(svg.querySelector(".lines"), "g", { class: "dots" }),
      }));
      this.addLegend();
      this.addPosition();
      this.addSliders();
      this.addButtons();
      this.charts.forEach(chart => this.addPointer(chart.svg));
      this.update();
    }

    addLegend() {
      this.now = Array.from(this.figure.querySelectorAll(".legend li"), (item, n) => {
        const button = make("button", "", item.textContent), now = make("span", "now");
        button.type = "button";
        button.setAttribute("aria-pressed", "true");
        button.addEventListener("click", () => {
          const label = this.data.labels[n], off = this.off;
          if (!off.delete(label)) off.add(label);
          button.setAttribute("aria-pressed", String(!off.has(label)));
          this.show();
        });
        item.replaceChildren(button, now);
        return now;
      });
    }

    addPosition() {
      const label = make("label", "position", this.words[4] + " ");
      this.place = make("output", "");
      this.place.setAttribute("aria-live", "off");
      this.position = make("input", "");
      Object.assign(this.position, { type: "range", min: 0, max: this.columns.x.length - 1, step: 1 });
      this.position.value = Math.floor(this.columns.x.length / 2);
      this.position.addEventListener("input", () => this.point(+this.position.value));
      label.append(this.place, this.position);
      this.figure.querySelector(".legend").after(label);
    }

    addSliders() {
      this.inputs = Array.from(this.figure.querySelectorAll(".sliders input"));
      this.inputs.forEach(input => input.addEventListener("input", () => {
        this.settings[input.name] = +input.value;
        this.update();
      }));
      this.inputs.forEach(input => { input.closest(".sliders").hidden = false; });
    }

    addButtons() {
      const row = make("div", "buttons");
      const add = (word, action) => {
        const button = make("button", "", word);
        button.type = "button";
        button.addEventListener("click", action);
        row.append(button);
        return button;
      };
      if (this.rises) {
        add(this.words[2], () => this.zoom(0.5));
        this.out = add(this.words[3], () => this.zoom(2));
      }
      this.back = add(this.words[1], () => this.reset());
      this.figure.querySelector(".position").after(row);
    }

    addPointer(svg) {
      let from = null;
      const shown = event => {
        const box = svg.getBoundingClientRect();
        const at = Math.max(0, Math.min(1, (event.clientX - box.left) / box.width));
        return [at, (event.clientY - box.top) / box.height, box.width];
      };
      const x = at => this.across[0] + at * (this.across[1] - this.across[0]);
      svg.addEventListener("pointerdown", event => {
        this.point(this.nearest(svg, ...shown(event)));
        if (event.pointerType === "mouse" && this.rises) from = shown(event)[0];
      });
      svg.addEventListener("pointermove", event => {
        this.point(this.nearest(svg, ...shown(event)));
        svg.classList.toggle("selecting", from !== null);
      });
      addEventListener("pointerup", event => {
        if (from === null) return;
        const [to, , width] = shown(event), ends = [x(from), x(to)].sort((a, b) => a - b);
        if (Math.abs(to - from) * width > 8) this.look(...ends);
        from = null;
        svg.classList.remove("selecting");
      });
    }

    // The row that is drawn nearest to a place of the plot, both parts counted from 0 to 1.
    nearest(svg, left, top) {
      const chart = this.charts.find(one => one.svg === svg);
      let best = 0, distance = Infinity;
      const consider = (n, gap) => { if (gap < distance) { best = n; distance = gap; } };
      chart.lines.filter(line => !this.off.has(line.label)).forEach(line => {
        line.xs.forEach((x, n) => {
          const gap = Math.abs(part(this.across, x) - left);
          consider(n, this.rises && !line.x ? gap :
            Math.hypot(gap, 1 - part(chart.up, line.ys[n]) - top));
        });
      });
      return best;
    }

    zoom(factor) {
      const [low, high] = this.across, row = this.columns.x[+this.position.value];
      const middle = row >= low && row <= high ? row : (low + high) / 2;
      const half = (high - low) * factor / 2;
      this.look(middle - half, middle + half);
    }

    // Show x from *low* to *high*, as far as there is anything.
    look(low, high) {
      const [least, most] = this.data.across, span = Math.min(high - low, most - least);
      if (span < (most - least) / 200) return;
      const start = Math.max(least, Math.min(low, most - span));
      this.across = [start, start + span];
      this.show();
    }

    reset() {
      this.inputs.forEach(input => { input.value = this.data.sliders[input.name]; });
      this.settings = { ...this.data.sliders };
      this.across = this.data.across.slice();
      this.update();
    }

    // Compute everything again.
    update() {
      const scope = { ...this.columns, ...this.settings }, data = this.data;
      data.values.forEach(([name, tree]) => { scope[name] = evaluate(tree, scope); });
      const column = tree => {
        const value = evaluate(tree, scope);
        return Array.isArray(value) ? value : scope.x.map(() => value);
      };
      this.charts.forEach(chart => chart.lines.forEach(line => {
        line.ys = column(line.y);
        line.xs = line.x === null ? scope.x : column(line.x);
      }));
      this.marks = data.marks.map(([label, tree]) => [label, evaluate(tree, scope)]);
      this.inputs.forEach(input => {
        input.closest("label").querySelector("output").textContent = input.value;
      });
      this.figure.querySelectorAll(".readings output").forEach((output, n) => {
        const [tree, digits] = data.numbers[n], value = evaluate(tree, scope);
        const text = isNaN(value) ? "–" : (value + 0).toFixed(digits);
        if (output.textContent !== text) output.textContent = text;
      });
      this.show();
    }

    // Draw what is computed.
    show() {
      const across = this.across, whole = this.data.across;
      this.charts.forEach((chart, n) => {
        chart.lines.forEach(line => {
          line.path.setAttribute("d", this.off.has(line.label) ? "" : path(line, across, chart.up));
        });
        const group = chart.svg.querySelector(".marks");
        group.replaceChildren();
        this.marks.forEach(([label, x]) => {
          const at = part(across, x), turned = at > 0.6;
          if (!(at >= 0 && at <= 1)) return;
          draw(group, "line", { x1: percent(at), x2: percent(at), y2: "100%" });
          if (n === 0) {
            draw(group, "text", { x: percent(at), y: "1.1em", dx: turned ? "-.4em" : ".4em",
              "text-anchor": turned ? "end" : "start" }, label);
          }
        });
      });
      const row = this.figure.querySelector(".ticks");
      row.replaceChildren();
      ticks(across).forEach(([value, label]) => {
        const at = part(across, value);
        const end = at < NEAR_END / 2 ? "start" : at > 1 - NEAR_END / 2 ? "end" : "middle";
        draw(row, "text", { x: percent(at), y: "1em", "text-anchor": end }, label);
      });
      const zoomed = across[0] !== whole[0] || across[1] !== whole[1];
      if (this.out) this.out.disabled = !zoomed;
      this.back.disabled = !zoomed &&
        this.inputs.every(input => +input.value === this.data.sliders[input.name]);
      this.point(+this.position.value);
    }

    // Put the cursor on row *n* and say what is there.
    point(n) {
      this.position.value = n;
      const x = this.columns.x[n], said = this.data.labels.map(() => []);
      const at = part(this.across, x), visible = this.rises && at >= 0 && at <= 1;
      const unit = this.data.unit ? " " + this.data.unit : "";
      this.place.textContent = x.toFixed(decimals(this.data.across)) + unit;
      this.charts.forEach(chart => {
        chart.cursor.setAttribute("visibility", visible ? "visible" : "hidden");
        chart.cursor.setAttribute("x1", percent(at));
        chart.cursor.setAttribute("x2", percent(at));
        chart.dots.replaceChildren();
        chart.lines.forEach(line => {
          if (this.off.has(line.label) || isNaN(line.xs[n]) || isNaN(line.ys[n])) return;
          const dot = { ...line, style: "points", xs: [line.xs[n]], ys: [line.ys[n]] };
          const key = this.data.labels.indexOf(line.label);
          draw(chart.dots, "path",
            { class: `s${key % 6 + 1}`, d: path(dot, this.across, chart.up) });
          said[key].push(line.ys[n].toFixed(decimals(chart.up)) + (chart.unit ? " " + chart.unit : ""));
        });
      });
      this.now.forEach((output, key) => { output.textContent = said[key].join(" · "); });
      const texts = this.data.labels.map((label, key) => `${label} ${said[key].join(", ")}`);
      this.position.setAttribute("aria-valuetext", `${this.place.textContent}: ${texts.join("; ")}`);
    }
  }

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll("figure[data-trace]").forEach(figure => new Trace(figure));
  });
})();
