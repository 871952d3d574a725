"use strict";

// What is chosen, and what follows from it.

const run = read("run");
const tables = read("tables");
const tasks = run.data.tasks;
const metrics = Object.keys(run.metrics);

const state = {
  task: run.all_tasks,
  percent: run.percents[Math.floor((run.percents.length - 1) / 2)],
  metric: metrics[0],
  method: undefined,
  hidden: [],
  names: { percents: run.percents, tasks: tasks.length > 1 ? ["mean of the tasks", ...tasks] : [tasks[0]] },
  changed() {
    showResults();
    for (const figure of figures) figure.update();
  },
};

const figures = [...document.querySelectorAll("figure")]
  .filter((place) => place.querySelector(".chart"))
  .map((place) => new Figure(place, state));

function fillSelect(name, options) {
  const select = document.getElementById(name);
  select.append(...options.map(([value, text]) => element("option", { value, textContent: text })));
  select.parentElement.hidden = options.length < 2;
  select.value = state[name];
  select.addEventListener("change", () => {
    state[name] = name === "task" ? Number(select.value) : select.value;
    state.changed();
  });
}

fillSelect("task", state.names.tasks.map((text, i) => [run.all_tasks + i, text]));
fillSelect("percent", run.percents.map((text) => [text, text]));
fillSelect("metric", Object.entries(run.metrics));

const methods = document.getElementById("methods");
for (const [text, color] of Object.entries(run.methods)) {
  const button = element("button", { type: "button", textContent: text, className: "chip" });
  button.style.setProperty("--color", color);
  button.setAttribute("aria-pressed", "true");
  button.addEventListener("click", () => {
    const hide = !state.hidden.includes(text);
    state.hidden = hide ? [...state.hidden, text] : state.hidden.filter((other) => other !== text);
    button.setAttribute("aria-pressed", String(!hide));
    state.changed();
  });
  methods.append(button);
}
document.getElementById("controls").addEventListener("submit", (event) => event.preventDefault());

// The table of results: methods by shares of labels, for the task and the metric chosen.
const resultsTable = new DataTable(document.getElementById("results-table"), "Results");

function showResults() {
  const every = tables[state.metric];
  // The table of the mean comes last, and is the only one of a single task.
  const table = every[state.task === run.all_tasks ? every.length - 1 : state.task];
  const columns = [
    { head: "Method" },
    ...table.heads.map((head) => ({ head, number: true, current: head === state.percent })),
  ];
  const n = mostFrequent(table.rows.flatMap((row) => row.cells.map((cell) => cell?.[2])));
  const rows = table.rows
    .filter((row) => !state.hidden.includes(row.method))
    .map((row) => {
      const name = row.published ? `${row.method}, published` : row.method;
      const cells = [{ text: name, value: name }, ...row.cells.map((cell) => scoreCell(cell, n))];
      cells.className = row.published ? "published" : "";
      return cells;
    });
  const printed = table.rows.some((row) => row.published);
  const said = [table.legend, ...(printed ? ["Published: as the paper printed it."] : [])];
  said.push(...table.notes.map((note) => `${note}.`));
  resultsTable.set(columns, rows, `${table.title}.`, said.join(" "));
  const notes = run.notes[state.metric].map((text) => element("li", { textContent: text }));
  document.getElementById("notes").replaceChildren(...notes);
}

function scoreCell(cell, n) {
  if (!cell) return { text: "", value: null };
  const [mean, std, count, mark, note] = cell;
  const spread = std === null ? "" : ` ± ${std.toFixed(3)}`;
  const repeats = count === null || count === n ? "" : ` (n = ${count})`;
  return { text: mean.toFixed(3) + spread + repeats, value: mean, mark, title: note };
}

function mostFrequent(values) {
  const counts = new Map();
  for (const value of values) if (value) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0];
}

const UNITS = {
  method: "Method",
  labelled: "Labelled",
  repeat: "Repeat",
  score: "Score",
  n_features: "Features",
  alpha: "α",
  beta: "β",
  gamma: "γ",
  dual_gap: "Gap",
  seconds_total: "Seconds",
  note: "Remark",
};
const unitsPlace = document.getElementById("units-table");
unitsPlace.parentElement.addEventListener(
  "toggle",
  () => {
    const rows = rowsOf(read("units"));
    const used = Object.keys(UNITS).filter((name) => rows.some((row) => row[name] !== null && row[name] !== ""));
    const columns = used.map((name) => ({
      head: UNITS[name],
      number: rows.some((row) => typeof row[name] === "number"),
    }));
    const table = new DataTable(unitsPlace, "Every result");
    table.set(columns, rows.map((row) => used.map((name) => plainCell(row[name]))));
  },
  { once: true },
);

const DOWNLOADS = {
  "results.csv"() {
    const packed = read("metrics");
    const columns = Object.values(packed).map(column);
    const rows = (columns[0] ?? []).map((_, i) => columns.map((values) => values[i]));
    return toCsv(Object.keys(packed), rows);
  },
  "run.json"() {
    const results = Object.fromEntries(Object.entries(read("metrics")).map(([name, p]) => [name, column(p)]));
    const units = Object.fromEntries(Object.entries(read("units")).map(([name, p]) => [name, column(p)]));
    const { plan, data, sessions, complete, summaries, notes, failures } = run;
    return JSON.stringify(
      { plan, data, sessions, complete, summaries, notes, failures, tables, units, results },
      null,
      1,
    );
  },
};
for (const button of document.querySelectorAll("[data-download]")) {
  const name = button.dataset.download;
  button.addEventListener("click", () => download(name, DOWNLOADS[name]()));
}

// Light and dark: as the system has it until the reader says otherwise.
const theme = document.getElementById("theme");
const dark = matchMedia("(prefers-color-scheme: dark)");
const paint = (isDark) => theme.setAttribute("aria-pressed", String(isDark));
paint(dark.matches);
dark.addEventListener("change", () => {
  if (!document.documentElement.dataset.theme) paint(dark.matches);
});
theme.addEventListener("click", () => {
  const isDark = theme.getAttribute("aria-pressed") !== "true";
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
  paint(isDark);
});

let waiting;
new ResizeObserver(() => {
  clearTimeout(waiting);
  waiting = setTimeout(() => figures.forEach((figure) => figure.resize()), 120);
}).observe(document.querySelector("main"));

// One figure at a time, so that the page can be read and used meanwhile.
async function drawAll() {
  showResults();
  for (const figure of figures) {
    await figure.draw();
    await new Promise((resume) => setTimeout(resume));
  }
  document.documentElement.dataset.complete = "true";
}
drawAll();
