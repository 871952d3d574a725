"use strict";

// Figures: each is drawn by Vega from the data of its element, and follows what is chosen.

class Figure {
  constructor(place, state) {
    this.place = place;
    this.state = state;
    this.chart = place.querySelector(".chart");
    this.title = place.querySelector("h3").textContent;
    Object.assign(this, read(`figure-${place.dataset.figure}`));
    for (const chart of Object.values(this.charts)) chart.data = {};
    this.select = this.by === "method" ? this.choose(Object.keys(this.charts)) : null;
    for (const chart of Object.values(this.charts)) {
      if (chart.choices.method?.length) this.select ??= this.choose(chart.choices.method);
    }
    const details = place.querySelector("details");
    details.addEventListener("toggle", () => details.open && this.showNumbers());
    this.details = details;
  }

  // A list of methods of its own, which all figures follow that know the method.
  choose(methods) {
    if (methods.length < 2) return null;
    const options = methods.map((text) => element("option", { value: text, textContent: text }));
    const select = element("select", {}, ...options);
    select.addEventListener("change", () => {
      this.state.method = select.value;
      this.state.changed();
    });
    const label = element("label", {}, "Method ", select);
    this.place.querySelector(".head").append(label);
    return select;
  }

  get key() {
    const keys = Object.keys(this.charts);
    return this.by && keys.includes(this.state[this.by]) ? this.state[this.by] : keys[0];
  }

  get current() {
    return this.charts[this.key];
  }

  // What is chosen, of what this figure knows.
  get chosen() {
    const values = {};
    for (const { name, value } of this.current.spec.params ?? []) {
      const options = this.current.choices[name] ?? [];
      const wanted = this.state[name];
      const known = name === "hidden" || options.includes(wanted);
      values[name] = known && wanted !== undefined ? wanted : value;
    }
    return values;
  }

  rows(name) {
    return (this.current.data[name] ??= rowsOf(this.current.datasets[name]));
  }

  get width() {
    const room = this.chart.clientWidth;
    return this.stretches ? room : Math.min(room, this.current.spec.width);
  }

  // What depends on the room there is.
  fitted(config) {
    const longest = Math.max(...Object.keys(run.methods).map((text) => text.length));
    const columns = Math.floor((this.width - 40) / (30 + Math.min(190, 6.5 * longest)));
    return {
      ...config,
      legend: { ...config.legend, columns: Math.max(1, columns) },
      axisY: { ...config.axisY, labelLimit: Math.min(230, 0.4 * this.width) },
    };
  }

  async draw() {
    const key = this.key;
    const { spec, datasets } = this.current;
    const chosen = this.chosen;
    const full = {
      ...spec,
      config: this.fitted(spec.config),
      width: this.width,
      params: spec.params.map((param) => ({ ...param, value: chosen[param.name] })),
      datasets: Object.fromEntries(Object.keys(datasets).map((name) => [name, this.rows(name)])),
    };
    this.view?.finalize();
    const options = {
      mode: "vega-lite",
      renderer: "svg",
      actions: false,
      tooltip: { theme: "custom" },
      logLevel: 1, // errors: of data that a choice leaves empty there is nothing to warn
    };
    this.view = (await vegaEmbed(this.chart, full, options)).view;
    this.drawn = key;
    this.drawnWidth = this.width;
    this.settle();
  }

  async update() {
    if (this.view === undefined) return;
    if (this.drawn !== this.key) {
      await this.draw();
      return;
    }
    for (const [name, value] of Object.entries(this.chosen)) this.view.signal(name, value);
    await this.view.runAsync();
    this.settle();
  }

  async resize() {
    if (this.view !== undefined && this.drawnWidth !== this.width) await this.draw();
  }

  settle() {
    const chosen = this.chosen;
    if (this.select) this.select.value = this.by === "method" ? this.key : chosen.method;
    const { percents, tasks } = this.state.names;
    const where = [
      this.select?.value,
      "percent" in chosen && percents.length > 1 && `${chosen.percent} labelled`,
      "task" in chosen && tasks.length > 1 && tasks[chosen.task + 1],
    ];
    this.chart.setAttribute(
      "aria-label",
      [this.current.spec.description, ...where.filter(Boolean)].join(" Shown: "),
    );
    // Its own words reach readers of screens through the label and the numbers beside it.
    for (const child of this.chart.children) child.setAttribute("aria-hidden", "true");
    this.place.dataset.drawn = "true";
    if (this.details.open) this.showNumbers();
  }

  showNumbers() {
    const chosen = this.chosen;
    const fields = Object.keys(this.columns);
    const rows = Object.keys(this.current.datasets)
      .flatMap((name) => this.rows(name))
      .filter((row) => fields.every((field) => field in row))
      .filter((row) =>
        Object.entries(chosen).every(([name, value]) =>
          name === "hidden" ? !value.includes(row.method) : !(name in row) || row[name] === value,
        ),
      );
    this.table ??= new DataTable(this.place.querySelector(".numbers"), this.title);
    const columns = Object.entries(this.columns).map(([field, head]) => ({
      head,
      number: rows.some((row) => typeof row[field] === "number"),
    }));
    this.table.set(columns, rows.map((row) => fields.map((field) => plainCell(row[field]))));
  }
}
