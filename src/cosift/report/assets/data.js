"use strict";

// Data of the page: read from their elements, turned into rows, offered as files.

const read = (name) => {
  const element = document.getElementById(`data-${name}`);
  return element && JSON.parse(element.textContent);
};

const column = (packed) => (Array.isArray(packed) ? packed : packed.at.map((i) => packed.of[i]));

function rowsOf(packed) {
  const columns = Object.entries(packed).map(([name, values]) => [name, column(values)]);
  const n = columns.length ? columns[0][1].length : 0;
  return Array.from({ length: n }, (_, i) =>
    Object.fromEntries(columns.map(([name, values]) => [name, values[i]])),
  );
}

// What spreadsheets take for a formula gets an apostrophe before it.
const harmless = (value) =>
  typeof value === "string" && /^\s*[=+\-@|%]/.test(value) ? `'${value}` : value;

function toCsv(heads, rows) {
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : String(harmless(value));
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [heads, ...rows].map((row) => row.map(cell).join(",") + "\n").join("");
}

// Pastes into a spreadsheet as cells.
const toTabs = (rows) =>
  rows.map((row) => row.map((text) => harmless(text.replace(/\s+/g, " "))).join("\t")).join("\n");

function download(name, text) {
  const kind = name.endsWith(".json") ? "application/json" : "text/csv";
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: `${kind};charset=utf-8` }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Where a page from a file may not use the clipboard.
    const area = element("textarea", { value: text });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

// Makes an element. Text goes in as text, whatever it holds.
function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

const say = (text) => {
  document.getElementById("said").textContent = text;
};
