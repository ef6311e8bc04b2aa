"use strict";
// Follow a run: take what the server sends, and draw it when the browser has time.

const at = (id) => document.getElementById(id);
const COLUMNS = ["slot", "update", "bytes", "cost", "rmse", "held_out", "largest", "median", "seconds"];
const MAX_BARS = 8;
const IDLE = 25; // a figure is drawn again after this many times the time that drawing took

const run = { summary: { state: "waiting" }, members: null, network: null, curves: empty(), title: "" };
const network = new NetworkFigure(at("network"));
const figures = {
  cost: new CurveFigure(at("cost"), [["cost", "cost", "solid"]], "cost"),
  error: new CurveFigure(at("error"), [["RMSE on agents' own data", "rmse", "solid"], ["held-out RMSE", "held_out", "dash"]], "RMSE"),
  agreement: new CurveFigure(at("agreement"), [["largest", "largest", "solid"], ["median", "median", "dash"]], "degrees"),
};
let due = 0;
let timer = null;

function empty() { return Object.fromEntries(COLUMNS.map((name) => [name, []])); }

function take(message) {
  run.summary = message.summary;
  run.title = message.title;
  run.unreadable = message.unreadable ?? 0;
  if (message.network) {
    run.network = message.network;
    network.draw(message.network);
  }
  run.members = message.members ?? null;
  const sent = message.curves;
  if (sent) {
    for (const name of COLUMNS) {
      run.curves[name].length = Math.min(sent.from, run.curves[name].length);
      for (const value of sent[name]) run.curves[name].push(value);
    }
  } else run.curves = empty();
  showNow();
  schedule();
}

function schedule() {
  const ended = !["running", "waiting"].includes(run.summary.state);
  if (timer !== null && !ended) return;
  clearTimeout(timer);
  timer = setTimeout(async () => {
    timer = null;
    const start = performance.now();
    await drawCurves();
    fillOpenTables();
    due = performance.now() + Math.max(1000, IDLE * (performance.now() - start));
    document.documentElement.dataset.drawn = String(run.curves.slot.length);
    document.documentElement.dataset.state = run.summary.state;
  }, ended ? 0 : Math.max(0, due - performance.now()));
}

function showNow() {
  const { summary } = run;
  const share = summary.share;
  const percent = share === null || share === undefined ? "" : `${Math.floor(100 * share)} %`;
  at("title").textContent = run.title || "grassvine";
  at("about").textContent = summary.method
    ? `${summary.method}, ${summary.agents.toLocaleString("en")} agents${summary.member ? `, seen by ${summary.member}` : ""}` : "";
  const words = { waiting: "waiting for the run", killed: "killed: its process is gone" };
  const state = words[summary.state] ?? summary.state;
  if (at("state").textContent !== state) at("state").textContent = state;
  document.title = `${percent || state} · ${run.title || "grassvine"}`;
  const bar = at("share");
  if (share === null || share === undefined) bar.removeAttribute("value"); else bar.value = share;
  const left = summary.seconds_left;
  at("left").textContent = summary.state === "running"
    ? [percent, left === null ? "" : `about ${duration(left)} left (${new Date(1000 * (summary.updated + left)).toLocaleTimeString()})`].filter(Boolean).join(", ")
    : percent;
  at("reason").textContent = summary.reason ?? "";
  showFacts(summary);
  const drawable = run.network !== null && run.network.positions.length > 0;
  at("network").toggleAttribute("hidden", !drawable);
  at("no-network").hidden = drawable || run.network === null;
  at("no-network").textContent = `${(summary.agents ?? 0).toLocaleString("en")} agents are too many, or have too many links, to be drawn.`;
  if (drawable) {
    network.show(run.members);
    const told = Object.entries(summary.doing ?? {}).filter(([, count]) => count).map(([word, count]) => `${count} ${word}`);
    at("network").setAttribute("aria-label", `network of ${summary.agents} agents: ${told.join(", ")}`);
  }
  legend(at("legend"), summary.doing ?? {});
  showLinks();
  showIncidents(summary);
  if (run.network) at("update-word").textContent = run.network.of_sums ? "sums" : "updates";
  at("agreement").hidden = Boolean(run.network?.of_sums);
  at("no-agreement").hidden = !run.network?.of_sums;
}

function showFacts(summary) {
  const facts = [
    [run.network?.of_sums ? "sums" : "updates", number(summary.update)], ["cost", number(summary.cost)],
    ["RMSE", number(summary.rmse)], ["held-out RMSE", number(summary.held_out_rmse)],
    ["sent", bytes(summary.bytes ?? 0)], ["messages", number(summary.messages)],
    ["time", summary.seconds ? duration(summary.seconds) : "–"],
  ].filter(([, value]) => value !== "–");
  at("facts").replaceChildren(...(summary.method ? facts : []).map(([name, value]) => {
    const pair = element("div");
    pair.append(element("dt", name), element("dd", value));
    return pair;
  }));
}

function linkRows() {
  const sent = run.members?.link_bytes ?? [];
  if (!run.network || sent.length !== run.network.links.length) return [];
  return run.network.links.map(([one, other], k) => [`${run.network.names[one]} – ${run.network.names[other]}`, sent[k]])
    .sort((a, b) => b[1] - a[1]);
}

function showLinks() {
  const rows = linkRows();
  const most = rows.length ? rows[0][1] : 0;
  const shown = most ? rows.slice(0, MAX_BARS).filter(([, size]) => size) : [];
  at("links").replaceChildren(...shown.map(([name, size]) => {
    const row = element("div", undefined, { class: "row" });
    const track = element("span");
    const bar = element("div", undefined, { class: "bar" });
    bar.style.width = `${(100 * size) / most}%`;
    track.append(bar);
    row.append(element("span", name, { class: "name", title: name }), track, element("span", bytes(size)));
    return row;
  }));
  const more = rows.filter(([, size]) => size).length - shown.length;
  if (more > 0) at("links").append(element("p", `and ${more.toLocaleString("en")} more links with fewer bytes`, { class: "quiet" }));
  if (!shown.length) at("links").append(element("p", "Nothing is known yet.", { class: "quiet" }));
}

function showIncidents(summary) {
  const all = summary.incidents ?? [];
  at("no-incidents").hidden = all.length > 0 || run.unreadable > 0;
  const lines = all.map((one) => {
    const line = element("li");
    line.append(element("time", new Date(1000 * one.time).toLocaleTimeString()), `slot ${one.slot}: ${one.text}`);
    return line;
  }).reverse();
  if (run.unreadable) lines.push(element("li", `${run.unreadable} lines of the progress cannot be read`));
  at("incidents").replaceChildren(...lines);
}

function chosen() {
  const against = document.querySelector("input[name=against]:checked").value;
  const words = { update: run.network?.of_sums ? "sums" : "updates per agent", bytes: "bytes", seconds: "seconds" };
  return [against, words[against]];
}

async function drawCurves() {
  const [against, word] = chosen();
  for (const [name, figure] of Object.entries(figures)) {
    if (!figure.place.hidden) await figure.draw(run.curves, against, word);
  }
}

function fillOpenTables() {
  const [against, word] = chosen();
  const open = (table) => table.closest("details").open;
  for (const [name, figure] of Object.entries(figures)) {
    const table = at(`${name}-table`);
    if (open(table)) figure.fill(table, run.curves, word, against);
  }
  if (open(at("links-table"))) fillTable(at("links-table"), ["link", "bytes"], linkRows().map(([name, size]) => [name, number(size)]));
  if (open(at("agents")) && run.network && run.members) {
    const awaited = new Map();
    for (const [from, to] of run.members.waits) awaited.set(from, [...(awaited.get(from) ?? []), run.network.names[to]]);
    fillTable(at("agents"), ["agent", "does", "waits for", "updates", "cost"], run.network.names.map((name, agent) => [
      name, WORDS.get(run.members.states[agent]) ?? "", (awaited.get(agent) ?? []).join(", "),
      number(run.members.updates[agent]), number(run.members.costs[agent]),
    ]));
  }
}

function redraw() { due = 0; clearTimeout(timer); timer = null; schedule(); }

function connect() {
  const source = new EventSource("events");
  const lost = at("connection");
  source.onmessage = (event) => {
    lost.hidden = true;
    take(JSON.parse(event.data));
  };
  source.onerror = () => {
    lost.textContent = "The server of this page does not answer. To see the run again: grassvine watch RUN";
    lost.hidden = false;
    document.documentElement.dataset.connection = "lost";
    if (source.readyState === EventSource.CLOSED) setTimeout(connect, 2000); // refused, not only gone
  };
  source.onopen = () => { document.documentElement.dataset.connection = "open"; };
}

for (const input of document.querySelectorAll("input[name=against]")) input.addEventListener("change", redraw);
for (const one of document.querySelectorAll("details")) one.addEventListener("toggle", redraw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
connect();
