/* The page comes to life: tables, tabs and figures. Without this it is still readable. */

function viewTable() {
  const { names, pattern, probability, next, nextProbability, weight } = data.views;
  const clusters = (v) => data.patterns[pattern[v]].clusters;
  const link = (l) => {
    const element = make("a", "", String(l));
    element.href = `#pattern-${l}`;
    return element;
  };
  const columns = [
    { fill: (v) => nameElement(names[v]), key: (v) => names[v] },
    { fill: (v) => link(pattern[v]), key: (v) => pattern[v], className: "n" },
    { fill: (v) => meter(probability[v] / TOP), key: (v) => probability[v] },
    { fill: (v) => String(clusters(v)), key: clusters, className: "n" },
    { fill: (v) => weightText(weight[v]), key: (v) => weight[v], className: "n" },
  ];
  if (next) {
    columns.splice(3, 0, {
      fill: (v) => `${next[v]} (${probabilityText(nextProbability[v] / TOP)})`,
      key: (v) => nextProbability[v],
      className: "n",
    });
  }
  const exact = (p) => Number((p / TOP).toFixed(5));
  const file = [
    ["view", (v) => names[v]],
    ["pattern", (v) => pattern[v]],
    ["responsibility", (v) => exact(probability[v])],
    ...(next ? [["next_pattern", (v) => next[v]], ["next_responsibility", (v) => exact(nextProbability[v])]] : []),
    ["clusters", clusters],
    ["consensus_weight", (v) => Number(weight[v].toPrecision(6))],
  ];
  const kept = (v, choice) => {
    if (choice === "unsure") return probability[v] / TOP < data.unsure;
    if (choice === "excluded") return weight[v] === 0;
    return pattern[v] === Number(choice);
  };
  const table = new RowsInSight(document.getElementById("view-list"), names.length, columns, {
    name: (v) => names[v],
    kept,
    noun: "view",
    fileName: "views.csv",
    file,
  });
  document.querySelectorAll("[data-show-views]").forEach((button) => {
    button.addEventListener("click", () => {
      table.choose(button.dataset.showViews);
      document.getElementById("view-list").scrollIntoView({ block: "nearest" });
    });
  });
}

/** What is known of one sample: its clusters under each pattern that has some. */
function sampleCard(row) {
  const rows = data.patterns.flatMap((pattern, l) => {
    if (pattern.clusters < 2) return [];
    const cluster = pattern.labels[row];
    const other = rival(l, row, cluster);
    return make(
      "tr",
      "",
      make("th", "", `pattern ${l}`),
      make("td", "wide", stack(memberships(l, row))),
      make("td", "", assignedText(l, row)),
      make("td", "quiet", `next: cluster ${other} (${probabilityText(membership(l, row, other))})`),
    );
  });
  return [
    make("h3", "", nameElement(sampleName(row))),
    make("p", "quiet", `consensus cluster ${data.consensus.labels[row]}`),
    make("table", "card", make("tbody", "", ...rows)),
  ];
}

function sampleTable() {
  const root = document.getElementById("sample-list");
  if (!root) return;
  const { probability, doubtful, listed } = data.samples;
  const card = document.getElementById("sample-card");
  const assigned = (row) => data.patterns[doubtful[row]].labels[row];
  const second = (row) => rival(doubtful[row], row, assigned(row));
  const share = (row, k) => membership(doubtful[row], row, k);
  const placed = (row, k) => [swatch(data.colours[k]), `cluster ${k} (${probabilityText(share(row, k))})`];
  const name = (row) => {
    const button = make("button", "link", nameElement(sampleName(row)));
    button.type = "button";
    button.addEventListener("click", () => {
      card.replaceChildren(...sampleCard(row));
      card.hidden = false;
      card.scrollIntoView({ block: "nearest" });
    });
    return button;
  };
  const columns = [
    { fill: name, key: (row) => sampleName(row) },
    { fill: (row) => meter(probability[row] / TOP), key: (row) => probability[row] },
    { fill: (row) => String(data.consensus.labels[row]), key: (row) => data.consensus.labels[row], className: "n" },
    { fill: (row) => String(doubtful[row]), key: (row) => doubtful[row], className: "n" },
    { fill: (row) => placed(row, assigned(row)), key: (row) => share(row, assigned(row)) },
    { fill: (row) => placed(row, second(row)), key: (row) => share(row, second(row)) },
  ];
  const file = [
    ["sample", sampleName],
    ["mean_probability", (row) => Number((probability[row] / TOP).toFixed(5))],
    ["consensus", (row) => data.consensus.labels[row]],
    ...data.patterns.flatMap(({ clusters, labels }, l) => {
      if (clusters < 2) return [];
      const chance = (row) => Number(membership(l, row, labels[row]).toFixed(5));
      return [[`pattern${l}`, (row) => labels[row]], [`pattern${l}_probability`, chance]];
    }),
  ];
  new RowsInSight(root, listed, columns, {
    name: sampleName,
    kept: (row, choice) => data.consensus.labels[row] === Number(choice),
    noun: "sample",
    fileName: "samples.csv",
    file,
  });
}

function featureTable() {
  const root = document.getElementById("feature-list");
  if (!root) return;
  const { names, feature, views, view, cluster, mean_inside: inside, mean_outside: outside, effect } = data.features;
  const name = (row) => names[feature[row]];
  const viewName = (row) => views.names[view[row]];
  const signed = (x) => (Number.isNaN(x) ? "–" : `${x < 0 ? "-" : "+"}${Math.abs(x).toFixed(2)}`);
  const number = (column) => (row) => (Number.isNaN(column[row]) ? "" : Number(column[row].toPrecision(6)));
  const columns = [
    { fill: (row) => nameElement(name(row)), key: name },
    { fill: (row) => nameElement(viewName(row)), key: viewName },
    { fill: (row) => [swatch(data.colours[cluster[row]]), String(cluster[row])], key: (row) => cluster[row], className: "n" },
    { fill: (row) => shortText(inside[row]), key: (row) => inside[row], className: "n" },
    { fill: (row) => shortText(outside[row]), key: (row) => outside[row], className: "n" },
    { fill: (row) => signed(effect[row]), key: (row) => effect[row], className: "n" },
  ];
  new RowsInSight(root, feature.length, columns, {
    name: (row) => `${name(row)} ${viewName(row)}`,
    kept: (row, choice) => cluster[row] === Number(choice),
    noun: "row",
    fileName: "cluster_features.csv",
    file: [
      ["cluster", (row) => cluster[row]],
      ["view", viewName],
      ["feature", name],
      ["mean_inside", number(inside)],
      ["mean_outside", number(outside)],
      ["effect", number(effect)],
    ],
  });
}

/** The scatter plot: named samples, coloured by the consensus or by a pattern. */
function scatterPlot() {
  const plot = document.querySelector("svg.scatter");
  if (!plot) return;
  const menu = document.getElementById("colour-by");
  const labels = () => (menu.value ? data.patterns[Number(menu.value)].labels : data.consensus.labels);
  const lines = (row) => {
    if (menu.value) return membershipLines(Number(menu.value), row);
    const cluster = data.consensus.labels[row];
    const said = make("div", "", swatch(data.colours[cluster]), `consensus cluster ${cluster}`);
    return [make("div", "", nameElement(sampleName(row))), said];
  };
  plot.addEventListener("pointerover", ({ target, clientX, clientY }) => {
    if (target.dataset.i) tip.show(clientX, clientY, lines(Number(target.dataset.i)));
    else tip.hide();
  });
  plot.addEventListener("pointerleave", () => tip.hide());
  menu.addEventListener("change", () => {
    const chosen = labels();
    for (const circle of plot.children) circle.setAttribute("fill", data.colours[chosen[circle.dataset.i]]);
    const shown = [...new Set(chosen)].sort((a, b) => a - b);
    const legend = document.querySelector(".legend");
    legend.replaceChildren(...shown.map((k) => make("li", "", swatch(data.colours[k]), String(k))));
  });
}

/** Tabs as the keyboard knows them: arrows move, Home and End jump, Tab goes on to the panel. */
function patternTabs() {
  const tabs = [...document.querySelectorAll("[role=tab]")];
  const panelOf = (tab) => document.getElementById(tab.getAttribute("aria-controls"));
  const select = (chosen) => {
    for (const tab of tabs) {
      tab.setAttribute("aria-selected", tab === chosen);
      tab.tabIndex = tab === chosen ? 0 : -1;
      panelOf(tab).hidden = tab !== chosen;
    }
  };
  tabs.forEach((tab, place) => {
    tab.addEventListener("click", () => select(tab));
    tab.addEventListener("keydown", (event) => {
      const to = { ArrowLeft: place - 1, ArrowRight: place + 1, Home: 0, End: tabs.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      const chosen = tabs[(to + tabs.length) % tabs.length];
      select(chosen);
      chosen.focus();
    });
  });
  const follow = () => {
    const tab = tabs.find((one) => location.hash === `#${one.getAttribute("aria-controls")}`);
    if (!tab) return;
    select(tab);
    document.getElementById("patterns").scrollIntoView();
  };
  addEventListener("hashchange", follow);
  select(tabs[0]);
  follow();
}

/** Draw what is seen first at once and the rest when there is time, or when the page is printed. */
function figures() {
  const waiting = [];
  const consensus = document.querySelector("#consensus .heat .plot");
  if (consensus) {
    const place = (row) => `consensus cluster ${data.consensus.labels[row]}`;
    const { order, shares } = data.consensus;
    waiting.push(heatmap(consensus, order, shares, consensusCoassignment, place));
  }
  document.querySelectorAll("[role=tabpanel]").forEach((panel, l) => {
    if (panel.querySelector(".heat")) waiting.push(patternFigures(panel, l));
  });
  const next = () => {
    waiting.shift()?.();
    if (waiting.length) setTimeout(next);
  };
  next();
  addEventListener("beforeprint", () => waiting.splice(0).forEach((draw) => draw()));
}

document.documentElement.classList.add("js");
patternTabs();
figures();
viewTable();
sampleTable();
featureTable();
scatterPlot();
document.documentElement.dataset.ready = "true";
