// Draws the report from the JSON in the page.
(() => {
  const report = data;
  const { dataset, settings, modes, measures, comparisons, queries } = report;
  const k = settings.k;

  // The baseline is grey, so that colour means what is compared with it.
  const others = modes.map((m) => m.mode).filter((name) => name !== settings.baseline);
  const colour = (name) =>
    name === settings.baseline ? "var(--c0)" : `var(--c${(others.indexOf(name) % 5) + 1})`;
  const dash = (name) => (others.indexOf(name) >= 5 ? "6 4" : null);
  const dot = (name) => h("i", { class: "dot", style: `background:${colour(name)}` });
  const legend = () =>
    h("div", { class: "legend" }, modes.map((m) => h("span", {}, dot(m.mode), m.mode)));

  const BADGES = { higher: "higher", lower: "lower" };
  const badge = (verdict) =>
    h("span", { class: `badge ${BADGES[verdict] || "flat"}` }, verdict);

  // ---- plots ------------------------------------------------------------------------------------

  /** A range of shares around `values`, in tenths, at least three of them, within 0 and 1. */
  function shares(values) {
    let low = Math.max(0, Math.floor((Math.min(...values) - 0.02) * 10) / 10);
    const high = Math.min(1, Math.ceil((Math.max(...values) + 0.02) * 10) / 10);
    low = Math.max(0, Math.min(low, high - 0.3));
    const step = high - low > 0.5 + 1e-9 ? 0.2 : 0.1;
    const ticks = [];
    for (let tick = Math.ceil(low / step - 1e-9) * step; tick < high + 1e-9; tick += step) {
      ticks.push(tick);
    }
    return { low, high, ticks };
  }
  const share = (value) => (value > 0.999 ? "1" : value < 0.001 ? "0" : short(value, 1));

  function drawMeasures(width) {
    const room = Math.max(18, modes.length * 13 + 12);
    const left = 74, right = 14, top = 4, height = top + measures.length * room + 24;
    const every = modes.flatMap((m) => measures.flatMap((n) => [m.means[n].low, m.means[n].high]));
    const axis = shares(every);
    const x = linear(axis.low, axis.high, left, width - right);
    const picture = canvas(width, height);
    for (const tick of axis.ticks) {
      picture.append(
        s("line", { class: "grid-line", x1: x(tick), x2: x(tick), y1: top, y2: height - 22 }),
        text(x(tick), height - 6, share(tick), "middle"));
    }
    measures.forEach((name, row) => {
      const middle = top + row * room + room / 2;
      picture.append(text(0, middle + 4, name, "start", "strong"));
      if (row) {
        const y = top + row * room;
        picture.append(s("line", { class: "axis", x1: 0, x2: width, y1: y, y2: y }));
      }
      modes.forEach((m, at) => {
        const y = middle + (at - (modes.length - 1) / 2) * 13;
        const found = m.means[name];
        const mark = s("g", { class: "mark" },
          s("line", { x1: x(found.low), x2: x(found.high), y1: y, y2: y, stroke: colour(m.mode),
            "stroke-width": 3, "stroke-linecap": "round", opacity: 0.4 }),
          s("circle", { cx: x(found.mean), cy: y, r: 5, fill: colour(m.mode) }),
          s("rect", { x: left, y: y - 6.5, width: width - left, height: 13, fill: "transparent" }));
        mark.addEventListener("pointermove", (event) => showTip(event, [
          [dot(m.mode), h("b", {}, m.mode)],
          `${name} ${short(found.mean)}, 95% interval ${range(found)}`]));
        mark.addEventListener("pointerleave", hideTip);
        picture.append(mark);
      });
    });
    return picture;
  }

  function drawRecall(width) {
    const left = 34, right = 12, top = 10, height = 300, bottom = height - 40;
    const depth = settings.depth;
    const axis = shares(modes.flatMap((m) => m.recall));
    const x = linear(0, Math.log(depth), left, width - right);
    const y = linear(axis.low, axis.high, bottom, top);
    const picture = canvas(width, height);
    for (const tick of axis.ticks) {
      picture.append(
        s("line", { class: "grid-line", x1: left, x2: width - right, y1: y(tick), y2: y(tick) }),
        text(left - 8, y(tick) + 4, share(tick), "end"));
    }
    for (const rank of [1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000].filter((n) => n <= depth)) {
      picture.append(
        s("line", { class: rank === k ? "hair" : "grid-line", x1: x(Math.log(rank)),
          x2: x(Math.log(rank)), y1: top, y2: bottom }),
        text(x(Math.log(rank)), bottom + 17, rank, "middle", rank === k ? "strong" : null));
    }
    picture.append(text((left + width - right) / 2, height - 4, "hits shown", "middle"));
    for (const m of modes) {
      const points = m.recall.map((value, at) => `${x(Math.log(at + 1)).toFixed(1)},${y(value).toFixed(1)}`);
      picture.append(s("polyline", { class: "curve", points: points.join(" "), fill: "none",
        stroke: colour(m.mode), "stroke-width": 2.5, "stroke-linejoin": "round",
        "stroke-dasharray": dash(m.mode) }));
    }
    const hair = s("line", { class: "hair", y1: top, y2: bottom, visibility: "hidden" });
    const marks = modes.map((m) =>
      s("circle", { r: 4.5, fill: colour(m.mode), stroke: "var(--card)", "stroke-width": 2, visibility: "hidden" }));
    picture.append(hair, ...marks);
    picture.addEventListener("pointermove", (event) => {
      const at = event.clientX - picture.getBoundingClientRect().left;
      const rank = Math.min(depth, Math.max(1,
        Math.round(Math.exp(((at - left) / (width - right - left)) * Math.log(depth)))));
      const place = x(Math.log(rank));
      fill(hair, { x1: place, x2: place, visibility: "visible" }, []);
      modes.forEach((m, n) => fill(marks[n],
        { cx: place, cy: y(m.recall[rank - 1]), visibility: "visible" }, []));
      showTip(event, [h("b", {}, `R@${rank}`),
        ...modes.map((m) => [dot(m.mode), m.mode, h("b", {}, short(m.recall[rank - 1]))])]);
    });
    picture.addEventListener("pointerleave", () => {
      hideTip();
      for (const mark of [hair, ...marks]) mark.setAttribute("visibility", "hidden");
    });
    return picture;
  }

  function drawLatency(width) {
    const name = `R@${k}`;
    const left = 34, right = 20, top = 10, height = 300, bottom = height - 40;
    const axis = shares(modes.flatMap((m) => [m.means[name].low, m.means[name].high]));
    const times = modes.flatMap((m) => [m.times.p50_ms, m.times.p95_ms]).map((t) => Math.max(t, 0.01));
    const steps = [];
    for (let power = -2; power < 6; power += 1) steps.push(...[1, 2, 5].map((n) => n * 10 ** power));
    const low = steps.filter((n) => n < Math.min(...times) * 0.9).pop() || 0.01;
    const high = steps.find((n) => n > Math.max(...times) * 1.1) || Math.max(...times) * 2;
    const scale = linear(Math.log(low), Math.log(high), left, width - right);
    const x = (value) => scale(Math.log(Math.max(value, 0.01)));
    const y = linear(axis.low, axis.high, bottom, top);
    const picture = canvas(width, height);
    for (const tick of axis.ticks) {
      picture.append(
        s("line", { class: "grid-line", x1: left, x2: width - right, y1: y(tick), y2: y(tick) }),
        text(left - 8, y(tick) + 4, share(tick), "end"));
    }
    const inside = steps.filter((n) => n >= low * 0.999 && n <= high * 1.001);
    const ticks = inside.length * 52 > width - left
      ? inside.filter((n) => Math.abs(Math.log10(n) - Math.round(Math.log10(n))) < 1e-6) : inside;
    for (const tick of ticks) {
      picture.append(
        s("line", { class: "grid-line", x1: x(tick), x2: x(tick), y1: top, y2: bottom }),
        text(x(tick), bottom + 17, String(Number(tick.toPrecision(1))), "middle"));
    }
    picture.append(text((left + width - right) / 2, height - 4, "milliseconds a query (log)", "middle"));
    const spots = modes.map((m) => [x(m.times.p50_ms), y(m.means[name].mean)]);
    const taken = spots.map(([at, up]) => [at - 9, up - 9, at + 9, up + 9]);
    const clear = (box) => box[0] > left && box[2] < width && box[1] > 0 && box[3] < bottom
      && taken.every((other) => box[2] < other[0] || box[0] > other[2] || box[3] < other[1] || box[1] > other[3]);
    /** Where the name of a mode covers no dot and no other name; the first of a few places. */
    function labelled(mode, [at, up]) {
      const long = mode.length * 7.5;
      const places = [-10, 18, -26, 34, -42, 50].flatMap((down) => [[12, down], [-12 - long, down]]);
      const boxes = places.map(([side, down]) => [at + side, up + down - 11, at + side + long, up + down + 4]);
      const box = boxes.find(clear) || boxes[0];
      taken.push(box);
      return text(box[0], box[3] - 4, mode, "start", "strong halo");
    }
    const labels = [];
    for (const m of modes) {
      const found = m.means[name], at = x(m.times.p50_ms), up = y(found.mean);
      labels.push(labelled(m.mode, [at, up]));
      const mark = s("g", { class: "mark" },
        s("line", { x1: at, x2: at, y1: y(found.low), y2: y(found.high), stroke: colour(m.mode),
          "stroke-width": 3, "stroke-linecap": "round", opacity: 0.35 }),
        s("line", { x1: at, x2: x(m.times.p95_ms), y1: up, y2: up, stroke: colour(m.mode),
          "stroke-width": 2, "stroke-dasharray": "2 3" }),
        s("circle", { cx: at, cy: up, r: 7, fill: colour(m.mode), stroke: "var(--card)", "stroke-width": 2 }),
        s("circle", { cx: at, cy: up, r: 18, fill: "transparent" }));
      mark.addEventListener("pointermove", (event) => showTip(event, [
        [dot(m.mode), h("b", {}, m.mode)], `${name} ${short(found.mean)}, 95% interval ${range(found)}`,
        `half of all queries within ${milliseconds(m.times.p50_ms)}`,
        `95% within ${milliseconds(m.times.p95_ms)}`]));
      mark.addEventListener("pointerleave", hideTip);
      picture.append(mark);
    }
    picture.append(...labels);
    return picture;
  }

  // ---- one query -------------------------------------------------------------------------------

  const skillName = (skill) => skill.name;
  function aboutQuery(query) {
    const right = new Set(query.gold.map((skill) => skill.id));
    const best = (id) => Math.min(...modes.map((m) => query.modes[m.mode].gold_ranks[id] || Infinity));
    return [
      h("blockquote", {}, query.text),
      h("div", { class: "chips" }, h("span", { class: "soft small" }, "answered by"),
        query.gold.map((skill) => h("span", { class: best(skill.id) <= k ? "chip found" : "chip", title: skill.id },
          skillName(skill)))),
      h("div", { class: "columns" }, modes.map((m) => {
        const answer = query.modes[m.mode];
        const ranks = query.gold.map((skill) => answer.gold_ranks[skill.id]).filter((rank) => rank);
        const first = ranks.length ? `first right one at rank ${Math.min(...ranks)}`
          : `no right one in the first ${settings.depth}`;
        return h("div", {},
          h("h3", {}, dot(m.mode), ` ${m.mode}`),
          h("div", { class: "soft small" }, first),
          answer.top.length
            ? h("ol", {}, answer.top.map((hit) =>
                h("li", { class: right.has(hit.id) ? "right" : null, title: hit.id }, skillName(hit))))
            : h("p", { class: "soft small" }, "found nothing"));
      })),
      h("p", { class: "soft small" }, `query ${query.id}` + (query.echo === null ? ""
        : `; ${Math.round(query.echo * 100)}% of its words stand in its skills`)),
    ];
  }

  // ---- per-query differences -------------------------------------------------------------------

  function differences() {
    const pair = h("select", { "aria-label": "modes" }, comparisons.map((c, at) =>
      h("option", { value: at }, `${c.mode} − ${c.baseline}`)));
    const measure = h("select", { "aria-label": "measure" }, measures.map((name) =>
      h("option", { value: name, selected: name === "nDCG@10" ? "" : null }, name)));
    const words = h("p", { class: "soft small" });
    const detail = h("div", { class: "query", "aria-live": "polite" });
    let rows = [], chosen = -1, select = () => {};

    function sort() {
      const { mode, baseline } = comparisons[pair.value];
      const name = measure.value;
      rows = queries.map((query) => ({ query,
        by: query.modes[mode].scores[name] - query.modes[baseline].scores[name] }));
      rows.sort((a, b) => b.by - a.by || (a.query.id < b.query.id ? -1 : 1));
      const better = rows.filter((row) => row.by > 0).length;
      const worse = rows.filter((row) => row.by < 0).length;
      words.replaceChildren(`${name} of ${mode} minus that of ${baseline}: better on `,
        h("b", {}, count(better)), ", worse on ", h("b", {}, count(worse)), ", equal on ",
        h("b", {}, count(rows.length - better - worse)),
        ". A bar is a query; choose one to see what was found.");
      chosen = -1;
      detail.replaceChildren();
    }

    const picture = plot("differences", "difference of each query, sorted", (width) => {
      const left = 34, top = 8, height = 230, bottom = height - 8;
      const most = Math.max(...rows.map((row) => row.by), 0.05);
      const least = Math.min(...rows.map((row) => row.by), -0.05);
      const y = linear(least, most, bottom, top);
      const step = (width - left) / rows.length;
      const drawn = canvas(width, height);
      for (const tick of [least, 0, most]) {
        drawn.append(
          s("line", { class: tick ? "grid-line" : "axis", x1: left, x2: width, y1: y(tick), y2: y(tick) }),
          text(left - 6, y(tick) + 4, tick ? rounded(tick) : "0", "end"));
      }
      const { mode, baseline } = comparisons[pair.value];
      const bars = rows.map((row, at) => {
        const long = Math.max(2.5, Math.abs(y(row.by) - y(0)));
        return s("rect", { class: "bar", x: left + at * step + Math.min(1, step * 0.1),
          y: row.by > 0 ? y(0) - long : row.by < 0 ? y(0) : y(0) - 1.25, width: Math.max(0.6, step - Math.min(2, step * 0.2)),
          height: row.by ? long : 2.5, rx: Math.min(2, step / 4), style: `--bar:${colour(row.by > 0 ? mode : baseline)}`,
          opacity: row.by ? 1 : 0.45 });
      });
      drawn.append(...bars);
      const index = (event) => Math.min(rows.length - 1, Math.max(0,
        Math.floor((event.clientX - drawn.getBoundingClientRect().left - left) / step)));
      select = (at) => {
        if (bars[chosen]) bars[chosen].classList.remove("chosen");
        chosen = at;
        bars[at].classList.add("chosen");
        detail.replaceChildren(...aboutQuery(rows[at].query));
      };
      if (bars[chosen]) bars[chosen].classList.add("chosen");
      drawn.append(s("rect", { class: "catch", x: left, y: 0, width: width - left, height, fill: "transparent", style: "cursor:pointer" }));
      drawn.setAttribute("tabindex", "0");
      drawn.addEventListener("pointermove", (event) => {
        const row = rows[index(event)];
        showTip(event, [h("b", {}, clipped(row.query.text)),
          `${measure.value} ${signed(row.by)}`,
          ...[mode, baseline].map((name) => {
            const top1 = row.query.modes[name].top[0];
            return [dot(name), `${name} put first: ${top1 ? skillName(top1) : "nothing"}`];
          })]);
      });
      drawn.addEventListener("pointerleave", hideTip);
      drawn.addEventListener("click", (event) => select(index(event)));
      drawn.addEventListener("keydown", (event) => {
        const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!move) return;
        event.preventDefault();
        select(Math.min(rows.length - 1, Math.max(0, chosen + move)));
      });
      return drawn;
    });
    for (const control of [pair, measure]) {
      control.addEventListener("change", () => { sort(); picture.again(); });
    }
    sort();
    return card("", "Query by query", null, words,
      h("div", { class: "controls" },
        comparisons.length > 1 ? h("label", {}, "modes", pair) : null, h("label", {}, "measure", measure)),
      picture, detail);
  }
  const rounded = (value) => (value > 0 ? "+" : "−") + (Math.abs(value) > 0.995 ? "1" : short(Math.abs(value), 2));

  // ---- tables and lists ------------------------------------------------------------------------

  function verdict(comparison) {
    const name = `R@${k}`, found = comparison.measures[name];
    const said = found.verdict === "higher" ? `${comparison.mode} finds more than ${comparison.baseline}`
      : found.verdict === "lower" ? `${comparison.mode} finds less than ${comparison.baseline}`
      : found.verdict === "too few queries" ? "Too few queries to compare"
      : `No difference shown between ${comparison.mode} and ${comparison.baseline}`;
    const size = comparisons.length === 1 ? "" : comparisons.length % 3 ? "half" : "third";
    const shown = measures.filter((n) => BADGES[comparison.measures[n].verdict] && n !== name);
    return h("section", { class: `card ${size} verdict` },
      h("div", { class: `value ${BADGES[found.verdict] || "flat"}` }, signed(found.mean)),
      h("div", { class: "words" }, h("b", {}, said),
        h("div", { class: "soft small" }, `${name} of ${comparison.mode} minus ${comparison.baseline} over `
          + `${plural(found.n, "query", "queries")}, 95% interval ${range(found, signed)}`),
        shown.length ? h("div", { class: "chips" }, shown.map((n) => h("span",
          { class: `badge ${BADGES[comparison.measures[n].verdict]}` },
          `${n} ${comparison.measures[n].verdict}, ${signed(comparison.measures[n].mean)}`))) : null));
  }

  function table() {
    const shown = (mode, name) => comparisons.some((c) => c.mode === mode && c.measures[name].verdict === "higher");
    return h("div", { class: "scroll" }, h("table", { id: "measures" },
      h("thead", {}, h("tr", {}, h("th", {}, "mode"), measures.map((n) => h("th", {}, n)), h("th", {}, "p50"),
        h("th", {}, "p95"))),
      h("tbody", {}, modes.map((m) => h("tr", {}, h("td", {}, dot(m.mode), " ", m.mode),
        measures.map((n) => h("td", {},
          h("span", { class: shown(m.mode, n) ? "best" : null }, short(m.means[n].mean)),
          h("small", {}, `${short(m.means[n].low, 2)}–${short(m.means[n].high, 2)}`))),
        h("td", {}, milliseconds(m.times.p50_ms)), h("td", {}, milliseconds(m.times.p95_ms)))))));
  }

  function comparisonTable(comparison) {
    return [h("h3", {}, `${comparison.mode} against ${comparison.baseline}`),
      h("div", { class: "scroll" }, h("table", { class: "comparison" },
        h("thead", {}, h("tr", {}, ["measure", "verdict", "difference", "95% interval", "better", "worse", "McNemar p"]
          .map((head) => h("th", {}, head)))),
        h("tbody", {}, measures.map((name) => {
          const item = comparison.measures[name];
          return h("tr", {}, h("td", {}, name), h("td", {}, badge(item.verdict)), h("td", {}, signed(item.mean)),
            h("td", {}, range(item, signed)),
            h("td", {}, count(item.better)), h("td", {}, count(item.worse)),
            h("td", {}, item.p === null ? "" : short(item.p)));
        }))))];
  }

  function bars(rows, most) {
    return rows.map(([label, value, shown, paint]) => h("div", { class: "cost" },
      h("div", {}, h("span", {}, label), h("b", {}, shown)),
      h("div", { class: "track" }, h("i", { style: `width:${(100 * value) / (most || 1)}%;background:${paint}` }))));
  }

  function costs() {
    const all = report.load_all;
    const rows = modes.map((m) => [`first ${k} of ${m.mode}`, m.tokens.mean, count(m.tokens.mean), colour(m.mode)]);
    rows.push(["all descriptions", all.descriptions, count(all.descriptions), "var(--soft)"]);
    if (all.bodies) rows.push(["all descriptions and bodies", all.tokens, count(all.tokens), "var(--soft)"]);
    return card("half", "What the model has to read", "Tokens in the prompt of one task, estimated.",
      bars(rows, all.tokens));
  }

  function modelCosts() {
    const size = (cost) => cost.input_tokens + cost.output_tokens;
    const rows = modes.map((m) => [`${m.mode}, ${plural(m.cost.calls, "call", "calls")}`, size(m.cost),
      `${count(m.cost.input_tokens)} in, ${count(m.cost.output_tokens)} out, `
        + (m.cost.money === null ? "money unknown" : `money ${m.cost.money.toFixed(4)}`), colour(m.mode)]);
    return card("half", "What the language model took", `Tokens of ${settings.llm} for all queries together.`,
      bars(rows, Math.max(...modes.map((m) => size(m.cost)))));
  }

  function echo() {
    const rows = report.by_echo.flatMap((half) => [
      h("h3", {}, `${half.name}: ${Math.round(half.low * 100)} to ${Math.round(half.high * 100)}%, `
        + plural(half.n, "query", "queries")),
      bars(modes.map((m) => [m.mode, half.means[m.mode], short(half.means[m.mode]), colour(m.mode)]), 1)]);
    const words = dataset.echo === null ? "" : `${Math.round(dataset.echo * 100)}% of the words of a query stand in `
      + `what is indexed of its skills, ${Math.round(dataset.echo_heads * 100)}% in their names and descriptions. `
      + "Counting words finds what repeats them; people who never saw a skill seldom do.";
    return card("half", `R@${k} by echo`, words, rows);
  }

  function gaps() {
    const rewards = report.gaps.flatMap((g) => [g.mean_found, g.mean_missed]).filter((v) => v !== null);
    const most = Math.max(...rewards, 0);
    return card("", "Helpfulness gap",
      `Mean reward of runs whose query had a right skill in the first ${k}, minus that of the others. `
        + "Queries whose skill is found may be the easier ones: the gap is a hint, no proof.",
      report.gaps.map((gap) => [
        h("h3", {}, dot(gap.mode), ` ${gap.mode}: `, gap.interval
          ? `${signed(gap.interval.mean)}, 95% interval ${range(gap.interval, signed)}; ` : "", gap.words),
        bars([["found", gap.mean_found, gap.found], ["not found", gap.mean_missed, gap.missed]]
          .filter(([, mean]) => mean !== null)
          .map(([label, mean, runs]) => [`${label}, ${plural(runs, "run", "runs")}`, Math.max(0, mean), short(mean),
            colour(gap.mode)]), most)]));
  }

  function hardest() {
    const mean = (query) => modes.reduce((sum, m) => sum + query.modes[m.mode].scores["nDCG@10"], 0) / modes.length;
    const rows = queries.map((query) => [mean(query), query]).sort((a, b) => a[0] - b[0] || (a[1].id < b[1].id ? -1 : 1));
    return card("", "The hardest queries", "Lowest nDCG@10 over all modes. Open one to see what was found.",
      rows.slice(0, 12).map(([value, query]) => {
        const item = h("details", {}, h("summary", {}, h("span", { class: "line" }, clipped(query.text, 200)),
          h("span", { class: "score" }, short(value))));
        item.addEventListener("toggle", () => {
          if (item.open && item.children.length === 1) item.append(...aboutQuery(query));
        });
        return item;
      }));
  }

  function method() {
    const measured = report.measured;
    const versions = Object.entries(measured.versions).map(([name, version]) => `${name} ${version}`);
    const rows = [
      ["R@k", "share of the right skills among the first k"], ["hit@k", "one of them is among the first k"],
      ["nDCG@10", "gain of the first ten, discounted by rank, as a share of the best possible"],
      ["MRR", `1 divided by the rank of the first right skill, 0 beyond rank ${settings.depth}`],
      ["intervals", `95%, percentile bootstrap over queries, ${count(settings.rounds)} resamples, fixed seed; `
        + "differences are paired"],
      ["verdicts", "a difference counts where its interval leaves 0 out and, for hit@k, McNemar's exact p is below "
        + `.05; none is claimed from fewer than ${settings.fewest_queries} queries. `
        + "Every measure and pair is a test of its own: with many of them, one in twenty shows by chance"],
      ["times", "one search after the other, encoding included, nothing cached"],
      ["dataset", `${dataset.name}: ${Object.entries(dataset.files).map(([role, file]) => `${role} ${file}`).join(", ")}`],
      ["asked", `field ${dataset.field}` + (dataset.context ? `, with ${dataset.context} as second view` : "")],
      ["identity", h("code", {}, dataset.hash)],
      ["encoder", settings.encoder || "default"],
      ...(settings.llm ? [["language model", settings.llm]] : []),
      ...(settings.cross_encoder ? [["cross-encoder", settings.cross_encoder]] : []), ["bodies", settings.bodies || "default"],
      ...Object.entries(settings.mode_settings).map(([mode, given]) => [`settings of ${mode}`,
        Object.entries(given).map(([name, value]) => `${name} = ${value}`).join(", ")]),
      ["machine", `${measured.processor || measured.system}, ${measured.cores} cores, ${measured.system}`],
      ["versions", `Python ${measured.python}, ${versions.join(", ")}`], ["measured", measured.date],
    ];
    return card("", "How it was measured", null,
      h("dl", {}, rows.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])));
  }

  function notes() {
    const lines = [...dataset.notes, ...report.report_notes];
    if (dataset.unjudged.length) {
      lines.push(`${plural(dataset.unjudged.length, "query", "queries")} without a judgment, in no mean: `
        + clipped(dataset.unjudged.join(", "), 200));
    }
    for (const m of modes) {
      if (m.without_hits.length) {
        lines.push(`${m.mode} found nothing for ${plural(m.without_hits.length, "query", "queries")}, which count as 0.`);
      }
      const degraded = Object.values(m.degraded);
      if (degraded.length) {
        lines.push(`${m.mode} answered ${plural(degraded.length, "query", "queries")} by a cheaper path: ${degraded[0]}`);
      }
    }
    return lines.map((line) => h("p", { class: "note" }, line));
  }

  // ---- the page --------------------------------------------------------------------------------

  const title = modes.length > 1 ? "Which mode finds the right skill?" : `How well ${modes[0].mode} finds the right skill`;
  const facts = [[count(dataset.skills), "skills"], [count(dataset.queries), "queries"],
    [dataset.name, "dataset"], [report.measured.date.slice(0, 10), ""]];
  document.querySelector("main").replaceChildren(
    h("header", {}, h("h1", {}, title),
      h("div", { class: "facts" }, facts.map(([value, name]) => h("span", {}, h("b", {}, value), ` ${name}`))),
      notes()),
    h("div", { class: "grid" },
      comparisons.map(verdict),
      card("", "Measures", "Means with their 95% intervals; further right is better."
        + (comparisons.length ? ` Bold: shown to be higher than ${settings.baseline}.` : ""), legend(),
        plot("measures", "means and intervals of all measures", drawMeasures), table()),
      card("half", "Recall by depth", "Share of the right skills among the first hits.", legend(),
        plot("recall", "recall curves", drawRecall)),
      card("half", "Quality against latency",
        `R@${k} and time of a query; dotted lines reach to the 95th percentile. Top left is best.`, legend(),
        plot("latency", "quality against latency", drawLatency)),
      comparisons.length ? differences() : null,
      costs(), settings.llm ? modelCosts() : null, report.by_echo.length ? echo() : null,
      report.gaps ? gaps() : null,
      hardest(),
      comparisons.length ? card("", "Differences and tests", "Paired, query by query.", comparisons.map(comparisonTable)) : null,
      method()));
  document.documentElement.dataset.ready = "yes";
})();
