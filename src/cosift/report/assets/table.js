"use strict";

// A table that can be sorted, filtered, copied and downloaded.

const ROWS_AT_ONCE = 100;

class DataTable {
  // columns: {head, number}; rows: arrays of {text, value, mark, title}.
  constructor(place, name) {
    this.name = name;
    this.sorted = null;
    this.shown = ROWS_AT_ONCE;
    this.caption = element("span");
    this.head = element("thead");
    this.body = element("tbody");
    this.filter = element("input", { type: "search", placeholder: "Filter rows" });
    this.filter.setAttribute("aria-label", `Filter rows of ${name}`);
    this.filter.addEventListener("input", () => this.draw());
    const button = (text, act) => {
      const made = element("button", { type: "button", textContent: text });
      made.addEventListener("click", act);
      return made;
    };
    this.more = button("Show more rows", () => {
      this.shown += ROWS_AT_ONCE;
      this.draw();
    });
    const scroll = element("div", { className: "scroll", tabIndex: 0 });
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", name);
    scroll.append(element("table", {}, element("caption", {}, this.caption), this.head, this.body));
    this.legend = element("p", { className: "legend" });
    const tools = element(
      "p",
      { className: "tools" },
      this.filter,
      button("Copy", async () => {
        await copy(toTabs(this.cells()));
        say(`${name}: copied`);
      }),
      button("CSV", () => {
        const [heads, ...rows] = this.cells();
        download(`${name}.csv`, toCsv(heads, rows));
      }),
    );
    place.replaceChildren(tools, scroll, this.more, this.legend);
  }

  set(columns, rows, caption = "", legend = "") {
    const heads = columns.map((c) => c.head).join();
    if (this.heads !== heads) this.sorted = null;
    this.heads = heads;
    Object.assign(this, { columns, rows });
    this.caption.textContent = caption;
    this.legend.textContent = legend;
    this.draw();
  }

  // Rows that pass the filter, in order.
  chosen() {
    const words = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const kept = this.rows.filter((row) => {
      const text = row.map((cell) => cell.text).join(" ").toLowerCase();
      return words.every((word) => text.includes(word));
    });
    if (this.sorted === null) return kept;
    const { at, down } = this.sorted;
    const missing = (value) => value === null || value === undefined;
    return kept.sort((a, b) => {
      const [x, y] = [a[at].value, b[at].value];
      if (missing(x) || missing(y)) return missing(x) - missing(y);
      const order = typeof x === "number" ? x - y : String(x).localeCompare(String(y));
      return down ? -order : order;
    });
  }

  cells() {
    return [this.columns.map((c) => c.head), ...this.chosen().map((row) => row.map((c) => c.text))];
  }

  sort(at) {
    const first = Boolean(this.columns[at].number);
    const down = this.sorted?.at === at ? !this.sorted.down : first;
    this.sorted = { at, down };
    this.draw();
    this.head.querySelectorAll("button")[at].focus();
    say(`${this.name}: sorted by ${this.columns[at].head}, ${down ? "descending" : "ascending"}`);
  }

  draw() {
    const heads = this.columns.map((c, at) => {
      const sorted = this.sorted?.at === at ? (this.sorted.down ? "descending" : "ascending") : "none";
      const button = element("button", { type: "button", textContent: c.head });
      button.addEventListener("click", () => this.sort(at));
      const head = element("th", { scope: "col", className: c.number ? "number" : "" }, button);
      head.setAttribute("aria-sort", sorted);
      if (c.current) head.classList.add("current");
      return head;
    });
    this.head.replaceChildren(element("tr", {}, ...heads));
    const rows = this.chosen();
    this.body.replaceChildren(
      ...rows.slice(0, this.shown).map((row) => {
        const cells = row.map((cell, i) => {
          const made = element(i ? "td" : "th", { textContent: cell.text });
          if (!i) made.scope = "row";
          made.className = [this.columns[i].number && "number", this.columns[i].current && "current", cell.mark]
            .filter(Boolean)
            .join(" ");
          if (cell.title) made.title = cell.title;
          return made;
        });
        const made = element("tr", {}, ...cells);
        made.className = row.className ?? "";
        return made;
      }),
    );
    this.more.hidden = rows.length <= this.shown;
  }
}

// Rows of plain values for a table.
const plainCell = (value) => ({ value, text: value === null || value === undefined ? "" : shown(value) });

function shown(value) {
  if (typeof value !== "number" || Number.isInteger(value)) return String(value);
  const size = Math.abs(value);
  return size >= 1e5 || size < 1e-3 ? value.toExponential(2) : String(Number(value.toPrecision(4)));
}
