// Draws how well push speaks and is silent.
(() => {
  const { dataset, settings, modes, comparisons, turns } = data;

  // The baseline is grey, so that colour means what is compared with it.
  const others = modes.map((m) => m.mode).filter((name) => name !== settings.baseline);
  const colour = (name) =>
    name === settings.baseline && others.length ? "var(--c0)" : `var(--c${(Math.max(0, others.indexOf(name)) % 5) + 1})`;
  const dot = (name) => h("i", { class: "dot", style: `background:${colour(name)}` });
  const legend = () => h("div", { class: "legend" }, modes.map((m) => h("span", {}, dot(m.mode), m.mode)));
  const percent = (value) => (value === null ? "–" : `${Math.round(100 * value)}%`);
  const span = (share, show = percent) => (share.mean === null ? "" : `${show(share.low)}–${show(share.high)}`);
  const GROUPS = { need: "need a skill", given: "have it already", none: "need none" };

  // ---- the curve ---------------------------------------------------------------------------------

  const MOST = 0.5; // nobody wants an advisor that is wrong more often
  function drawCurve(width) {
    const left = 40, right = 12, top = 10, height = Math.min(420, Math.max(280, width * 0.5)), bottom = height - 40;
    const x = linear(0, MOST, left, width - right), y = linear(0, 1, bottom, top);
    const picture = canvas(width, height);
    for (const tick of [0, 0.2, 0.4, 0.6, 0.8, 1]) {
      picture.append(s("line", { class: "grid-line", x1: left, x2: width - right, y1: y(tick), y2: y(tick) }),
        text(left - 8, y(tick) + 4, percent(tick), "end"));
    }
    for (const tick of [0, 0.1, 0.2, 0.3, 0.4, 0.5]) {
      picture.append(s("line", { class: "grid-line", x1: x(tick), x2: x(tick), y1: top, y2: bottom }),
        text(x(tick), bottom + 17, percent(tick), "middle"));
    }
    picture.append(text((left + width - right) / 2, height - 4, "turns that need nothing and get advice", "middle"));
    for (const m of modes) {
      const points = [[0, 0]];
      for (const point of m.curve) {
        if (point.false > MOST) break;
        const last = points[points.length - 1];
        if (point.false > last[0]) points.push([point.false, last[1]]);
        points.push([point.false, point.advised]);
      }
      points.push([MOST, points[points.length - 1][1]]);
      picture.append(s("polyline", { class: "curve", stroke: colour(m.mode),
        points: points.map(([a, b]) => `${x(a)},${y(b)}`).join(" ") }));
    }
    for (const m of modes) {
      const at = m.at_setting;
      if (at.advised.mean === null || at.false_pushes.mean === null) continue;
      picture.append(s("circle", { class: "setting", cx: x(Math.min(MOST, at.false_pushes.mean)), cy: y(at.advised.mean), r: 7,
        fill: colour(m.mode), stroke: "var(--card)", "stroke-width": 2 }));
    }
    const hair = s("line", { class: "hair", y1: top, y2: bottom, visibility: "hidden" });
    picture.append(hair);
    picture.addEventListener("pointermove", (event) => {
      const at = event.clientX - picture.getBoundingClientRect().left;
      const share = Math.min(MOST, Math.max(0, ((at - left) / (width - right - left)) * MOST));
      fill(hair, { x1: x(share), x2: x(share), visibility: "visible" }, []);
      showTip(event, [h("b", {}, `at most ${(100 * share).toFixed(1)}% false pushes`), ...modes.map((m) => {
        const point = m.curve.filter((p) => p.false <= share + 1e-9).pop();
        return [dot(m.mode), m.mode, h("b", {}, point ? percent(point.advised) : "0%"),
          point ? `of needed turns advised, ${percent(point.right_first)} right first` : ""];
      })]);
    });
    picture.addEventListener("pointerleave", () => { hideTip(); hair.setAttribute("visibility", "hidden"); });
    return picture;
  }

  // ---- tables ------------------------------------------------------------------------------------

  const cell = (share, show = percent) => h("td", {}, share.mean === null ? "–" : show(share.mean),
    h("small", {}, span(share, show)));
  const table = (style, heads, rows) => h("div", { class: "scroll" }, h("table", { class: style },
    h("thead", {}, h("tr", {}, heads.map((head) => h("th", {}, head)))), h("tbody", {}, rows)));
  const named = (m) => h("td", {}, dot(m.mode), " ", m.mode);

  function figures() {
    const at = modes[0].at_false.map((point) => point.false);
    return card("", "Figures", "95% intervals, resampled over conversations. AUC: the chance that a turn that needs a skill "
      + "scores higher than one that needs none. At 5%: needed turns advised, and the right skill first among those, "
      + "where at most 5% of the others are spoken on.",
    table("figures", ["mode", "AUC", ...at.flatMap((share) => [`at ${percent(share)}`, "right first"]), "p50"],
      modes.map((m) => h("tr", {}, named(m), cell(m.auc, short),
        m.at_false.map((point) => [cell(point.advised), cell(point.right_first)]), h("td", {}, milliseconds(m.times.p50_ms))))),
    comparisons.filter((c) => c.auc).map((c) => h("p", { class: "small" }, `AUC of ${c.mode} minus ${c.baseline}: `,
      h("b", {}, signed(c.auc.mean)), `, 95% interval ${range(c.auc, signed)}`)));
  }

  function kinds() {
    const heads = ["kind", "", "turns", ...modes.map((m) => m.mode)];
    return card("", "By kind of turn", "Turns with advice; in brackets those with the right skill first. "
      + "Needed turns at hand, whose skill push had named earlier, are counted apart.",
      table("kinds", heads, modes[0].kinds.map((kind, at) => h("tr", {}, h("td", {}, kind.kind.replaceAll("_", " ")),
        h("td", { class: "soft" }, GROUPS[kind.group]), h("td", {}, count(kind.n)),
        modes.map((m) => h("td", {}, `${m.kinds[at].advised}`, kind.group === "need" ? ` (${m.kinds[at].right_first})` : "",
          m.kinds[at].at_hand ? h("small", {}, `${m.kinds[at].at_hand} at hand`) : null))))));
  }

  function given() {
    if (!dataset.given) return null;
    return card("", "Where the skill was given already", "Nothing is needed on these turns. A repeat names the skill again; "
      + "late is the first time that it is named, after it was missed; other is another skill.",
    table("given", ["mode", "repeat", "late", "other"], modes.map((m) => h("tr", {}, named(m),
      [m.at_setting.given_repeats, m.at_setting.given_late, m.at_setting.given_others].map((share) => cell(share))))));
  }

  // ---- single turns ------------------------------------------------------------------------------

  const WHAT = {
    "missed": (turn, answer) => turn.group === "need" && !answer.offered.length && !answer.at_hand.length,
    "wrong skill first": (turn, answer) => turn.group === "need" && answer.offered.length > 0 && !answer.right_first && !answer.at_hand.length,
    "at hand": (turn, answer) => turn.group === "need" && answer.at_hand.length > 0,
    "false push": (turn, answer) => turn.group === "none" && answer.offered.length > 0,
    "repeat": (turn, answer) => turn.group === "given" && answer.repeated,
    "right": (turn, answer) => (turn.group === "need" ? answer.right_first && !answer.at_hand.length : !answer.offered.length),
  };

  function about(turn) {
    return h("div", {}, h("blockquote", {}, turn.text),
      turn.right.length ? h("div", { class: "chips" }, h("span", { class: "soft small" },
        turn.group === "given" ? "given before" : "would help"), turn.right.map((name) => h("span", { class: "chip" }, name))) : null,
      h("div", { class: "columns" }, modes.map((m) => {
        const answer = turn.modes[m.mode];
        return h("div", {}, h("h3", {}, dot(m.mode), ` ${m.mode}`),
          h("div", { class: "small" }, answer.offered.length ? `offered ${answer.offered.join(", ")}` : "silent"),
          answer.at_hand.length && turn.group === "need" ? h("div", { class: "small" }, `at hand ${answer.at_hand.join(", ")}`) : null,
          h("div", { class: "soft small" }, `confidence ${short(answer.confidence)}, best candidate `
            + (answer.first ? answer.first + (answer.first_right ? " ✓" : "") : "none")));
      })),
      h("p", { class: "soft small" }, `${turn.conversation}, user turn ${turn.number}, ${turn.kind.replaceAll("_", " ")}`));
  }

  function single() {
    const choose = (label, names) => h("select", { "aria-label": label }, names.map((name) => h("option", { value: name }, name)));
    const mode = choose("mode", modes.map((m) => m.mode)), what = choose("what", Object.keys(WHAT));
    mode.value = modes[modes.length - 1].mode;
    const list = h("div", { id: "turns" }), found = h("p", { class: "soft small" });
    const show = () => {
      const rows = turns.filter((turn) => WHAT[what.value](turn, turn.modes[mode.value]));
      rows.sort((a, b) => b.modes[mode.value].confidence - a.modes[mode.value].confidence);
      found.textContent = `${plural(rows.length, "turn", "turns")}, most confident first`;
      list.replaceChildren(...rows.slice(0, 200).map((turn) => {
        const item = h("details", {}, h("summary", {}, h("span", { class: "line" }, clipped(turn.text.replace(/\s+/g, " "), 200)),
          h("span", { class: "tag" }, turn.kind.replaceAll("_", " ")), h("span", { class: "score" }, short(turn.modes[mode.value].confidence))));
        item.addEventListener("toggle", () => { if (item.open && item.children.length === 1) item.append(about(turn)); });
        return item;
      }));
    };
    for (const control of [mode, what]) control.addEventListener("change", show);
    show();
    return card("", "Turn by turn", null, h("div", { class: "controls" }, h("label", {}, "mode", mode),
      h("label", {}, "show", what)), found, list);
  }

  // ---- the page ----------------------------------------------------------------------------------

  function headline(m) {
    const at = m.at_setting;
    const values = [["needed turns advised", at.advised], ["right skill first", at.right_first], ["false pushes", at.false_pushes]];
    const held = Math.round((at.at_hand.mean || 0) * at.at_hand.n);
    return h("section", { class: modes.length > 1 ? "card half" : "card" }, h("h2", {}, dot(m.mode), ` ${m.mode}`),
      h("dl", { class: "big" }, values.map(([name, share]) => h("div", {}, h("dt", {}, name),
        h("dd", {}, percent(share.mean), h("small", {}, share.mean === null ? "no such turn" : `${span(share)}, n = ${share.n}`))))),
      held ? h("p", { class: "small soft" }, `${plural(held, "needed turn", "needed turns")} at hand, named by push `
        + "earlier in the conversation: in none of these figures.") : null);
  }

  function method() {
    const measured = data.measured;
    const rows = [["curve", "each needed skill counts as supplied where it was first needed, as the labels assume"],
      ["setting", "the dots and the figures on top: the advisor as it is, with its own advice in the conversation; "
        + Object.entries(settings.gate).map(([name, value]) => `${name} ${value}`).join(", ")],
      ["intervals", `95%, percentile bootstrap over conversations, ${count(settings.rounds)} resamples, fixed seed`],
      ["dataset", dataset.files.join(", ")], ["identity", h("code", {}, dataset.hash)], ["encoder", settings.encoder || "default"],
      ...(settings.llm ? modes.map((m) => [`${settings.llm} in ${m.mode}`, `${plural(m.cost.calls, "call", "calls")}, `
        + `${count(m.cost.input_tokens)} tokens in, ${count(m.cost.output_tokens)} out`
        + (m.cost.money === null ? "" : `, money ${m.cost.money.toFixed(4)}`)]) : []),
      ["machine", `${measured.processor || measured.system}, ${measured.cores} cores`], ["measured", measured.date]];
    return card("", "How it was measured", null, h("dl", {}, rows.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])));
  }

  const drawn = modes.some((m) => m.curve.length);
  const facts = [[count(dataset.skills), "skills"], [count(dataset.conversations), "conversations"], [count(dataset.turns), "user turns"],
    ...["need", "given", "none"].map((group) => [count(dataset[group]), GROUPS[group]]), [data.measured.date.slice(0, 10), ""]];
  document.querySelector("main").replaceChildren(
    h("header", {}, h("h1", {}, "Does push speak when it should?"),
      h("div", { class: "facts" }, facts.map(([value, name]) => h("span", {}, h("b", {}, value), ` ${name}`))),
      data.report_notes.map((note) => h("p", { class: "note" }, note))),
    h("div", { class: "grid" }, modes.map(headline),
      drawn ? card("", "Needed turns advised, against false pushes", "Further left and up is better. The dot is the setting of the gate.",
        legend(), plot("curve", "needed turns advised against false pushes", drawCurve)) : null,
      drawn ? figures() : null, given(), kinds(), single(), method()));
  document.documentElement.dataset.ready = "yes";
})();
