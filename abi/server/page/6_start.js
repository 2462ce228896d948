const VIEWS = ["chat", "search", "sparql", "entity"];

function view() {
  const [name, value] = location.hash.slice(1).split("=", 2);
  const chosen = VIEWS.includes(name) ? name : "chat";
  for (const other of VIEWS) byId("view-" + other).hidden = other !== chosen;
  for (const link of document.querySelectorAll("nav a[data-view]")) {
    if (link.dataset.view === chosen) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (chosen === "entity") {
    let iri = "";
    try { iri = decodeURIComponent(value || ""); } catch { /* it is shown as no IRI */ }
    showEntity(iri);
  }
}

byId("skip").addEventListener("click", (event) => { event.preventDefault(); byId("main").focus(); });
byId("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  key = byId("key").value.trim();
  byId("key").value = "";
  byId("key-state").textContent = key ? "in use until this page is closed" : "none";
  loadAgents();
});
window.addEventListener("hashchange", view);
startChat();
startSearch();
startSparql();
view();
loadAgents();
