// Draws what agents were shown, what they read, and what they did not find.
(() => {
  const { modes, skills, missed, library } = data;
  const ROWS = 40; // skills and queries that are shown before one asks for more
  const MOST = 400; // and never more chips than this
  const day = (moment) => moment.slice(0, 16).replace("T", " ");
  const sum = (name) => modes.reduce((total, mode) => total + mode[name], 0);
  const share = (part, whole) => (whole ? `${Math.round((100 * part) / whole)}%` : "–");
  const named = (mode) => mode || "(not known)";
  const table = (style, heads, rows) => h("div", { class: "scroll" }, h("table", { class: style },
    h("thead", {}, h("tr", {}, heads.map((head) => h("th", {}, head)))), h("tbody", {}, rows)));
  const parts = (id) => { const at = id.indexOf("@"); return at < 0 ? [id, ""] : [id.slice(0, at), id.slice(at + 1)]; };
  const cells = (values) => values.map((value) => h("td", {}, typeof value === "number" ? count(value) : value));
  const rest = (rows, make) => [make(rows.slice(0, ROWS)), rows.length > ROWS
    ? h("details", {}, h("summary", {}, h("span", { class: "soft small" }, `${count(rows.length - ROWS)} more`)), make(rows.slice(ROWS)))
    : null];

  const advised = sum("advised"), decided = sum("decided"), lookups = sum("lookups");
  const sums = [["turns", count(data.turns), data.sessions ? plural(data.sessions, "conversation", "conversations") : ""],
    ["with advice", count(advised), `${share(advised, decided)} of those that push decided`],
    ["followed", count(sum("followed")), `${share(sum("followed"), advised)} of those with advice`],
    ["lookups", count(lookups), `${count(sum("missed"))} found nothing that fits`]];
  if (library) {
    sums.push(["tokens saved", count(library.saved_against_everything), "against all skills in each prompt"]);
  }

  function tokens() {
    if (!library || !data.turns) return null;
    const sizes = [["skillcue", data.tokens / data.turns, "var(--c1)"],
      ["all names and descriptions", library.descriptions, "var(--c0)"],
      ["all skills with their bodies", library.everything, "var(--c0)"]];
    const most = Math.max(...sizes.map(([, size]) => size));
    return card("", "Tokens of a turn", "On average, against a prompt that holds the whole library.",
      sizes.map(([name, size, paint]) => h("div", { class: "cost" },
        h("div", {}, h("span", {}, name), h("b", {}, count(size))),
        h("div", { class: "track" }, h("i", { style: `width:${(100 * size) / most}%;background:${paint}` })))));
  }

  const MODE_COLUMNS = ["turns", "advised", "followed", "unadvised", "failed", "lookups", "missed", "loads", "tokens"];
  const SAVED = library ? [["saved_against_descriptions", "saved, names"], ["saved_against_everything", "saved, bodies"]] : [];
  const byMode = card("", "By mode", "unadvised: silent turns in which the agent read a skill by itself.",
    table("", ["mode", ...MODE_COLUMNS, ...SAVED.map(([, head]) => head)], modes.map((mode) => h("tr", {},
      h("td", {}, named(mode.mode)), cells([...MODE_COLUMNS, ...SAVED.map(([name]) => name)].map((name) => mode[name]))))));

  const widest = Math.max(1, ...skills.map((skill) => skill.loads + skill.ignored));
  const skillRows = (some) => table("skills", ["skill", "offered", "ignored", "found", "read", ""], some.map((skill) => h("tr", {},
    h("td", {}, parts(skill.skill)[0], h("small", {}, parts(skill.skill)[1])), cells([skill.offered, skill.ignored, skill.found, skill.loads]),
    h("td", { class: "bar-cell" }, h("div", { class: "split" },
      h("i", { style: `width:${(100 * skill.loads) / widest}%;background:var(--c1)` }),
      h("i", { style: `width:${(100 * skill.ignored) / widest}%;background:var(--c2)` }))))));
  const bySkill = card("", "Skills", null,
    h("div", { class: "legend" }, [["var(--c1)", "turns in which it was read"], ["var(--c2)", "offered and not read"]].map(([paint, words]) =>
      h("span", {}, h("i", { class: "dot", style: `background:${paint}` }), words))),
    rest(skills, skillRows));

  const WHY = { none: "no hit", weak: "no word of it in a hit", ignored: "no hit was read" };
  const missRows = (some) => table("misses", ["times", "why", "query"], some.map((miss) => h("tr", {},
    cells([miss.count, WHY[miss.why] || miss.why]), h("td", {}, miss.text || h("span", { class: "soft" }, "words are not stored")))));
  const misses = missed.length ? card("", "Lookups that gave nothing", "Skills that somebody should write, or describe better.",
    rest(missed, missRows)) : null;

  const never = library && library.never_read.length ? card("", "Never read",
    `${count(library.never_read.length)} of ${plural(library.skills, "skill", "skills")}.`,
    h("div", { class: "chips" }, library.never_read.slice(0, MOST).map((id) => h("span", { class: "chip", title: id }, parts(id)[0])),
      library.never_read.length > MOST ? h("span", { class: "soft small" }, `and ${count(library.never_read.length - MOST)} more`) : null)) : null;

  document.querySelector("main").replaceChildren(...[
    h("header", {}, h("h1", {}, "What agents did"),
      h("div", { class: "facts" }, h("span", {}, h("b", {}, day(data.first)), " to ", h("b", {}, day(data.last)), " UTC"),
        data.shadow ? h("span", {}, h("b", {}, count(data.shadow)), " turns in shadow") : null)),
    h("div", { class: "grid" }, h("section", { class: "card" }, h("dl", { class: "sum" }, sums.map(([name, value, more]) =>
      h("div", {}, h("dt", {}, name), h("dd", {}, value, h("small", {}, more)))))),
    [tokens(), byMode, bySkill, misses, never])]);
  document.documentElement.dataset.ready = "yes";
})();
