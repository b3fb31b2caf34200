// What if: controls for every feature, and the prediction they give, taken apart into terms.
"use strict";

(() => {
  const SHOWN = 10; // controls and terms before the rest
  const data = JSON.parse(document.getElementById("model").textContent);
  const place = document.getElementById("whatif");
  if (!place) return;

  // ---- small helpers; texts are always set as texts

  function make(name, attributes = {}, ...children) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (value === true) node.setAttribute(key, "");
      else if (value !== false && value !== null) node.setAttribute(key, value);
    }
    node.append(...children);
    return node;
  }

  function written(value) {
    if (!Number.isFinite(value)) return "not known";
    const size = Math.abs(value);
    const text =
      size !== 0 && (size >= 1e7 || size < 1e-4)
        ? value.toExponential(3)
        : value.toLocaleString("en", { maximumSignificantDigits: 4 });
    return text.replaceAll("-", "−");
  }

  const percent = (p) => `${(100 * p).toLocaleString("en", { maximumSignificantDigits: 3 })} %`;

  // ---- the controls

  const MISSING = "missing";
  const UNSEEN = "unseen";
  const columns = data.models[0].columns;
  const row = columns.map((column) => column.start);

  function control(column, d) {
    const id = `feature-${d}`;
    const label = make("label", { for: id }, column.name);
    return column.type === "number" ? numberControl(column, d, id, label) : levelControl(column, d, id, label);
  }

  function numberControl(column, d, id, label) {
    const limits = { min: column.low, max: column.high, step: column.step };
    const slider = make("input", { type: "range", id, ...limits, value: column.start });
    const typed = make("input", {
      type: "number", step: "any", value: column.start, "aria-label": `${column.name}, as a number`,
    });
    const gone = make("input", { type: "checkbox", "aria-label": `${column.name} is missing` });
    const note = make("span", { class: "note" });
    const room = 1e-9 * (column.seen[1] - column.seen[0]);
    const set = (value, from) => {
      if (from !== typed) typed.value = Number.isNaN(value) ? "" : value;
      if (from !== slider && !Number.isNaN(value)) slider.value = value;
      slider.disabled = typed.disabled = gone.checked;
      row[d] = gone.checked || Number.isNaN(value) ? null : value;
      const outside = row[d] < column.seen[0] - room || row[d] > column.seen[1] + room;
      note.textContent = gone.checked ? "" : row[d] === null ? "no number: taken as missing" : outside ? "outside of the rows seen" : "";
      answer();
    };
    slider.addEventListener("input", () => set(slider.valueAsNumber, slider));
    typed.addEventListener("input", () => set(typed.valueAsNumber, typed));
    gone.addEventListener("change", () => set(typed.valueAsNumber, gone));
    return make(
      "div", { class: "control" }, label, make("div", { class: "set" }, slider, typed),
      make("label", { class: "gone" }, gone, " missing"), note,
    );
  }

  function levelControl(column, d, id, label) {
    const choice = make("select", { id });
    column.levels.forEach((level, code) => choice.append(make("option", { value: code }, level === "" ? "(empty)" : level)));
    choice.append(make("option", { value: MISSING }, "(missing)"));
    if (column.unseen) choice.append(make("option", { value: UNSEEN }, "(another level)"));
    choice.value = String(column.start);
    choice.addEventListener("change", () => {
      row[d] = choice.value === MISSING || choice.value === UNSEEN ? null : Number(choice.value);
      answer();
    });
    return make("div", { class: "control" }, label, make("div", { class: "set" }, choice));
  }

  // ---- the answer

  const models = Termwise.load(data);
  const value = make("p", { class: "value" });
  const interval = make("p", { class: "quiet" });
  const spoken = make("div", { role: "status", "aria-live": "polite" }, value, interval);
  const body = make("tbody");
  const caption = make("caption", { class: "quiet" });
  const fall = make(
    "table", { class: "fall" }, caption,
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "term"),
      make("th", { scope: "col", class: "number" }, "adds"), make("th", { scope: "col" }, "from the constant to the prediction"))),
    body,
  );
  const which = make("select", { id: "label" });
  models.forEach((model, k) => which.append(make("option", { value: k }, model.model.label ?? "")));
  const own = make("p", { class: "quiet", id: "own" });
  let chosen = false; // by the reader; until then the most likely label is taken apart
  which.addEventListener("change", () => {
    chosen = true;
    answer();
  });

  // Of more than two labels each has a model of its own, and their probabilities need not add up to one.
  const total = (found) => found.reduce((sum, one) => sum + one.value, 0);

  function saidOfOne(found, k) {
    const share = percent(found[k].value / total(found));
    own.textContent =
      `Each label has a model of its own. By its own, the ${models[k].model.outcome} is ${percent(found[k].value)}; ` +
      `divided by the sum of those of all labels, ${percent(total(found))}, it is ${share}.`;
  }

  function said(found) {
    if (models.length > 1) {
      const order = found.map((one, k) => [one.value / total(found), k]).sort((a, b) => b[0] - a[0]);
      value.textContent = `${models[order[0][1]].model.label}: ${percent(order[0][0])}`;
      const others = order.slice(1, 6).map(([p, k]) => `${models[k].model.label} ${percent(p)}`);
      interval.textContent = `then ${others.join(", ")}`;
      if (!chosen) which.value = String(order[0][1]);
      saidOfOne(found, Number(which.value));
      return;
    }
    const [one] = found;
    const { kind, outcome, between } = models[0].model;
    const write = kind === "normal" || kind === "poisson" ? written : percent;
    value.textContent = (outcome && `${outcome}: `) + write(one.value);
    interval.textContent = `${between} is between ${write(one.low)} and ${write(one.high)} (two standard deviations to either side)`;
  }

  function bar(from, to, low, high, kind, band) {
    const at = (v) => (100 * (v - low)) / (high - low || 1);
    const mark = make("i", { class: kind });
    mark.style.left = `${at(Math.min(from, to))}%`;
    mark.style.width = `${Math.abs(at(to) - at(from))}%`;
    const step = make("div", { class: "step", "aria-hidden": "true" }, mark);
    if (band) {
      const line = make("b");
      line.style.left = `${at(to - band)}%`;
      line.style.width = `${at(to + band) - at(to - band)}%`;
      step.append(line);
    }
    return step;
  }

  function line(name, number, cell) {
    return make(
      "tr", {}, make("th", { scope: "row" }, name), make("td", { class: "number" }, number), make("td", {}, cell),
    );
  }

  function waterfall(model) {
    const terms = model.contributions();
    const order = terms.map((_, i) => i).sort((a, b) => Math.abs(terms[b]) - Math.abs(terms[a]));
    const leading = order.slice(0, SHOWN);
    // what is left to the whole, also of terms too many to be listed
    const { shift, scale } = model.model.scale;
    const whole = shift + scale * model.mean();
    const rest = whole - model.constant() - leading.reduce((sum, i) => sum + terms[i], 0);
    const steps = [];
    let total = model.constant();
    const ends = [total];
    const reach = [total];
    for (const i of leading) {
      const band = 2 * model.deviation(i);
      steps.push([model.terms[i].name, total, total + terms[i], band]);
      total += terms[i];
      ends.push(total);
      reach.push(total - band, total, total + band);
    }
    if (order.length > SHOWN) {
      steps.push(["other terms", total, total + rest, 0]);
      total += rest;
      reach.push(total);
    }
    // what is rounding beside the rest is written as zero; odds and logarithms have a unit of their own
    const unit = model.model.kind === "normal" ? 0 : 1;
    const smallest = 1e-6 * Math.max(unit, ...reach.map(Math.abs));
    const short = (v) => written(Math.abs(v) < smallest ? 0 : v);
    const added = (v) => (v < 0 || Math.abs(v) < smallest ? "" : "+") + short(v);
    const margin = 0.05 * (Math.max(...reach) - Math.min(...reach)) || 1;
    const [low, high] = [Math.min(...reach) - margin, Math.max(...reach) + margin];
    body.replaceChildren(
      line("constant", short(ends[0]), bar(low, ends[0], low, high, "whole")),
      ...steps.map(([name, from, to, band]) =>
        line(name, added(to - from), bar(from, to, low, high, to < from ? "down" : "up", band)),
      ),
      line("sum", short(total), bar(low, total, low, high, "whole")),
    );
    caption.textContent = data.scale_words;
  }

  function answer() {
    const found = models.map((model) => {
      model.read(row);
      return model.predict();
    });
    said(found);
    waterfall(models[models.length > 1 ? Number(which.value) : 0]);
    window.termwise.last = found;
  }

  // for tests and for the curious: termwise.ask([cells]) answers as the page does
  window.termwise = {
    last: null,
    ask: (cells) =>
      models.map((model) => {
        model.read(cells);
        return model.predict();
      }),
  };

  const order = data.order;
  const set = make("fieldset", {}, make("legend", {}, "Features"));
  const controls = order.map((d) => control(columns[d], d));
  set.append(...controls.slice(0, SHOWN));
  if (controls.length > SHOWN) {
    const more = make("details", {}, make("summary", {}, `${controls.length - SHOWN} more features, which matter less`));
    more.append(...controls.slice(SHOWN));
    set.append(more);
  }
  const result = make("div", { class: "answer" }, spoken);
  if (models.length > 1) result.append(make("p", {}, make("label", { for: "label" }, "Terms of "), which), own);
  result.append(make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "terms of this prediction" }, fall));
  place.replaceChildren(set, result);
  answer();
  document.documentElement.dataset.ready = "true";
})();
