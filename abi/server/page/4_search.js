function startSearch() {
  byId("search-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const place = byId("hits");
    show(place, el("p", { class: "faint" }, "Searching …"));
    try {
      const body = { query: byId("query").value, kind: byId("kind").value || null, limit: 20 };
      const { results } = await json("/catalog/find", { method: "POST", body });
      show(place, ...(results.length ? results.map(hit) : [el("p", {}, "Nothing was found.")]));
    } catch (error) {
      show(place, problem(error));
    }
  });
}

function hit(found) {
  return el("div", { class: "hit" },
    el("p", {}, iriLink(found.iri, found.name), " ", el("small", {}, data(found.kind), " · ", found.score.toFixed(2))),
    el("p", {}, data(found.description || "")),
    found.source ? el("p", { class: "faint" }, el("code", {}, data(found.source))) : null);
}

function openSparql(query) {
  byId("sparql-text").value = query;
  location.hash = "#sparql";
  byId("sparql-form").requestSubmit();
}

function startSparql() {
  byId("sparql-text").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      byId("sparql-form").requestSubmit();
    }
  });
  byId("sparql-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const place = byId("rows");
    show(place, el("p", { class: "faint" }, "Asking …"));
    try {
      const started = performance.now();
      const answer = await sparql(byId("sparql-text").value);
      const cut = answer.headers.get("X-Abi-Truncated") === "true";
      const type = answer.headers.get("Content-Type") || "";
      if (!type.includes("json")) {
        show(place, el("pre", {}, data((await answer.text()).slice(0, 500000))));
        return;
      }
      const told = await answer.json();
      const seconds = ((performance.now() - started) / 1000).toFixed(2) + " s";
      if ("boolean" in told) {
        show(place, el("p", {}, String(told.boolean) + " · " + seconds));
        return;
      }
      const found = told.results.bindings;
      const note = found.length + " rows" + (cut ? ", cut off" : "") + (found.length > 1000 ? ", the first 1000 shown" : "") + " · " + seconds;
      show(place, termTable(told.head.vars, found.slice(0, 1000), note));
    } catch (error) {
      show(place, problem(error));
    }
  });
}

function term(value) {
  if (!value) return "";
  if (value.type === "uri") return iriLink(value.value);
  const more = value["xml:lang"] ? "@" + value["xml:lang"] : "";
  return el("span", {}, data(value.value), more ? el("small", {}, more) : null);
}

function termTable(names, rows, note) {
  const head = el("tr", {}, ...names.map((n) => el("th", { scope: "col" }, data(n))));
  const body = rows.map((row) => el("tr", {}, ...names.map((n) => el("td", {}, term(row[n])))));
  return el("div", {}, el("p", { class: "faint" }, note), el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Results" },
    el("table", {}, el("thead", {}, head), el("tbody", {}, ...body))));
}
