// The posterior of a fitted model: mean and variance of a prediction, whole and term by term.
//
// mean(x) = k(x, Z) alpha and var(x) = k(x, x) - |root' k(Z, x)|^2, k being the sum over terms of
// variance_|u| prod_{d in u} z_d with z = weight k_d - a(x) a(x') for numbers and a table for levels.
// A cell that is missing, or a level that was not seen, has z = 0 with every other cell; the variance is then
// that over the values which the cell might have had, if the model knows any.
"use strict";

const Termwise = (() => {
  const PROFILES = {
    se: (r) => Math.exp(-0.5 * r * r),
    matern12: (r) => Math.exp(-r),
    matern32: (r) => (1 + Math.sqrt(3) * r) * Math.exp(-Math.sqrt(3) * r),
    matern52: (r) => (1 + Math.sqrt(5) * r + (5 / 3) * r * r) * Math.exp(-Math.sqrt(5) * r),
  };
  const BAND = 2; // standard deviations on either side
  const FEW_GONE = 4; // missing cells, each of which is looked at by itself
  const FAR = 1e100; // beyond it every kernel is zero, and its square is still a number

  function decode(text) {
    const letters = atob(text);
    const bytes = new Uint8Array(letters.length);
    for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
    return new Float64Array(bytes.buffer);
  }

  // ---- columns: from a cell to z with every centre, and z with itself

  function flowOf(flow) {
    const steps = flow.steps.map((step) => (step.kind === "Standardise" ? shifted(step) : bent(step)));
    const units = shifted(flow.units);
    return (x) => {
      const s = units(x)[0];
      const inside = Math.min(Math.max(s, flow.low), flow.high);
      let z = inside;
      let slope = 1;
      for (const step of steps) {
        const [value, derivative] = step(z);
        z = value;
        slope *= derivative;
      }
      return Math.min(Math.max(z + slope * (s - inside), -FAR), FAR);
    };
  }

  const shifted = (step) => (x) => [(x - step.shift) / step.scale, 1 / step.scale];

  const bent = (step) => (s) => {
    const y = (s - step.location) / Math.exp(step.log_width);
    const angle = Math.exp(step.log_tail) * Math.asinh(y) + step.skew;
    const slope = (Math.cosh(angle) * Math.exp(step.log_tail - step.log_width)) / Math.hypot(1, y);
    return [Math.sinh(angle), slope];
  };

  function amplitudeOf(column, numbers, profile) {
    const mean = column.mean;
    if (mean === null) return () => 0;
    if (mean.atoms) {
      const [atoms, weights] = [numbers(mean.atoms), numbers(mean.weights)];
      return (z) => {
        const u = z / column.lengthscale;
        let total = 0;
        for (let q = 0; q < atoms.length; q++) total += weights[q] * profile(Math.abs(u - atoms[q]));
        return total;
      };
    }
    const [edges, pieces] = [numbers(mean.edges), numbers(mean.pieces)];
    const size = pieces.length / (edges.length - 1);
    return (z) => {
      const last = edges.length - 1;
      if (!(z >= edges[0] && z <= edges[last])) return 0;
      let [low, high] = [0, last - 1];
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (edges[middle] <= z) low = middle;
        else high = middle - 1;
      }
      const unit = (2 * z - edges[low] - edges[low + 1]) / (edges[low + 1] - edges[low]);
      let [here, next] = [0, 0]; // Clenshaw
      for (let k = size - 1; k > 0; k--) [here, next] = [2 * unit * here - next + pieces[low * size + k], here];
      return unit * here - next + pieces[low * size];
    };
  }

  function numberColumn(column, numbers) {
    const profile = PROFILES[column.kernel];
    const encode = flowOf(column.flow);
    const amplitude = amplitudeOf(column, numbers, profile);
    const [u, a] = [numbers(column.coordinates), numbers(column.amplitudes)];
    const at = (z, out) => {
      const [here, own] = [z / column.lengthscale, amplitude(z)];
      for (let j = 0; j < out.length; j++) {
        out[j] = Number.isNaN(u[j]) ? 0 : column.weight * profile(Math.abs(here - u[j])) - own * a[j];
      }
      return column.weight - own * own;
    };
    return { known: (cell) => typeof cell === "number" && !Number.isNaN(cell), encode, at };
  }

  function levelColumn(column, numbers) {
    const [table, codes] = [numbers(column.table), numbers(column.codes)];
    const size = column.levels.length + 1;
    const at = (cell, out) => {
      for (let j = 0; j < out.length; j++) out[j] = table[cell * size + codes[j]];
      return table[cell * size + cell];
    };
    const known = (cell) => Number.isInteger(cell) && cell >= 0 && cell < size - 1;
    return { known, encode: (cell) => cell, at };
  }

  // ---- the model

  class Model {
    constructor(model, all) {
      const numbers = (place) => all.subarray(place.at, place.at + place.size);
      Object.assign(this, { model, terms: model.terms, columns: model.columns });
      this.alpha = numbers(model.alpha);
      this.root = numbers(model.root);
      this.cells = model.columns.map((column) =>
        column.type === "number" ? numberColumn(column, numbers) : levelColumn(column, numbers),
      );
      this.possible = model.columns.map(
        ({ possible }) =>
          possible && { ...possible, values: numbers(possible.values), weights: numbers(possible.weights) },
      );
      this.gone = []; // columns whose cells are missing in the row that was read
      this.z = model.columns.map(() => new Float64Array(model.centres));
      this.own = new Float64Array(model.columns.length);
      this.k = new Float64Array(model.centres);
      this.half = new Float64Array(model.rank);
      this.e = model.variances.map(() => new Float64Array(model.centres));
    }

    // Read a row: a number or null for each column of numbers, the position of a level or null for the others.
    read(row) {
      this.gone = [];
      this.cells.forEach(({ known, encode, at }, d) => {
        if (known(row[d])) this.own[d] = at(encode(row[d]), this.z[d]);
        else this._forget(d), this.gone.push(d);
      });
    }

    _forget(d, own = this.columns[d].missing_variance) {
      this.z[d].fill(0);
      this.own[d] = own;
    }

    latent() {
      const { only } = this.model;
      const gone = only === null ? this.gone : this.gone.filter((d) => only.some((term) => term.includes(d)));
      return this._overMissing(gone, () => this._moments(this._prior()));
    }

    // Without the variance, which takes long where cells are missing.
    mean() {
      return this._moments(this._prior()).mean;
    }

    _prior() {
      return this.model.only === null ? this._allTerms() : this._someTerms();
    }

    _moments(prior) {
      let mean = 0;
      for (let j = 0; j < this.k.length; j++) mean += this.k[j] * this.alpha[j];
      return { mean, variance: this._reduced(prior) };
    }

    // The law of total variance over values that missing cells might have had: what each of them adds by itself,
    // and what is left of it where all are filled in together. As posterior/missing.py has it.
    _overMissing(gone, moments) {
      if (!gone.length || this.possible.includes(null)) return moments();
      for (const d of gone) this._forget(d, 0);
      const here = moments();
      const many = gone.length > FEW_GONE;
      let variance = many ? 0 : here.variance;
      const fill = (d, k) => (this.own[d] = this.cells[d].at(this.possible[d].values[k], this.z[d]));
      const apart = () => {
        const found = moments();
        return [found.mean - here.mean, found.variance - (many ? 0 : here.variance)];
      };
      const alone = (many ? [] : gone).map((d) => {
        const { values, weights } = this.possible[d];
        const found = Array.from(values, (_, k) => (fill(d, k), apart()));
        found.forEach(([mean, rest], k) => (variance += weights[k] * (mean * mean + rest)));
        this._forget(d, 0);
        return found;
      });
      const count = gone.length > 1 ? this.possible[gone[0]].together.length : 0;
      for (let row = 0; row < count; row++) {
        gone.forEach((d) => fill(d, this.possible[d].together[row]));
        let [mean, rest] = apart();
        alone.forEach((found, place) => {
          const [m, v] = found[this.possible[gone[place]].together[row]];
          mean -= m;
          rest -= v;
        });
        variance += (mean * mean + rest) / count;
      }
      for (const d of gone) this._forget(d);
      return { mean: here.mean, variance };
    }

    _allTerms() {
      const s = this.model.variances;
      const own = new Float64Array(s.length);
      own[0] = 1;
      this.e.forEach((e, r) => e.fill(r === 0 ? 1 : 0));
      this.z.forEach((z, d) => {
        for (let r = Math.min(s.length - 1, d + 1); r > 0; r--) {
          const [e, below] = [this.e[r], this.e[r - 1]];
          for (let j = 0; j < z.length; j++) e[j] += z[j] * below[j];
          own[r] += this.own[d] * own[r - 1];
        }
      });
      this.k.fill(0);
      this.e.forEach((e, r) => {
        for (let j = 0; j < e.length; j++) this.k[j] += s[r] * e[j];
      });
      return own.reduce((total, value, r) => total + s[r] * value, 0);
    }

    _someTerms() {
      const total = new Float64Array(this.k.length);
      let prior = 0;
      for (const term of this.model.only) {
        prior += this._term(term);
        for (let j = 0; j < total.length; j++) total[j] += this.k[j];
      }
      this.k.set(total);
      return prior;
    }

    // Write k_u(x, Z) into k; return k_u(x, x).
    _term(columns) {
      const variance = this.model.variances[columns.length];
      this.k.fill(variance);
      let prior = variance;
      for (const d of columns) {
        const z = this.z[d];
        for (let j = 0; j < z.length; j++) this.k[j] *= z[j];
        prior *= this.own[d];
      }
      return prior;
    }

    _reduced(prior) {
      const { half, k, root } = this;
      const m = k.length;
      half.fill(0);
      if (this.model.triangular) {
        for (let j = 0, at = 0; j < m; at += m - j, j++) {
          for (let c = j; c < m; c++) half[c] += root[at + c - j] * k[j];
        }
      } else {
        for (let c = 0; c < half.length; c++) {
          let total = 0;
          for (let j = 0; j < m; j++) total += root[c * m + j] * k[j];
          half[c] = total;
        }
      }
      return Math.max(half.reduce((rest, h) => rest - h * h, prior), 0);
    }

    // What each of the terms adds, in the units of the scale on which they add up.
    contributions() {
      const { scale } = this.model.scale;
      return this.terms.map((term) => {
        this._term(term.columns);
        let mean = 0;
        for (let j = 0; j < this.k.length; j++) mean += this.k[j] * this.alpha[j];
        return scale * mean;
      });
    }

    deviation(position) {
      const { columns } = this.terms[position];
      const gone = this.gone.filter((d) => columns.includes(d));
      const { variance } = this._overMissing(gone, () => this._moments(this._term(columns)));
      return this.model.scale.scale * Math.sqrt(variance);
    }

    constant() {
      const total = this.model.variances[0] * this.alpha.reduce((sum, value) => sum + value, 0);
      return this.model.scale.shift + this.model.scale.scale * total;
    }

    // The prediction for a row that was read, with its band.
    predict() {
      const { kind, noise, scale } = this.model;
      const { mean, variance } = this.latent();
      if (kind === "normal") {
        const value = scale.shift + scale.scale * mean;
        const std = scale.scale * Math.sqrt(variance + noise);
        return { value, std, low: value - BAND * std, high: value + BAND * std };
      }
      const total = variance + noise;
      const width = BAND * Math.sqrt(total);
      if (kind === "poisson") {
        const log = scale.shift + scale.scale * mean;
        const value = Math.exp(log + 0.5 * total);
        const std = Math.sqrt(value + value * value * Math.expm1(total));
        return { value, std, low: Math.exp(log - width), high: Math.exp(log + width) };
      }
      const link = kind === "logit" ? logistic : normalCdf;
      const value = kind === "logit" ? averaged(mean, total) : normalCdf(mean / Math.sqrt(1 + total));
      return { value, std: null, low: link(mean - width), high: link(mean + width) };
    }
  }

  // ---- links

  const logistic = (f) => (f >= 0 ? 1 / (1 + Math.exp(-f)) : Math.exp(f) / (1 + Math.exp(f)));

  // E logistic(f) for a normal f, on nodes close enough for its variance.
  function averaged(mean, variance) {
    const sharp = Math.sqrt(0.25 * variance);
    const halvings = Math.min(Math.max(Math.ceil(Math.log2(Math.max(sharp / 2, 1e-9))), -2), 4);
    const step = 0.2 * 2 ** -halvings;
    let [total, weights] = [0, 0];
    for (let t = -8.6; t < 8.6 + 0.5 * step; t += step) {
      const weight = Math.exp(-0.5 * t * t);
      total += weight * logistic(mean + Math.sqrt(variance) * t);
      weights += weight;
    }
    return total / weights;
  }

  function normalCdf(x) {
    const tail = 0.5 * erfc(Math.abs(x) / Math.SQRT2);
    return x < 0 ? tail : 1 - tail;
  }

  // For x >= 0: the series of erf, and beyond two the continued fraction.
  function erfc(x) {
    if (x < 2) {
      let [term, total] = [x, x];
      for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(total); n++) {
        term *= (2 * x * x) / (2 * n + 1);
        total += term;
      }
      return 1 - (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * total;
    }
    let fraction = x;
    for (let n = 120; n > 0; n--) fraction = x + (0.5 * n) / fraction;
    return Math.exp(-x * x) / (Math.sqrt(Math.PI) * fraction);
  }

  function load(data) {
    const all = decode(data.numbers);
    return data.models.map((model) => new Model(model, all));
  }

  return { load };
})();

if (typeof module !== "undefined") module.exports = Termwise;
