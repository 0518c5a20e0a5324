// A canvas with what seldom changes below what moves: the former is drawn once, then copied.

import { colour, onScheme } from "./colours.js";

/** A subclass has ``paintGround(pen)`` and ``paint(pen)``, and calls ``changeGround()`` or ``draw()``
 *  when what they draw has changed. The pens measure in CSS pixels. */
export class Layers {
  #canvas;
  #pen; // opaque, as the panels are: what lies below need not be mixed in
  #ground = document.createElement("canvas").getContext("2d", { alpha: false });
  #due = false;
  width = 0;
  height = 0;

  constructor(canvas) {
    this.#canvas = canvas;
    this.#pen = canvas.getContext("2d", { alpha: false });
    new ResizeObserver(() => this.#resize()).observe(canvas);
    onScheme(() => this.changeGround());
  }

  changeGround() {
    this.#ground.fillStyle = colour("--sheet");
    this.#ground.fillRect(0, 0, this.width, this.height);
    this.paintGround(this.#ground);
    this.draw();
  }

  /** Draw at the next refresh of the screen, once for all calls until then. */
  draw() {
    if (this.#due) return;
    this.#due = true;
    requestAnimationFrame(() => { this.#due = false; this.#paint(); });
  }

  #resize() {
    const scale = window.devicePixelRatio || 1;
    this.width = this.#canvas.clientWidth;
    this.height = this.#canvas.clientHeight;
    for (const pen of [this.#pen, this.#ground]) {
      pen.canvas.width = Math.round(this.width * scale);
      pen.canvas.height = Math.round(this.height * scale);
      pen.scale(scale, scale);
    }
    this.changeGround();
    this.#paint();
  }

  #paint() {
    const ground = this.#ground.canvas;
    if (!ground.width || !ground.height) return; // such a canvas cannot be copied
    this.#pen.drawImage(ground, 0, 0, this.width, this.height);
    this.paint(this.#pen);
  }
}
