// Draws a conversation and what push decided on each of its turns.
(() => {
  const { title, where, skills, turns } = data;

  // A turn is silent because nothing reached the threshold, or was held back although it did.
  const state = ({ push }) => (push.decision !== "abstain" ? "offer"
    : push.confidence >= push.threshold && push.candidates.length ? "held" : "silent");
  const NEAR = 6; // candidates that are shown before one asks for more
  const PAINT = { offer: "var(--c1)", held: "var(--c2)", silent: "var(--c0)" };
  const WORDS = { offer: "offered", held: "kept back", silent: "silent" };
  const states = turns.map(state);
  const number = (value) => (Math.abs(value) < 100 ? value.toFixed(2) : count(value)).replace("-", "−");

  const values = turns.flatMap(({ push }) => [push.confidence, push.threshold]);
  const floor = Math.min(0, ...values);
  const top = Math.max(...values);
  const ceiling = top <= 1 ? 1 : top * 1.05; // most gates measure confidence from 0 to 1
  const place = (value) => 100 * Math.min(1, Math.max(0, (value - floor) / (ceiling - floor)));

  function gauge(push) {
    return h("span", { class: "gauge", role: "img",
      "aria-label": `confidence ${number(push.confidence)}, threshold ${number(push.threshold)}` },
    h("i", { style: `width:${place(push.confidence)}%` }), h("b", { style: `left:calc(${place(push.threshold)}% - 1px)` }));
  }

  // ---- the strip over all turns ------------------------------------------------------------------

  const rows = [];
  function open(at) {
    const row = rows[at];
    row.querySelector("details").open = true;
    row.scrollIntoView({ block: "start", behavior: "smooth" });
    for (const bar of document.querySelectorAll(".strip-bar")) {
      bar.classList.toggle("at", Number(bar.dataset.turn) === at);
    }
  }

  function drawStrip(width) {
    const left = 34, top = 8, height = 168, bottom = height - 22;
    const y = linear(floor, ceiling, bottom, top);
    const step = (width - left) / turns.length;
    const wide = Math.min(46, step * 0.72);
    const picture = canvas(width, height);
    const ticks = [0, 0.5, 1].map((part) => floor + part * (ceiling - floor));
    for (const tick of ticks) {
      picture.append(
        s("line", { class: "grid-line", x1: left, x2: width, y1: y(tick), y2: y(tick) }),
        text(left - 6, y(tick) + 4, number(tick).replace(/\.00$/, ""), "end"));
    }
    const every = Math.max(1, Math.ceil(22 / step));
    const line = [];
    turns.forEach((turn, at) => {
      const from = left + at * step, middle = from + step / 2, value = turn.push.confidence;
      const tall = Math.max(2.5, Math.abs(y(value) - y(0)));
      const group = s("g", { class: "strip-bar", "data-turn": at },
        s("rect", { class: "back", x: from, y: 0, width: step, height }),
        s("rect", { class: "bar", x: middle - wide / 2, y: value > 0 ? y(0) - tall : y(0), width: wide, height: tall,
          rx: Math.min(4, wide / 3), style: `--bar:${PAINT[states[at]]}`, opacity: states[at] === "silent" ? 0.55 : 1 }),
        at % every ? null : text(middle, height - 5, String(turn.number), "middle"));
      group.addEventListener("pointermove", (event) => showTip(event, [
        h("b", {}, `turn ${turn.number}: ${turn.push.skills.join(", ") || WORDS[states[at]]}`),
        clipped(turn.user), `confidence ${number(value)}, threshold ${number(turn.push.threshold)}`]));
      group.addEventListener("pointerleave", hideTip);
      group.addEventListener("click", () => open(at));
      picture.append(group);
      line.push(`${from},${y(turn.push.threshold)}`, `${from + step},${y(turn.push.threshold)}`);
    });
    picture.append(s("polyline", { class: "step", points: line.join(" "), "pointer-events": "none" }));
    return picture;
  }

  // ---- one turn ----------------------------------------------------------------------------------

  function candidate(item, most, given) {
    const share = most > 0 ? Math.max(0, (100 * item.score) / most) : 0;
    const row = h("details", { class: item.offered ? "candidate chosen-one" : "candidate" },
      h("summary", {}, h("span", { class: "rank" }, `${item.rank}`), h("span", { class: "name" }, item.name),
        h("span", { class: "right" }, h("span", { class: "meter" }, h("i", { style: `width:${share}%` })),
          h("span", { class: "score" }, number(item.score))),
        h("span", { class: "verdict-line" }, item.offered ? (given ? "loaded at once" : "offered") : item.reason)));
    row.addEventListener("toggle", () => {
      if (row.open && row.children.length === 1) {
        row.append(h("div", { class: "more" }, h("p", {}, item.description), h("p", {}, h("code", {}, item.id)),
          h("dl", {}, item.signals.map(([name, value, words]) =>
            [h("dt", {}, name), h("dd", {}, number(value)), h("dd", {}, words)]))));
      }
    });
    return row;
  }

  function inside(turn) {
    const { push } = turn, given = push.decision === "load";
    const most = Math.max(0, ...push.candidates.map((item) => item.score));
    const facts = [["confidence", `${number(push.confidence)} (threshold ${number(push.threshold)})`], ["mode", push.mode],
      ["advice", plural(push.tokens, "token", "tokens")], ["time", milliseconds(push.ms)]];
    const shown = Math.max(NEAR, 1 + push.candidates.findLastIndex((item) => item.offered));
    const near = push.candidates.slice(0, shown), far = push.candidates.slice(shown);
    const features = Object.entries(push.features || {});
    return h("div", { class: "inside" },
      h("p", { class: "why" }, push.reason),
      push.degraded ? h("p", { class: "note" }, push.degraded) : null,
      h("div", { class: "facts small" }, facts.map(([name, value]) => h("span", {}, `${name} `, h("b", {}, value)))),
      push.text ? [h("h3", {}, "What the model reads"), h("pre", { class: "advice" }, push.text)] : null,
      push.candidates.length ? [h("h3", {}, "Candidates"), near.map((item) => candidate(item, most, given)),
        far.length ? h("details", { class: "rest" }, h("summary", {}, h("span", { class: "soft small" }, `${far.length} more`)),
          far.map((item) => candidate(item, most, given))) : null] : null,
      features.length ? [h("h3", {}, "What the gate saw"), h("div", { class: "chips" },
        features.map(([name, value]) => h("span", { class: "chip" }, `${name} `, h("b", {}, number(value)))))] : null);
  }

  function row(turn, at) {
    const { push } = turn, quiet = states[at] !== "offer";
    const item = h("details", {}, h("summary", {},
      h("span", { class: "said" }, turn.user),
      h("span", { class: "outcome" },
        h("span", { class: quiet ? "what quiet" : "what" }, quiet ? WORDS[states[at]] : push.skills.join(", ")),
        gauge(push))));
    item.addEventListener("toggle", () => {
      if (item.open && item.children.length === 1) item.append(inside(turn));
    });
    const made = h("article", { class: `turn ${states[at]}`, id: `turn-${turn.number}` },
      h("span", { class: "spot", title: WORDS[states[at]] }, `${turn.number}`), item);
    rows.push(made);
    return [made, turn.replies.map((reply) => {
      const said = h("details", { class: "reply" }, h("summary", {}, h("span", { class: "role" }, reply.role),
        h("span", { class: "line" }, clipped(reply.text.replace(/\s+/g, " "), 240))));
      said.append(h("p", {}, reply.text));
      return said;
    })];
  }

  // ---- the page ----------------------------------------------------------------------------------

  const counted = (name) => states.filter((found) => found === name).length;
  const tokens = turns.reduce((sum, { push }) => sum + push.tokens, 0);
  const times = turns.map(({ push }) => push.ms).sort((a, b) => a - b);
  const sums = [["turns with advice", `${counted("offer")} of ${turns.length}`], ["tokens of advice", count(tokens)],
    ["median time", milliseconds(times[Math.ceil(times.length / 2) - 1])]];
  const legend = Object.keys(WORDS).filter(counted).map((name) =>
    h("span", {}, h("i", { class: "dot", style: `background:${PAINT[name]}` }),
      { offer: "a skill was offered", held: "reached the threshold, nothing new to say", silent: "silent" }[name]));
  const modes = [...new Set(turns.map(({ push }) => push.mode))].join(", ");
  document.querySelector("main").replaceChildren(
    h("header", {}, h("h1", {}, title),
      h("div", { class: "facts" }, [[count(skills), ` skills in ${where}`], [plural(turns.length, "user turn", "user turns"), ""],
        [modes, ""]].map(([value, name]) => h("span", {}, h("b", {}, value), name)))),
    h("div", { class: "grid" },
      h("section", { class: "card" }, h("dl", { class: "sum" }, sums.map(([name, value]) =>
        h("div", {}, h("dt", {}, name), h("dd", {}, value))))),
      card("", "When push spoke", "Confidence of each user turn; the dashed line is the threshold. Choose a turn to read it.",
        h("div", { class: "legend" }, legend), plot("strip", "confidence of each turn", drawStrip))),
    h("div", { class: "timeline", id: "timeline" }, turns.map(row)));
  document.documentElement.dataset.ready = "yes";
})();
