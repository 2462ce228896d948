let thread = null;
let running = null;
let agents = [];

async function loadAgents() {
  const chosen = byId("agent").value;
  try {
    agents = (await json("/agents")).agents;
    show(byId("agent"), ...agents.map((a) => el("option", { value: a.name, selected: a.name === chosen }, a.name)));
    aboutAgent();
  } catch (error) {
    show(byId("agent-about"), problem(error));
  }
}

function aboutAgent() {
  const agent = agents.find((a) => a.name === byId("agent").value);
  show(byId("agent-about"), agent ? data(agent.description) : null);
}

async function say(body, shown) {
  if (running) return;
  const agent = byId("agent").value;
  const steps = el("p", { class: "steps" });
  const answer = el("div", { class: "answer" });
  const more = el("div");
  const turn = el("article", { class: "turn" }, el("p", { class: "said" }, data(shown)), steps, answer, more);
  byId("turns").append(turn);
  running = new AbortController();
  byId("stop").hidden = false;
  byId("send").disabled = true;
  let streamed = "";
  try {
    const path = "/agents/" + encodeURIComponent(agent) + "/stream-completion";
    const reply = await ask(path, { method: "POST", body: { ...body, thread_id: thread }, accept: "text/event-stream", signal: running.signal });
    for await (const [name, told] of events(reply)) {
      if (name === "token") {
        streamed += told;
        show(answer, data(streamed));
      } else if (name === "tool_usage") show(steps, "calls ", data(told.slice(0, 200)));
      else if (name === "agent_routing") show(steps, "to ", data(told.slice(0, 200)));
      else if (name === "error") throw new Problem(JSON.parse(told).error.message);
      else if (name === "result") finish(JSON.parse(told), answer, steps, more);
    }
  } catch (error) {
    show(more, error.name === "AbortError" ? el("p", { class: "faint" }, "Stopped.") : problem(error));
  } finally {
    running = null;
    byId("stop").hidden = true;
    byId("send").disabled = false;
    byId("prompt").focus();
    turn.scrollIntoView({ block: "end" });
  }
}

function finish(result, answer, steps, more) {
  thread = result.thread_id;
  show(steps, data(result.agent), result.grounded === true ? " · from the graph" : result.grounded === false ? " · not from the graph" : "");
  show(answer, data(result.answer));
  show(more, ...choices(result), ...result.tool_calls.map(toolCall), why(result));
}

function choices(result) {
  const needs = result.needs || {};
  if (needs.approval) {
    const decide = (yes) => () => say({ approve: yes }, yes ? "Yes, do it." : "No.");
    return [el("p", { class: "bar" }, el("button", { type: "button", onclick: decide(true) }, "Approve"), el("button", { type: "button", onclick: decide(false) }, "Refuse"))];
  }
  const list = Array.isArray(needs.choices) ? needs.choices : [];
  const texts = list.map((c) => (typeof c === "string" ? c : c.label || c.name || c.iri || "")).filter(Boolean);
  return texts.length ? [el("p", { class: "bar" }, ...texts.map((t) => el("button", { type: "button", onclick: () => say({ prompt: t }, t) }, data(t))))] : [];
}

function toolCall(call) {
  const rows = Array.isArray(call.rows) ? call.rows : [];
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const count = call.row_count === null || call.row_count === undefined ? "" : " · " + call.row_count + " rows";
  return fold(el("span", {}, "Tool ", el("code", {}, data(call.tool)), count),
    el("pre", {}, data(JSON.stringify(call.arguments, null, 1))),
    call.query ? el("pre", {}, data(call.query)) : null,
    call.query ? el("p", {}, el("button", { type: "button", onclick: () => openSparql(call.query) }, "Open in SPARQL")) : null,
    rows.length ? table(columns, rows.slice(0, 200), call.truncated || rows.length > 200 ? "There are more rows." : "") : null);
}

function why(result) {
  const routing = result.routing || {};
  const candidates = (routing.candidates || []).map((c) => ({ intent: c.intent, target: c.target, type: c.type, score: typeof c.score === "number" ? c.score.toFixed(3) : c.score }));
  return fold("Why this answer",
    el("p", {}, "Step: ", data(routing.step || ""), routing.chosen ? el("span", {}, ", chosen: ", data(typeof routing.chosen === "object" ? JSON.stringify(routing.chosen) : routing.chosen)) : null),
    candidates.length ? table(["intent", "target", "type", "score"], candidates) : null,
    result.citations.length ? el("p", {}, "It cites: ", ...result.citations.flatMap((c) => [iriLink(c.iri, c.label), " "])) : null,
    el("p", { class: "faint" }, "Trace: ", el("code", {}, data(result.turn))));
}

function startChat() {
  const prompt = byId("prompt");
  byId("agent").addEventListener("change", () => { thread = null; aboutAgent(); });
  byId("new-thread").addEventListener("click", () => { thread = null; show(byId("turns")); prompt.focus(); });
  byId("stop").addEventListener("click", () => running && running.abort());
  byId("chat-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = prompt.value.trim();
    if (!text || running) return;
    prompt.value = "";
    say({ prompt: text, write: Boolean(key) && mayWrite() }, text);
  });
  prompt.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      byId("chat-form").requestSubmit();
    }
  });
}

// Only agents that can propose changes are asked for them; what they propose still waits for a yes.
function mayWrite() {
  const agent = agents.find((a) => a.name === byId("agent").value);
  return Boolean(agent && agent.may_write);
}
