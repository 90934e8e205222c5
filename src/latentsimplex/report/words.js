/* Numbers as the rest of the page writes them, and elements that hold text and nothing else. */

/** Two decimals that never round to certainty, like wording.py. */
function probabilityText(p) {
  if (p >= 0.995) return p >= 1 ? "1" : ">0.99";
  if (p < 0.005) return p <= 0 ? "0" : "<0.01";
  return p.toFixed(2);
}

function countText(n, noun) {
  return `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
}

function weightText(u) {
  return u > 0 ? String(Number(u.toPrecision(6))) : "left out";
}

/** A number of the data in four figures. */
function shortText(x) {
  return Number.isNaN(x) ? "–" : String(Number(x.toPrecision(4)));
}

/** An element with a class and children. Strings become text, so that a name from the data stays one. */
function make(tag, className, ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...children);
  return element;
}

function nameElement(name) {
  const element = make("bdi", "name", name);
  element.title = name;
  return element;
}

function swatch(colour) {
  const element = make("span", "swatch");
  element.style.backgroundColor = colour;
  return element;
}

/** A bar as long as a probability, with its number. */
function meter(p) {
  const bar = make("i");
  bar.style.width = `${100 * p}%`;
  return make("span", "nowrap", make("span", "meter", bar), probabilityText(p));
}

/** A bar of several colours, each as long as its probability. */
function stack(probabilities) {
  const element = make("span", "stack");
  probabilities.forEach((p, k) => {
    const part = make("i");
    part.style.width = `${100 * p}%`;
    part.style.backgroundColor = data.colours[k];
    element.append(part);
  });
  return element;
}
