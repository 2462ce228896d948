// The key stays in this variable: it is gone with the page, and no storage and no address ever holds it.
let key = "";

class Problem extends Error {}

async function ask(path, { method = "GET", body, accept = "application/json", type = "application/json", signal } = {}) {
  const headers = { Accept: accept };
  if (key) headers.Authorization = "Bearer " + key;
  if (body !== undefined) headers["Content-Type"] = type;
  const sent = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
  let answer;
  try {
    answer = await fetch(path, { method, headers, body: sent, signal, credentials: "omit", referrerPolicy: "no-referrer" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem("The server does not answer.");
  }
  if (answer.ok) return answer;
  let told;
  try { told = (await answer.json()).error; } catch { throw new Problem("The server answered " + answer.status + "."); }
  const faults = (told.details && (told.details.faults || told.details.findings)) || [];
  const more = faults.map((f) => "\n" + [f.argument || f.field, f.message, f.fix].filter(Boolean).join(": ")).join("");
  throw new Problem([told.message, told.hint].filter(Boolean).join(" ") + more);
}

const json = async (path, options) => (await ask(path, options)).json();

function problem(error) {
  return el("p", { class: "error", role: "alert" }, data(error instanceof Problem ? error.message : "This page failed: " + error));
}

async function sparql(query, accept = "application/sparql-results+json, text/turtle;q=0.9") {
  return ask("/sparql", { method: "POST", body: query, type: "application/sparql-query", accept });
}

async function* events(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const whole = (rest + value).split("\n\n");
    rest = whole.pop();
    for (const event of whole) {
      let name = "";
      const lines = [];
      for (const line of event.split("\n")) {
        if (line.startsWith("event: ")) name = line.slice(7);
        else if (line.startsWith("data: ")) lines.push(line.slice(6));
      }
      if (name) yield [name, lines.join("\n")];
    }
  }
}
