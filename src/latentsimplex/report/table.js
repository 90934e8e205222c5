/* A table of any number of rows of which only those in sight are in the page. */

const OVERSCAN = 10;

class RowsInSight {
  /**
   * @param root an element with the scroller, a table with its head, and the controls
   * @param count how many rows there are
   * @param columns one for each of the table's: { fill(row), key(row) } with fill giving what a cell holds and key a
   *   number or a text to sort by
   * @param options { name(row), kept(row, choice), noun, fileName, file }: what is searched, what the menu keeps, and
   *   the columns of the file to download, each a name and what gives its cells
   */
  constructor(root, count, columns, options) {
    Object.assign(this, { root, count, columns, options });
    this.scroller = root.querySelector(".scroller");
    this.table = root.querySelector("table");
    this.body = root.querySelector("tbody");
    this.search = root.querySelector("input[type=search]");
    this.menu = root.querySelector("select");
    this.status = root.querySelector("[role=status]");
    this.names = Array.from({ length: count }, (_, row) => options.name(row).toLowerCase());
    this.keys = new Map();
    this.sorted = { column: -1, direction: 1 };
    this.printing = false;
    this.rowHeight = this.body.rows[0].getBoundingClientRect().height;
    this.listen();
    this.refresh();
  }

  listen() {
    this.table.querySelectorAll("thead th").forEach((head, index) => {
      const button = make("button", "sort", ...head.childNodes);
      button.type = "button";
      button.addEventListener("click", () => this.sort(index));
      head.replaceChildren(button);
    });
    this.scroller.addEventListener("scroll", () => this.render(), { passive: true });
    this.search.addEventListener("input", () => this.refresh());
    this.menu.addEventListener("change", () => this.refresh());
    this.root.querySelector(".save").addEventListener("click", () => this.download());
    addEventListener("resize", () => this.render());
    addEventListener("beforeprint", () => this.print(true));
    addEventListener("afterprint", () => this.print(false));
    matchMedia("print").addEventListener("change", (event) => this.print(event.matches));
  }

  choose(choice) {
    this.menu.value = choice;
    this.search.value = "";
    this.refresh();
  }

  /** Sort by a column, and the other way round when asked again. */
  sort(index) {
    const again = this.sorted.column === index;
    this.sorted = { column: index, direction: again ? -this.sorted.direction : 1 };
    this.table.querySelectorAll("thead th").forEach((head, place) => {
      head.removeAttribute("aria-sort");
      if (place === index) head.setAttribute("aria-sort", this.sorted.direction > 0 ? "ascending" : "descending");
    });
    this.refresh();
  }

  /** What a column is sorted by; texts become their places in the order of a reader, 10 after 9. */
  keysOf(index) {
    if (!this.keys.has(index)) {
      const values = Array.from({ length: this.count }, (_, row) => this.columns[index].key(row));
      if (typeof values[0] === "string") {
        const { compare } = new Intl.Collator("en", { numeric: true });
        const order = values.map((_, row) => row).sort((a, b) => compare(values[a], values[b]));
        order.forEach((row, place) => (values[row] = place));
      }
      this.keys.set(index, Float64Array.from(values));
    }
    return this.keys.get(index);
  }

  /** Choose and order the rows anew, and begin at the first. */
  refresh() {
    const wanted = this.search.value.trim().toLowerCase();
    const choice = this.menu.value;
    const found = [];
    for (let row = 0; row < this.count; row++) {
      if (this.names[row].includes(wanted) && (!choice || this.options.kept(row, choice))) found.push(row);
    }
    const { column, direction } = this.sorted;
    if (column >= 0) {
      const keys = this.keysOf(column);
      found.sort((a, b) => direction * (keys[a] - keys[b]) || a - b);
    }
    this.found = found;
    this.status.textContent =
      found.length === this.count
        ? countText(this.count, this.options.noun)
        : `${found.length.toLocaleString("en")} of ${countText(this.count, this.options.noun)}`;
    this.table.setAttribute("aria-rowcount", found.length + 1);
    this.scroller.scrollTop = 0;
    this.window = null;
    this.render();
  }

  /** Save the rows that are listed, in their order, as comma-separated text. */
  download() {
    const { file, fileName } = this.options;
    const cell = (value) => (/[",\n\r]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : String(value));
    const lines = [file.map(([head]) => head), ...this.found.map((row) => file.map(([, fill]) => fill(row)))];
    const text = lines.map((line) => `${line.map(cell).join(",")}\r\n`).join("");
    const link = make("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    link.download = fileName;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  print(printing) {
    this.printing = printing;
    this.window = null;
    this.render();
  }

  /** Put the rows in sight into the page, with room above and below for the others. */
  render() {
    const total = this.found.length;
    const above = Math.floor(this.scroller.scrollTop / this.rowHeight);
    const inSight = Math.ceil(this.scroller.clientHeight / this.rowHeight);
    // steps of OVERSCAN, so that most scrolling changes nothing
    let first = Math.max(0, (Math.floor(above / OVERSCAN) - 1) * OVERSCAN);
    let last = Math.min(total, (Math.ceil((above + inSight) / OVERSCAN) + 1) * OVERSCAN);
    if (this.printing) [first, last] = [0, Math.min(total, data.printedRows)];
    const sight = `${first} ${last}`;
    if (this.window === sight) return;
    this.window = sight;
    const active = document.activeElement;
    const focused = this.body.contains(active) ? active.closest("tr").getAttribute("aria-rowindex") : null;
    const rows = [];
    for (let place = first; place < last; place++) rows.push(this.row(place));
    this.body.replaceChildren(this.spacer(first), ...rows, this.spacer(this.printing ? 0 : total - last));
    if (focused) this.body.querySelector(`[aria-rowindex="${focused}"] button`)?.focus({ preventScroll: true });
  }

  row(place) {
    const row = make("tr");
    row.setAttribute("aria-rowindex", place + 2);
    for (const { fill, className } of this.columns) {
      row.append(make("td", className, ...[fill(this.found[place])].flat()));
    }
    return row;
  }

  spacer(rows) {
    const spacer = make("tr", "spacer");
    spacer.setAttribute("aria-hidden", "true");
    spacer.style.height = `${rows * this.rowHeight}px`;
    return spacer;
  }
}
