"use strict";
// What the pages of skillcue share. Text of the data only ever becomes text nodes.
const data = JSON.parse(document.getElementById("data").textContent);
const tip = document.getElementById("tip");

// ---- elements ------------------------------------------------------------------------------

const SVG = "http://www.w3.org/2000/svg";
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}
const h = (tag, attributes = {}, ...children) =>
  fill(document.createElement(tag), attributes, children);
const s = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);

const short = (value, digits = 3) => {
  const text = Math.abs(value).toFixed(digits).replace(/^0\./, ".");
  return value < 0 && Number(text) !== 0 ? "−" + text : text;
};
const signed = (value) => (Number(value.toFixed(3)) > 0 ? "+" : "") + short(value);
const range = (item, show = short) => `${show(item.low)} to ${show(item.high)}`;
const count = (value) => Math.round(value).toLocaleString("en-US");
const plural = (number, one, many) => `${count(number)} ${number === 1 ? one : many}`;
const milliseconds = (value) => (value < 10 ? value.toFixed(1) : count(value)) + " ms";

const clipped = (words, most = 120) => (words.length > most ? words.slice(0, most - 1) + "…" : words);

function card(size, title, words, ...children) {
  return h("section", { class: `card ${size}` },
    h("h2", {}, title), words ? h("p", { class: "soft small" }, words) : null, children);
}

// ---- tooltip -------------------------------------------------------------------------------

function showTip(event, lines) {
  tip.replaceChildren(...lines.map((line) => h("div", {}, ...[line].flat())));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = event.clientX + 14 + box.width > innerWidth - 8
    ? event.clientX - box.width - 14 : event.clientX + 14;
  const top = Math.min(event.clientY + 14, innerHeight - box.height - 8);
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${Math.max(8, top)}px`;
}
const hideTip = () => { tip.hidden = true; };
addEventListener("scroll", hideTip, { passive: true });

// ---- plots: redrawn at the width they have, so that text keeps its size -----------------------

const watch = new ResizeObserver((entries) => {
  for (const entry of entries) entry.target.redraw(Math.floor(entry.contentRect.width));
});
function plot(name, label, draw) {
  const holder = h("div", { class: "plot", "data-plot": name });
  let drawn = 0;
  holder.redraw = (width, force) => {
    if (width < 40 || (width === drawn && !force)) return;
    drawn = width;
    const picture = draw(width);
    picture.setAttribute("role", "img");
    picture.setAttribute("aria-label", label);
    holder.replaceChildren(picture);
  };
  holder.again = () => holder.redraw(drawn, true);
  watch.observe(holder);
  return holder;
}
const canvas = (width, height) => s("svg", { width, height, viewBox: `0 0 ${width} ${height}` });
const linear = (low, high, from, to) => (value) =>
  from + ((value - low) / (high - low || 1)) * (to - from);
const text = (x, y, words, anchor = "start", style = null) =>
  s("text", { x, y, "text-anchor": anchor, class: style }, words);
