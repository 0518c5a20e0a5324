// A canvas with what seldom changes below what moves: the former is drawn once, then copied.

import { onScheme } from "./colours.js";

/** A subclass has ``paintGround(pen)`` and ``paint(pen)``, and calls ``changeGround()`` or ``draw()``
 *  when what they draw has changed. The pens measure in CSS pixels. */
export class Layers {
  #canvas;
  #pen;
  #ground = document.createElement("canvas");
  #due = false;
  width = 0;
  height = 0;

  constructor(canvas) {
    this.#canvas = canvas;
    this.#pen = canvas.getContext("2d");
    new ResizeObserver(() => this.#resize()).observe(canvas);
    onScheme(() => this.changeGround());
  }

  changeGround() {
    const pen = this.#ground.getContext("2d");
    pen.clearRect(0, 0, this.width, this.height);
    this.paintGround(pen);
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
    for (const canvas of [this.#canvas, this.#ground]) {
      canvas.width = Math.round(this.width * scale);
      canvas.height = Math.round(this.height * scale);
      canvas.getContext("2d").scale(scale, scale);
    }
    this.changeGround();
    this.#paint();
  }

  #paint() {
    this.#pen.clearRect(0, 0, this.width, this.height);
    if (!this.#ground.width || !this.#ground.height) return; // such a canvas cannot be copied
    this.#pen.drawImage(this.#ground, 0, 0, this.width, this.height);
    this.paint(this.#pen);
  }
}
