/* The embedded data, and the probabilities that follow from it. Samples are rows of what the page holds. */

const KINDS = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f4: Float32Array };
const TOP = 65535;
const ROUNDING = 1e-12;

function column([kind, text]) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  return new KINDS[kind](bytes.buffer);
}

/** A group of the data with its columns decoded; names and numbers are as they were. */
function decoded(group) {
  const isColumn = (name, entry) => name !== "names" && Array.isArray(entry) && Object.hasOwn(KINDS, entry[0]);
  const entries = Object.entries(group).map(([name, entry]) => [name, isColumn(name, entry) ? column(entry) : entry]);
  return Object.fromEntries(entries);
}

const data = JSON.parse(document.getElementById("report-data").textContent);
for (const name of ["samples", "consensus", "views", "features"]) {
  if (data[name]) data[name] = decoded(data[name]);
}
data.patterns = data.patterns.map(decoded);

function sampleName(row) {
  return data.samples.names ? data.samples.names[row] : String(data.samples.index[row]);
}

function membership(l, row, k) {
  return data.patterns[l].memberships[row * data.patterns[l].clusters + k] / TOP;
}

function memberships(l, row) {
  return Array.from({ length: data.patterns[l].clusters }, (_, k) => membership(l, row, k));
}

/** The probability that two samples share a cluster of pattern l: the product of their memberships. */
function patternCoassignment(l, row, other) {
  let sum = 0;
  for (let k = 0; k < data.patterns[l].clusters; k++) sum += membership(l, row, k) * membership(l, other, k);
  return sum;
}

/** The same under the consensus: the mean over patterns, by their shares of its weights. */
function consensusCoassignment(row, other) {
  const shares = data.consensus.shares;
  if (!shares) return 1;
  let sum = 0;
  shares.forEach((share, l) => {
    if (share > 0) sum += share * patternCoassignment(l, row, other);
  });
  return sum > 1 - ROUNDING ? 1 : sum;
}

/** The most probable cluster but one. */
function rival(l, row, cluster) {
  let best = -1;
  for (let k = 0; k < data.patterns[l].clusters; k++) {
    if (k !== cluster && (best < 0 || membership(l, row, k) > membership(l, row, best))) best = k;
  }
  return best;
}

/** Samples as rows of numbers whose products are co-assignments, in the order of a figure. */
function factor(order, shares) {
  const width = shares.reduce((sum, share, l) => sum + (share > 0 ? data.patterns[l].clusters : 0), 0);
  const rows = new Float32Array(order.length * width);
  let column = 0;
  shares.forEach((share, l) => {
    if (!(share > 0)) return;
    const { clusters, memberships: W } = data.patterns[l];
    const scale = Math.sqrt(share) / TOP;
    order.forEach((row, i) => {
      for (let k = 0; k < clusters; k++) rows[i * width + column + k] = scale * W[row * clusters + k];
    });
    column += clusters;
  });
  return { rows, width };
}
