"use strict";
// Everything shown goes through `el`: text becomes text nodes, so nothing of the data can become markup.
const SVG = "http://www.w3.org/2000/svg";

function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  return dressed(node, attributes, children);
}

function svg(name, attributes = {}, ...children) {
  return dressed(document.createElementNS(SVG, name), attributes, children);
}

function dressed(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value === true ? "" : String(value));
  }
  node.append(...children.filter((c) => c !== null && c !== undefined).map((c) => (c instanceof Node ? c : document.createTextNode(String(c)))));
  return node;
}

function data(text) {
  return el("bdi", {}, text);
}

const byId = (id) => document.getElementById(id);

function show(place, ...children) {
  place.replaceChildren(...children.filter(Boolean));
}

// An IRI is only ever put into the address of this page, never followed as it is.
function iriLink(iri, label) {
  return el("a", { href: "#entity=" + encodeURIComponent(iri), title: iri }, data(label || shortened(iri)));
}

function shortened(iri) {
  const rest = iri.replace(/[/#]+$/, "");
  const part = rest.slice(Math.max(rest.lastIndexOf("/"), rest.lastIndexOf("#"), rest.lastIndexOf(":")) + 1) || iri;
  try { return decodeURIComponent(part); } catch { return part; }
}

const looksLikeIri = (value) => /^(https?:\/\/|urn:)[^\s<>"{}|^`\\]+$/.test(value);

function cell(value) {
  if (value === null || value === undefined) return el("td");
  if (typeof value === "object") return el("td", {}, el("code", {}, data(JSON.stringify(value))));
  const text = String(value);
  return el("td", {}, looksLikeIri(text) ? iriLink(text) : data(text));
}

function table(columns, rows, note) {
  const head = el("tr", {}, ...columns.map((c) => el("th", { scope: "col" }, data(c))));
  const body = rows.map((row) => el("tr", {}, ...columns.map((c) => cell(row[c]))));
  return el("div", {}, el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Results" },
    el("table", {}, el("thead", {}, head), el("tbody", {}, ...body))), note ? el("p", { class: "faint" }, note) : null);
}

function fold(title, ...children) {
  return el("details", {}, el("summary", {}, title), ...children);
}
