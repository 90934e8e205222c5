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
  const kept = (v, choice) => {
    if (choice === "unsure") return probability[v] / TOP < data.unsure;
    if (choice === "excluded") return weight[v] === 0;
    return pattern[v] === Number(choice);
  };
  const table = new RowsInSight(document.getElementById("view-list"), names.length, columns, {
    name: (v) => names[v],
    kept,
    noun: "view",
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
  new RowsInSight(root, listed, columns, {
    name: sampleName,
    kept: (row, choice) => data.consensus.labels[row] === Number(choice),
    noun: "sample",
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
document.documentElement.dataset.ready = "true";
