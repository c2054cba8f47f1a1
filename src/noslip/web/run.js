/* A run of a mechanism without Python: drives the module that noslip wrote.
 *
 *     const run = await Run.of(plan);            plan: what noslip wrote beside the module
 *     const result = run.simulate({parameters: {mass: 2}, start: {speed: 1}, inputs: {torque: 0.1}});
 *     result.column("disk.tilt");                 Float64Array, a number for each of result.times
 *
 * The loop, the functions of the mechanism and the completion of starts are in the module; here
 * numbers are put into its memory and taken out of it.
 */

const FINISHED = 0, EVENT = 1, CANCELLED = 2, SINGULAR = 4;
const MOST_ROUNDS = 4096;
const RESIDUAL = 1e-8;
/* As in Python (kinematics/basis.py): what is lost, how much worse speeds may be that stay, and how
 * much better those must be that are exchanged. */
const RANK_LOST = 1e-8, NEARLY = 0.5, BETTER = 1.01;

/** The bytes of a text in base64. */
export function bytesOf(text) {
  return Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
}

/** A number with three digits. */
const rounded = x => String(Number(x.toPrecision(3)));

/** What a run or its start was refused for, in words. */
export class RunError extends Error {}

export class Run {
  /** A run of a plan with its module, or of a plan and the bytes of a module. */
  static async of(plan, code = null) {
    const module = await WebAssembly.compile(code ?? bytesOf(plan.module));
    const pages = Math.ceil((plan.memory + 65536) / 65536);
    const given = {
      __linear_memory: new WebAssembly.Memory({initial: pages}),
      __stack_pointer: new WebAssembly.Global({value: "i32", mutable: true}, plan.stack),
    };
    for (const each of WebAssembly.Module.imports(module))
      if (each.kind === "table")
        given[each.name] = new WebAssembly.Table({initial: 16, element: "anyfunc"});
    const instance = await WebAssembly.instantiate(module, {env: given});
    return new Run(plan, instance.exports, given.__linear_memory);
  }

  constructor(plan, functions, memory) {
    this.plan = plan;
    this._functions = functions;
    this._bytes = new Uint8Array(memory.buffer);
    this._view = new DataView(memory.buffer);
    this._image = bytesOf(plan.image);
    this._words = plan.bases.map(basis => bytesOf(basis.words));
    this._basis = this._depth = 0;
    this._numbers = {};
    for (const [name, [at, count, kind]] of Object.entries(plan.vectors)) {
      const Kind = kind === "i64" ? BigInt64Array : Float64Array;
      this._numbers[name] = new Kind(memory.buffer, at, count);
    }
    this._bytes.set(this._image, plan.begin);
    this._given = plan.vectors.given[0];
    this._scratch = plan.vectors.scratch[0];
    this.times = this._numbers.sample_times.slice(0, plan.samples);
  }

  /** Names of the numbers that a run keeps, and their units. */
  get columns() { return this.plan.columns; }
  get units() { return this.plan.units; }

  /** Simulate from the start to the end; what is not given is as in Python. */
  simulate({parameters = {}, start = {}, inputs = {}, numbers = {}} = {}) {
    this._begin(parameters, inputs, numbers);
    this._complete(start);
    const done = this._integrate();
    return new Result(this, done);
  }

  /** Begin a motion that goes on step by step. */
  begin(values = {}) {
    const {parameters = {}, start = {}, inputs = {}, numbers = {}} = values;
    this._begin(parameters, inputs, numbers);
    this._complete(start);
    const n = this._numbers;
    this._moving = {values, state: n.states.slice(), time: this.plan.time, size: n.steps_left[0],
      basis: 0, depth: 0};
    return this.step(1e-12);
  }

  /** Go on for some seconds, with inputs that stay until the next step. */
  step(seconds, inputs = {}) {
    const {_numbers: n, _moving: moving, plan} = this;
    if (!(seconds > 0)) throw new RunError(`a step takes ${seconds} s, and must be positive`);
    if (!moving) throw new RunError("the motion has not begun: call begin() first");
    const {parameters = {}, numbers = {}} = moving.values;
    this._begin(parameters, {...moving.values.inputs, ...inputs}, numbers);
    const end = moving.time + seconds;
    n.states.set(moving.state);
    n.times[0] = moving.time;
    n.steps_left[0] = moving.size;
    n.sample_times[0] = end;
    n.sample_times[1] = Infinity;
    for (const {at} of plan.bases) {
      this._view.setFloat64(at + 8 * plan.places.end_time, end, true);
      this._view.setBigInt64(at + 8 * plan.places.num_samples, 1n, true);
    }
    this._enter(moving.basis, moving.depth);
    const done = this._integrate();
    moving.state = n.states.slice();
    moving.time = done.time;
    moving.size = n.steps_left[0];
    moving.basis = this._basis; moving.depth = this._depth;
    const row = n.final.slice(0, plan.columns.length);
    return {time: done.time, row, sentence: this._sentence(done)};
  }

  _begin(parameters, inputs, numbers) {
    const {plan, _numbers: n} = this;
    this._bytes.set(this._image, plan.begin);
    for (const name of ["samples", "final", "event_times"]) n[name].fill(NaN);
    n.work.fill(0);
    this._put(plan.parameters, n.parameters, parameters, 0, "parameter");
    this._put(plan.numbers, n.parameters, numbers, plan.parameters.length, "number");
    if (plan.isDriven && Object.keys(inputs).length)
      throw new RunError(`input '${Object.keys(inputs)[0]}' follows from a law`);
    this._put(plan.inputs, n.base, inputs, 0, "input");
    plan.bases.forEach(({at, suffix, heads}, k) => {
      this._bytes.set(this._words[k], at);
      const own = at + 8 * plan.ownParameters;
      for (let i = 0; i < n.parameters.length; i++)
        this._view.setFloat64(own + 8 * i, n.parameters[i], true);
      for (const [name, place] of Object.entries(heads)) {
        const s = this._scratch;
        this._functions[name + suffix](s, s, s, plan.vectors.parameters[0], at + 8 * place);
      }
    });
    this._enter(0, 0);
    this.changes = 0;
  }

  /** Let a basis integrate, with the bounds of its measures after so many segments in it. */
  _enter(basis, depth) {
    const {floors} = this.plan.bases[basis];
    this._basis = basis; this._depth = depth;
    this._numbers.floors.set(floors[Math.min(depth, floors.length - 1)]);
  }

  _put(names, vector, values, first, word) {
    for (const [name, value] of Object.entries(values)) {
      const k = names.indexOf(name);
      if (k < 0) throw new RunError(`there is no ${word} '${name}'`);
      if (!Number.isFinite(value)) throw new RunError(`${word} '${name}' is ${value}`);
      vector[first + k] = value;
    }
  }

  _call(name, x, u, p, count, at = this.plan.time) {
    const time = this._scratch, out = this._scratch + 64;
    this._view.setFloat64(time, at, true);
    this._functions[name](time, x, u, p, out);
    return new Float64Array(this._bytes.buffer, out, count).slice();
  }

  /** The state that keeps what is given and satisfies the constraints. */
  _complete(start) {
    const {plan, _numbers: n} = this, own = plan.completion;
    const values = {...plan.start};
    if (own.texts.length) {
      const now = this._call("texts", plan.vectors.states[0], plan.vectors.base[0],
        plan.vectors.parameters[0], own.texts.length);
      own.texts.forEach((name, k) => { values[name] = now[k]; });
    }
    for (const [name, value] of Object.entries(start)) {
      if (!(name in values)) throw new RunError(`there is no start value '${name}'`);
      if (!Number.isFinite(value)) throw new RunError(`start value '${name}' is ${value}`);
      values[name] = value;
    }
    const x = n.states, count = plan.states.length;
    const [at] = plan.vectors.states, [base] = plan.vectors.base;
    const row = plan.vectors.parameters[0], given = n.given;
    given.set(n.parameters.subarray(0, plan.parameters.length));
    own.given.forEach((name, k) => { given[plan.parameters.length + k] = values[name]; });
    for (const name of own.states) x[plan.states.indexOf(name)] = values[name];
    const has = name => own.has.includes(name);
    if (has("orient")) x.set(this._call("orient", at, base, this._given, count));
    if (has("close"))
      for (let k = 0; k < own.steps; k++) x.set(this._call("close", at, base, this._given, count));
    this._driveStart(at, base, row);
    const q = plan.numCoordinates, size = plan.numSpeeds;
    const eta = this._call("speeds", at, this._driven, this._given, size);
    x.set(eta, q);
    this._check(x, at, row, values);
  }

  /** Inputs at the start, where expressions give them. */
  _driveStart(at, base, row) { this._driven = this._inputsAt(0, this.plan.time); }

  /** Where inputs of a basis are, at a time and the state of the run. */
  _inputsAt(basis, time) {
    const {plan, _numbers: n} = this, name = `inputs${plan.bases[basis].suffix}`;
    const count = plan.inputs.length, [base] = plan.vectors.base;
    if (!count || (!(name in this._functions) && !plan.numTables)) return base;
    n.driven.set(n.base.subarray(0, count));
    for (let k = 0; k < plan.numTables; k++) n.driven[Number(n.targets[k])] = this._table(k, time);
    const [driven] = plan.vectors.driven;
    if (name in this._functions)
      n.driven.set(this._call(name, plan.vectors.states[0], driven, plan.vectors.parameters[0], count, time));
    return driven;
  }

  /** The value of a table at a time. */
  _table(k, time) {
    const n = this._numbers, first = Number(n.first_segments[k]), end = Number(n.end_segments[k]);
    let i = first;
    while (i + 1 < end && n.segment_starts[i + 1] <= time) i++;
    const s = time - n.segment_starts[i], c = n.coefficients.subarray(4 * i, 4 * i + 4);
    return ((c[0] * s + c[1]) * s + c[2]) * s + c[3];
  }

  _check(x, at, row, values) {
    const {plan} = this, own = plan.completion, rows = own.rows.length;
    const found = this._call("check", at, this._driven, row, rows + own.checked.length);
    let size = 1;
    for (const each of x) size = Math.max(size, Math.abs(each));
    const bad = [...own.holonomic, ...own.rows.keys()].find(k => !Number.isFinite(found[k]));
    if (bad !== undefined)
      throw new RunError(`row '${own.rows[bad]}' is not defined at this start, as for a wheel `
        + "that lies flat");
    if (!x.every(Number.isFinite) || !found.every(Number.isFinite))
      throw new RunError("the mechanism is not defined at this start");
    let worst = -1, most = RESIDUAL * size;
    for (let k = 0; k < rows; k++)
      if (Math.abs(found[k]) > most) { worst = k; most = Math.abs(found[k]); }
    if (worst >= 0)
      throw new RunError(`the start breaks row '${own.rows[worst]}' by ${rounded(found[worst])}, and `
        + "the coordinates that are not given cannot correct it");
    own.checked.forEach((name, k) => {
      const miss = found[rows + k] - values[name];
      const turns = Math.abs(miss - 2 * Math.PI * Math.round(miss / (2 * Math.PI)));
      if (Math.min(Math.abs(miss), turns) > RESIDUAL * size)
        throw new RunError(`the given ${own.states.includes(name) ? "values" : "speeds"} contradict each `
          + `other or the constraints: '${name}' is missed by ${rounded(miss)}`);
    });
  }

  _integrate() {
    const {plan, _numbers: n} = this, [work] = plan.vectors.work;
    do {
      const {at, suffix} = plan.bases[this._basis];
      do {
        n.num_paused[0] = 0n;
        this._view.setBigInt64(at + 8 * plan.places.pause, BigInt(MOST_ROUNDS), true);
        this._functions[`integrate${suffix}`](work, 0n, 1n);
      } while (n.num_paused[0]);
    } while (this._change());
    return {code: Number(n.codes[0]), which: Number(n.which[0]), time: n.times[0], missing: this._missing};
  }

  /** Go on in other independent speeds where these no longer determine the motion, as Python does. */
  _change() {
    const {plan, _numbers: n} = this, here = plan.bases[this._basis], {rule} = here;
    this._missing = "";
    const which = Number(n.which[0]), measure = here.measures[which];
    if (Number(n.codes[0]) !== SINGULAR || measure.kind !== "basis" || !rule) return false;
    const time = n.times[0], [at] = plan.vectors.states, [row] = plan.vectors.parameters;
    const width = rule.numSpeeds, table = this._call(`matrix${here.suffix}`, at, plan.vectors.base[0], row,
      rule.rows.length * width, time);
    if (!table.every(Number.isFinite)) return false;
    const choice = regularBasis(table, rule);
    if (choice.rank < RANK_LOST) return false;
    const own = [...Array(width).keys()].filter(k => !choice.dependent.includes(k));
    const same = (a, b) => a.length === b.length && a.every((x, k) => x === b[k]);
    const next = plan.bases.findIndex(b => same(b.speeds, own) && same(b.kept, choice.rows));
    if (next === this._basis) {
      const bound = here.floors[Math.min(this._depth, here.floors.length - 1)][which];
      if (bound <= measure.limit) return false;
      this._enter(next, this._depth + 1);
    } else if (next < 0) {
      const names = own.map(k => this.plan.speeds[k]).join(", ");
      this._missing = `it would go on in the independent speeds ${names}, which are not in this module`;
      return false;
    } else {
      const {numCoordinates: q, numSpeeds: size} = plan;
      const v = this._call(`tree${here.suffix}`, at, this._inputsAt(this._basis, time), row, width, time);
      plan.bases[next].speeds.forEach((k, i) => { n.states[q + i] = v[k]; });
      this._enter(next, 0);
      this.changes++;
    }
    n.codes[0] = BigInt(CANCELLED);
    n.counter[0] = 0n; n.work.fill(0);
    return true;
  }

  /** In Python's words, why a run ended; empty if it reached its end. */
  _sentence({code, which, time, missing}) {
    if (code === FINISHED) return "";
    const {plan} = this, at = ` (t = ${Number(time.toPrecision(9))} s)`, words = plan.endings[code];
    const begin = words.slice(0, -1);
    if (code === EVENT) return `${begin} '${plan.events[which]}'.${at}`;
    if (code === SINGULAR)
      return `${begin}: ${missing || plan.bases[this._basis].measures[which].sentence}.${at}`;
    return words + at;
  }
}

/** Least singular value of columns of a matrix, given by its columns: by rotations of Jacobi. */
function leastSingular(columns) {
  const a = columns.map(c => Float64Array.from(c)), n = a.length;
  if (!n) return Infinity;
  const dot = (x, y) => { let s = 0; for (let i = 0; i < x.length; i++) s += x[i] * y[i]; return s; };
  for (let sweep = 0, turned = true; turned && sweep < 60; sweep++) {
    turned = false;
    for (let p = 0; p < n; p++) for (let q = p + 1; q < n; q++) {
      const x = a[p], y = a[q], c = dot(x, y), xx = dot(x, x), yy = dot(y, y);
      if (Math.abs(c) <= 1e-16 * Math.sqrt(xx * yy) || c === 0) continue;
      turned = true;
      const z = (yy - xx) / (2 * c), t = (z < 0 ? -1 : 1) / (Math.abs(z) + Math.hypot(1, z));
      const cos = 1 / Math.hypot(1, t), sin = cos * t;
      for (let i = 0; i < x.length; i++) {
        const u = x[i];
        x[i] = cos * u - sin * y[i]; y[i] = sin * u + cos * y[i];
      }
    }
  }
  return Math.min(...a.map(c => Math.sqrt(dot(c, c))));
}

/** So many columns that are best conditioned, with the given ones among them, and how well they are. */
function bestColumns(columns, count, given = []) {
  const rest = columns.map(c => Float64Array.from(c)), chosen = [...given];
  const dot = (x, y) => { let s = 0; for (let i = 0; i < x.length; i++) s += x[i] * y[i]; return s; };
  const take = k => {
    const size = Math.sqrt(dot(rest[k], rest[k]));
    if (!size) return;
    const unit = rest[k].map(x => x / size);
    for (let pass = 0; pass < 2; pass++)
      for (const c of rest) { const d = dot(unit, c); for (let i = 0; i < c.length; i++) c[i] -= d * unit[i]; }
  };
  for (const k of given) take(k);
  while (chosen.length < count) {
    let best = -1, most = -1;
    rest.forEach((c, k) => { const d = dot(c, c); if (!chosen.includes(k) && d > most) { best = k; most = d; } });
    chosen.push(best); take(best);
  }
  const value = some => leastSingular(some.map(k => columns[k])), ordered = some => [...some].sort((a, b) => a - b);
  let best = ordered(chosen), least = value(best);
  for (;;) {
    let next = null, found = -1;
    for (const out of best.filter(k => !given.includes(k)))
      for (let into = 0; into < columns.length; into++) {
        if (best.includes(into)) continue;
        const some = ordered(best.map(k => k === out ? into : k)), size = value(some);
        if (size > found) { next = some; found = size; }
      }
    if (!(found > BETTER * least)) return {columns: best, least};
    best = next; least = found;
  }
}

/** Rows and dependent speeds that determine the motion best where the matrix of the rule is this. */
export function regularBasis(table, rule) {
  const {rows, kept, dependent, holonomic, numSpeeds: width} = rule;
  const column = k => rows.map((_, i) => table[i * width + k]);
  const columns = [...Array(width).keys()].map(column);
  const found = bestColumns(columns, kept.length);
  let {columns: best, least: rank} = found;
  if (rows.length === kept.length) return {rows: kept, dependent: best, rank};
  if (dependent) {
    const now = leastSingular(dependent.map(k => columns[k]));
    if (now > NEARLY * rank) { best = dependent; rank = now; }
  }
  if (rule.sameRows) return {rows: kept, dependent: best, rank};
  const turned = rows.map((_, i) => best.map(k => table[i * width + k]));
  const first = [...rows.keys()].filter(i => holonomic.includes(rows[i]));
  const count = kept.filter(k => holonomic.includes(k)).length;
  const held = count ? bestColumns(first.map(i => turned[i]), count).columns.map(k => first[k]) : [];
  const all = bestColumns(turned, kept.length, held).columns;
  return {rows: all.map(i => rows[i]), dependent: best, rank};
}

/** A run that was made: samples up to where it ended. */
export class Result {
  constructor(run, done) {
    const n = run._numbers, plan = run.plan;
    let count = 0;
    while (count < plan.samples && !(run.times[count] > done.time * (1 + 1e-15))) count++;
    this.plan = plan;
    this.columns = plan.columns;
    this.times = run.times.slice(0, count);
    this.table = n.samples.slice(0, count * plan.columns.length);
    this.final = n.final.slice(0, plan.columns.length);
    this.end = done.time;
    this.isFinished = done.code === FINISHED;
    this.sentence = run._sentence(done);
    this.steps = Number(n.num_steps[0]);
    this.rejections = Number(n.num_rejections[0]);
    this.evaluations = Number(n.num_evaluations[0]);
    this.changes = run.changes;
  }

  /** A column of the samples. */
  column(name) {
    const k = this.columns.indexOf(name), width = this.columns.length;
    if (k < 0) throw new RunError(`there is no column '${name}'`);
    const found = new Float64Array(this.times.length);
    for (let i = 0; i < found.length; i++) found[i] = this.table[i * width + k];
    return found;
  }
}

/** What a page is told of a run with values: its samples, or why there are none. */
export function answer(run, values) {
  const began = performance.now();
  try {
    const found = run.simulate(values);
    const {times, table, end, sentence, steps, isFinished, changes} = found;
    return {times, table, end, sentence, steps, isFinished, changes, milliseconds: performance.now() - began};
  } catch (error) {
    return {error: error instanceof RunError ? error.message : `The run failed: ${error.message}`};
  }
}
