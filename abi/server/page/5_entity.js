const AROUND = 14;
const RDFS_LABEL = "http://www.w3.org/2000/01/rdf-schema#label";

async function showEntity(iri) {
  const place = byId("entity");
  show(byId("entity-title"), data(shortened(iri)));
  if (!/^[a-zA-Z][a-zA-Z0-9+.-]*:[^\s<>"{}|^`\\]*$/.test(iri)) {
    show(place, problem(new Problem("This is no IRI.")));
    return;
  }
  show(place, el("p", { class: "faint" }, "Looking …"));
  try {
    const label = (v) => "OPTIONAL { " + v + " <" + RDFS_LABEL + "> ?label }";
    const rows = async (query) => (await (await sparql(query)).json()).results.bindings;
    const [out, into] = await Promise.all([
      rows("SELECT DISTINCT ?p ?o ?label WHERE { <" + iri + "> ?p ?o " + label("?o") + " } ORDER BY ?p ?o LIMIT 300"),
      rows("SELECT DISTINCT ?s ?p ?label WHERE { ?s ?p <" + iri + "> " + label("?s") + " } ORDER BY ?p ?s LIMIT 100"),
    ]);
    if (location.hash !== "#entity=" + encodeURIComponent(iri)) return;
    if (!out.length && !into.length) {
      show(place, el("p", {}, "The graph says nothing of ", el("code", {}, data(iri)), "."));
      return;
    }
    const named = out.find((r) => r.p.value === RDFS_LABEL);
    show(byId("entity-title"), data(named ? named.o.value : shortened(iri)));
    show(place, el("p", {}, el("code", {}, data(iri))), drawing(iri, named ? named.o.value : shortened(iri), out, into),
      pairs("What it says", out, (r) => [term(r.p), r.o.type === "uri" ? iriLink(r.o.value, r.label && r.label.value) : term(r.o)]),
      into.length ? pairs("What points at it", into, (r) => [r.s.type === "uri" ? iriLink(r.s.value, r.label && r.label.value) : term(r.s), term(r.p)]) : null);
  } catch (error) {
    show(place, problem(error));
  }
}

function pairs(title, rows, of) {
  return el("div", {}, el("h3", {}, title), el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": title },
    el("table", {}, el("tbody", {}, ...rows.map((row) => el("tr", {}, ...of(row).map((part) => el("td", {}, part))))))));
}

function cut(text, most) {
  const signs = Array.from(text);
  return signs.length > most ? signs.slice(0, most - 1).join("") + "…" : text;
}

// The nearest things in a circle around this one; each leads on.
function drawing(iri, label, out, into) {
  const seen = new Map();
  const add = (value, name, property, inward) => {
    if (value.type === "uri" && value.value !== iri && !seen.has(value.value)) seen.set(value.value, { name: name ? name.value : shortened(value.value), property, inward });
  };
  for (const row of out) add(row.o, row.label, row.p.value, false);
  for (const row of into) add(row.s, row.label, row.p.value, true);
  const near = [...seen].slice(0, AROUND);
  if (!near.length) return null;
  const width = 780, height = 460, x = width / 2, y = height / 2;
  const parts = [];
  near.forEach(([other, { name, property, inward }], number) => {
    const angle = (2 * Math.PI * number) / near.length - Math.PI / 2;
    const ox = x + Math.cos(angle) * 235, oy = y + Math.sin(angle) * 180;
    const anchor = Math.abs(Math.cos(angle)) < 0.3 ? "middle" : Math.cos(angle) > 0 ? "start" : "end";
    const dx = anchor === "middle" ? 0 : anchor === "start" ? 13 : -13;
    const dy = anchor === "middle" ? (Math.sin(angle) > 0 ? 24 : -14) : 4;
    parts.push(svg("line", { x1: x, y1: y, x2: ox, y2: oy }));
    parts.push(svg("text", { class: "edge", x: (x + 1.4 * ox) / 2.4, y: (y + 1.4 * oy) / 2.4 - 3, "text-anchor": "middle" }, (inward ? "← " : "") + cut(shortened(property), 18)));
    parts.push(svg("a", { href: "#entity=" + encodeURIComponent(other), "aria-label": name + ", " + shortened(property) }, svg("title", {}, other),
      svg("circle", { cx: ox, cy: oy, r: 8 }), svg("text", { x: ox + dx, y: oy + dy, "text-anchor": anchor }, cut(name, 16))));
  });
  parts.push(svg("circle", { class: "here", cx: x, cy: y, r: 11 }), svg("text", { x, y: y + 27, "text-anchor": "middle" }, cut(label, 30)));
  return svg("svg", { viewBox: "0 0 " + width + " " + height, role: "group", "aria-label": "What is around it" }, ...parts);
}
