/* Heatmaps and bars on canvas, and what is said about the sample under the pointer. */

const BAR_HEIGHT = 200;

/** As opaque as the pair is probable. */
function drawHeatmap(canvas, { rows, width }, size) {
  canvas.width = canvas.height = size;
  const context = canvas.getContext("2d");
  const image = context.createImageData(size, size);
  const [red, green, blue] = data.heat;
  const pixels = new Uint32Array(image.data.buffer);
  for (let i = 0; i < size; i++) {
    for (let j = 0; j <= i; j++) {
      let p = 0;
      for (let k = 0; k < width; k++) p += rows[i * width + k] * rows[j * width + k];
      const alpha = Math.min(255, Math.round(255 * p));
      pixels[i * size + j] = pixels[j * size + i] = (alpha << 24) | (blue << 16) | (green << 8) | red;
    }
  }
  context.putImageData(image, 0, 0);
}

function drawBars(canvas, l, order) {
  canvas.width = order.length;
  canvas.height = BAR_HEIGHT;
  const context = canvas.getContext("2d");
  order.forEach((row, i) => {
    let top = BAR_HEIGHT;
    memberships(l, row).forEach((p, k) => {
      context.fillStyle = data.colours[k];
      context.fillRect(i, top - p * BAR_HEIGHT, 1, p * BAR_HEIGHT);
      top -= p * BAR_HEIGHT;
    });
  });
}

const tip = {
  element: document.getElementById("tip"),
  /** Lines beside a point of the window, kept inside it. */
  show(x, y, lines) {
    this.element.replaceChildren(...lines);
    this.element.hidden = false;
    const { width, height } = this.element.getBoundingClientRect();
    const left = x + 16 + width > innerWidth ? x - 16 - width : x + 16;
    const top = y + 16 + height > innerHeight ? y - 16 - height : y + 16;
    this.element.style.left = `${Math.max(4, Math.min(left, innerWidth - width - 4))}px`;
    this.element.style.top = `${Math.max(4, top)}px`;
  },
  hide() {
    this.element.hidden = true;
  },
};

/** Let a pointer or the arrow keys pick a column of a figure and, of a square one, a row. */
function pickable(plot, size, square, lines) {
  const down = make("span", "cross down");
  const across = make("span", "cross across");
  const marks = square ? [down, across] : [down];
  let place = null;
  const show = (column, row, x, y) => {
    const box = plot.getBoundingClientRect();
    place = [column, row];
    if (!down.isConnected) plot.append(...marks);
    down.style.left = `${(100 * (column + 0.5)) / size}%`;
    across.style.top = `${(100 * (row + 0.5)) / size}%`;
    tip.show(
      x ?? box.left + (box.width * (column + 0.5)) / size,
      y ?? box.top + box.height * (square ? (row + 0.5) / size : 0.5),
      lines(column, row),
    );
  };
  const hide = () => {
    marks.forEach((mark) => mark.remove());
    tip.hide();
  };
  const within = (share) => Math.max(0, Math.min(size - 1, Math.floor(share * size)));
  const follow = (event) => {
    const box = plot.getBoundingClientRect();
    const column = within((event.clientX - box.left) / box.width);
    show(column, within((event.clientY - box.top) / box.height), event.clientX, event.clientY);
  };
  const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  plot.tabIndex = 0;
  plot.addEventListener("pointermove", follow);
  plot.addEventListener("pointerdown", follow);
  plot.addEventListener("pointerleave", hide);
  plot.addEventListener("blur", hide);
  plot.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
    const step = STEPS[event.key];
    if (!step || (!square && step[1])) return;
    event.preventDefault();
    const [column, row] = place ? place.map((at, axis) => within((at + step[axis] + 0.5) / size)) : [0, 0];
    show(column, row);
  });
}

function assignedText(l, row) {
  const cluster = data.patterns[l].labels[row];
  return `cluster ${cluster} (${probabilityText(membership(l, row, cluster))})`;
}

function pairLines(row, other, p, placeOf) {
  const each = (r) => make("div", "quiet", nameElement(sampleName(r)), `: ${placeOf(r)}`);
  if (row === other) return [each(row)];
  const said = make("div", "", "share a cluster with probability ", make("b", "", probabilityText(p)));
  return [said, each(row), each(other)];
}

/** A sample's clusters, the most probable first, as far as they matter. */
function membershipLines(l, row) {
  const assigned = data.patterns[l].labels[row];
  const ranked = memberships(l, row)
    .map((p, k) => [p, k])
    .sort((a, b) => b[0] - a[0]);
  const lines = ranked
    .slice(0, 5)
    .filter(([p, k], place) => p >= 0.005 || place === 0 || k === assigned)
    .map(([p, k]) => {
      const said = make("b", "", probabilityText(p));
      return make("div", "", swatch(data.colours[k]), `cluster ${k} `, said, k === assigned ? " assigned" : "");
    });
  return [make("div", "", nameElement(sampleName(row))), ...lines];
}

/** Prepare one heatmap; returns what draws it. */
function heatmap(plot, order, shares, coassignment, placeOf) {
  pickable(plot, order.length, true, (column, row) =>
    pairLines(order[row], order[column], coassignment(order[row], order[column]), placeOf),
  );
  const one = { rows: new Float32Array(order.length).fill(1), width: 1 };
  const canvas = plot.querySelector("canvas");
  return () => drawHeatmap(canvas, shares ? factor(order, shares) : one, order.length);
}

/** Prepare the figures of a pattern; returns what draws them. */
function patternFigures(panel, l) {
  const { order } = data.patterns[l];
  const only = data.patterns.map((_, other) => (other === l ? 1 : 0));
  const draw = heatmap(
    panel.querySelector(".heat .plot"),
    order,
    only,
    (row, other) => patternCoassignment(l, row, other),
    (row) => assignedText(l, row),
  );
  const bars = panel.querySelector(".bars .plot");
  pickable(bars, order.length, false, (column) => membershipLines(l, order[column]));
  const simplex = panel.querySelector("svg.simplex");
  simplex?.addEventListener("pointerover", ({ target, clientX, clientY }) => {
    if (target.dataset.i) tip.show(clientX, clientY, membershipLines(l, order[target.dataset.i]));
    else tip.hide();
  });
  simplex?.addEventListener("pointerleave", () => tip.hide());
  return () => {
    draw();
    drawBars(bars.querySelector("canvas"), l, order);
  };
}
