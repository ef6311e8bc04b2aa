"use strict";
// Figures from plain data. Text from a run is only ever set as text, never as markup.

const MOST_RANGE = 1e6; // the ratio of the ends of a logarithmic axis
const HEIGHT = 1040; // of the drawing, whose width is 1000
const SVG = "http://www.w3.org/2000/svg";
const STATES = [
  ["w", "working"], ["i", "waiting"], ["f", "finished"], ["a", "absent"], ["u", "not seen from here"],
];
const WORDS = new Map(STATES);

function element(name, text, attributes = {}) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function drawn(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// Shapes differ too, so that colours are not needed to tell states apart.
function shape(state, x, y, r) {
  switch (state) {
    case "i": return `M${x} ${y - 1.25 * r}L${x + 1.25 * r} ${y}L${x} ${y + 1.25 * r}L${x - 1.25 * r} ${y}Z`;
    case "f": return `M${x - r} ${y - r}H${x + r}V${y + r}H${x - r}Z`;
    case "a": return `M${x - 1.2 * r} ${y + r}L${x} ${y - 1.2 * r}L${x + 1.2 * r} ${y + r}Z`;
    default: return `M${x - r} ${y}A${r} ${r} 0 1 0 ${x + r} ${y}A${r} ${r} 0 1 0 ${x - r} ${y}Z`;
  }
}

function number(value, digits = 4) {
  if (value === null || value === undefined) return "–";
  if (Number.isInteger(value)) return value.toLocaleString("en");
  const size = Math.abs(value);
  return size >= 1e5 || size < 1e-3 ? value.toExponential(2) : value.toPrecision(digits);
}

function bytes(value) {
  for (const [unit, size] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]])
    if (value >= size) return `${(value / size).toFixed(1)} ${unit}`;
  return `${value} B`;
}

function duration(seconds) {
  if (seconds === null || seconds === undefined) return "";
  if (seconds < 90) return `${Math.max(0, Math.round(seconds))} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

class NetworkFigure {
  constructor(svg) { this.svg = svg; this.nodes = []; this.places = []; }

  draw(network) {
    const n = network.positions.length;
    const radius = n <= 12 ? 17 : n <= 40 ? 12 : n <= 120 ? 8 : 5.5;
    this.network = network;
    this.radius = radius;
    const margin = 45;
    this.svg.classList.toggle("many", n > 60);
    this.places = network.positions.map(([x, y]) => [
      margin + x * (1000 - 2 * margin), margin + y * (HEIGHT - 2 * margin),
    ]);
    this.svg.replaceChildren();
    const arrows = drawn("defs", {});
    const marker = drawn("marker", { id: "arrow", viewBox: "0 0 10 10", refX: 9, refY: 5,
      markerWidth: 6, markerHeight: 6, orient: "auto-start-reverse" });
    marker.append(drawn("path", { d: "M0 0L10 5L0 10Z" }));
    arrows.append(marker);
    const links = drawn("g", {});
    for (const [one, other] of network.links) {
      const [a, b] = [this.places[one], this.places[other]];
      links.append(drawn("line", { class: "link", x1: a[0], y1: a[1], x2: b[0], y2: b[1] }));
    }
    this.waits = drawn("g", {});
    const nodes = drawn("g", {});
    this.nodes = this.places.map((place, agent) => {
      const node = drawn("path", { class: "agent" });
      node.append(drawn("title", {}, network.names[agent]));
      nodes.append(node);
      return { node, state: "", title: node.firstChild };
    });
    this.svg.append(arrows, links, this.waits, nodes);
    if (n <= 40) {
      const labels = drawn("g", { "aria-hidden": "true" });
      this.places.forEach(([x, y], agent) => {
        const name = [...network.names[agent]];
        const shown = name.length > 16 ? `${name.slice(0, 15).join("")}…` : name.join("");
        const below = y < HEIGHT - 40 - radius;
        const anchor = x < 120 ? "start" : x > 880 ? "end" : "middle";
        const shift = { start: -radius, middle: 0, end: radius }[anchor];
        labels.append(drawn("text", { x: x + shift, y: below ? y + radius + 26 : y - radius - 8, "text-anchor": anchor }, shown));
      });
      this.svg.append(labels);
    }
  }

  show(members) {
    this.nodes.forEach((one, agent) => {
      const state = members?.states[agent] ?? "u";
      if (state !== one.state) {
        const own = agent === this.network.own ? " own" : "";
        one.node.setAttribute("class", `agent s-${state}${own}`);
        one.node.setAttribute("d", shape(state, ...this.places[agent], this.radius));
        one.title.textContent = `${this.network.names[agent]}: ${WORDS.get(state)}`;
        one.state = state;
      }
    });
    const waits = (members?.waits ?? []).map(([from, to]) => {
      const [a, b] = [this.places[from], this.places[to]];
      const length = Math.hypot(b[0] - a[0], b[1] - a[1]) || 1;
      const cut = (this.radius * 1.5) / length;
      return drawn("line", { class: "wait", "marker-end": "url(#arrow)",
        x1: a[0], y1: a[1], x2: b[0] - (b[0] - a[0]) * cut, y2: b[1] - (b[1] - a[1]) * cut });
    });
    this.waits.replaceChildren(...waits);
  }
}

function legend(list, doing) {
  list.replaceChildren(...STATES.filter(([, word]) => doing[word === "not seen from here" ? "unknown" : word])
    .map(([state, word]) => {
      const item = element("li");
      const icon = drawn("svg", { viewBox: "0 0 20 20", "aria-hidden": "true" });
      icon.append(drawn("path", { class: `s-${state}`, d: shape(state, 10, 10, 7) }));
      const count = doing[state === "u" ? "unknown" : word];
      item.append(icon, `${count.toLocaleString("en")} ${word}`);
      return item;
    }));
}

function fillTable(table, header, rows) {
  const head = element("tr");
  head.append(...header.map((name) => element("th", name, { scope: "col" })));
  const body = rows.map((row) => {
    const line = element("tr");
    line.append(...row.map((cell) => element("td", cell)));
    return line;
  });
  const thead = element("thead");
  const tbody = element("tbody");
  thead.append(head);
  tbody.append(...body);
  table.replaceChildren(thead, tbody);
}

// A curve figure; `lines` are [name, column, dash], and colours follow the style sheet.
class CurveFigure {
  constructor(place, lines, unit) {
    this.place = place;
    this.lines = lines;
    this.unit = unit;
  }

  draw(curves, against, word) {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const colours = [colour("--first"), colour("--second")];
    const shown = this.lines.filter(([, column]) => curves[column].some((value) => value !== null));
    const traces = shown.map(([name, column, dash], index) => {
      const known = curves[column].map((value, k) => (value === null ? -1 : k)).filter((k) => k >= 0);
      return {
        type: "scatter", name, x: known.map((k) => curves[against][k]), y: known.map((k) => curves[column][k]),
        mode: known.length < 30 ? "lines+markers" : "lines", line: { color: colours[index], width: 2, dash },
        hovertemplate: "%{y:.5g}<extra></extra>",
      };
    });
    const heights = traces.flatMap((trace) => trace.y);
    const [low, high] = heights.reduce(([a, b], y) => [Math.min(a, y), Math.max(b, y)], [Infinity, -Infinity]);
    const log = low > 0 && high / low > 20;
    const deep = log && high / low > MOST_RANGE; // as at the first meetings of agents that start alike
    const axis = { gridcolor: colour("--line"), linecolor: colour("--line"), zeroline: false, automargin: true };
    const layout = {
      margin: { l: 50, r: 8, t: 4, b: 34 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: colour("--ink"), size: 11, family: "system-ui, sans-serif" }, hovermode: "x unified",
      hoverlabel: { bgcolor: colour("--paper") }, showlegend: traces.length > 1,
      legend: { orientation: "h", y: 1.18, x: 0 },
      xaxis: { ...axis, title: { text: word, standoff: 4 }, rangemode: "tozero", exponentformat: "SI" },
      yaxis: { ...axis, title: { text: this.unit, standoff: 4 }, nticks: 5,
        type: log ? "log" : "linear", exponentformat: "power",
        ...(deep ? { range: [Math.log10(high / MOST_RANGE), Math.log10(high) + 0.3] } : { autorange: true }) },
      annotations: traces.length ? [] : [{ text: "no data yet", showarrow: false, x: 0.5, y: 0.5, xref: "paper", yref: "paper" }],
    };
    this.n_points = Math.max(0, ...traces.map((trace) => trace.x.length));
    return Plotly.react(this.place, traces, layout, { displayModeBar: false, responsive: true });
  }

  fill(table, curves, word, against) {
    const n = curves.slot.length;
    const step = Math.max(1, Math.ceil(n / 200));
    const rows = [];
    for (let k = n - 1; k >= 0; k -= step)
      rows.push([number(curves[against][k]), ...this.lines.map(([, column]) => number(curves[column][k]))]);
    fillTable(table, [word, ...this.lines.map(([name]) => name)], rows);
  }
}
