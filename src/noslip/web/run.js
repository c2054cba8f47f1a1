/* A run of a mechanism without Python: drives the module that noslip wrote.
 *
 *     const run = await Run.of(plan);            plan: what noslip wrote beside the module
 *     const result = run.simulate({parameters: {mass: 2}, start: {speed: 1}, inputs: {torque: 0.1}});
 *     result.column("disk.tilt");                 Float64Array, a number for each of result.times
 *
 * The loop, the functions of the mechanism and the completion of starts are in the module; here
 * numbers are put into its memory and taken out of it.
 */

const FINISHED = 0, EVENT = 1, STEP_TOO_SMALL = 3, SINGULAR = 4, NON_FINITE = 5, MAX_STEPS = 6;
const PROJECTION_FAILED = 7;
const MOST_ROUNDS = 4096;
const RESIDUAL = 1e-8;

/** The bytes of a text in base64. */
export function bytesOf(text) {
  return Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
}

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
    this._words = bytesOf(plan.record.words);
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
    this._moving = {values, state: n.states.slice(), time: this.plan.time, size: n.steps_left[0]};
    return this.step(1e-12);
  }

  /** Go on for some seconds, with inputs that stay until the next step. */
  step(seconds, inputs = {}) {
    const {_numbers: n, _moving: moving, plan} = this, {places, at} = plan.record;
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
    this._view.setFloat64(at + 8 * places.end_time, end, true);
    this._view.setBigInt64(at + 8 * places.num_samples, 1n, true);
    const done = this._integrate();
    moving.state = n.states.slice();
    moving.time = done.time;
    moving.size = n.steps_left[0];
    const row = n.final.slice(0, plan.columns.length);
    return {time: done.time, row, sentence: this._sentence(done)};
  }

  _begin(parameters, inputs, numbers) {
    const {plan, _numbers: n} = this;
    this._bytes.set(this._image, plan.begin);
    for (const name of ["samples", "final", "event_times"]) n[name].fill(NaN);
    n.work.fill(0);
    this._bytes.set(this._words, plan.record.at);
    this._put(plan.parameters, n.parameters, parameters, 0, "parameter");
    this._put(plan.numbers, n.parameters, numbers, plan.parameters.length, "number");
    this._put(plan.inputs, n.base, inputs, 0, "input");
    const record = plan.record.at, heads = plan.record.heads;
    const own = record + 8 * plan.record.parameters;
    for (let k = 0; k < n.parameters.length; k++)
      this._view.setFloat64(own + 8 * k, n.parameters[k], true);
    for (const [name, place] of Object.entries(heads)) {
      const s = this._scratch;
      this._functions[name](s, s, s, plan.vectors.parameters[0], record + 8 * place);
    }
  }

  _put(names, vector, values, first, word) {
    for (const [name, value] of Object.entries(values)) {
      const k = names.indexOf(name);
      if (k < 0) throw new RunError(`there is no ${word} '${name}'`);
      if (!Number.isFinite(value)) throw new RunError(`${word} '${name}' is ${value}`);
      vector[first + k] = value;
    }
  }

  _call(name, x, u, p, count) {
    const time = this._scratch, out = this._scratch + 64;
    this._view.setFloat64(time, this.plan.time, true);
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
  _driveStart(at, base, row) {
    const count = this.plan.inputs.length;
    this._driven = base;
    if (!("inputs" in this._functions) || !count) return;
    const found = this._call("inputs", at, base, row, count);
    this._driven = this.plan.vectors.driven[0];
    this._numbers.driven.set(found);
  }

  _check(x, at, row, values) {
    const {plan} = this, own = plan.completion, rows = own.rows.length;
    const found = this._call("check", at, this._driven, row, rows + own.checked.length);
    let size = 1;
    for (const each of x) size = Math.max(size, Math.abs(each));
    if (!x.every(Number.isFinite) || !found.every(Number.isFinite))
      throw new RunError("the constraints are not defined at this start");
    let worst = -1, most = RESIDUAL * size;
    for (let k = 0; k < rows; k++)
      if (Math.abs(found[k]) > most) { worst = k; most = Math.abs(found[k]); }
    if (worst >= 0)
      throw new RunError(`the start breaks row '${own.rows[worst]}' by ${most.toPrecision(3)}, and `
        + "what is not given cannot correct it");
    own.checked.forEach((name, k) => {
      const miss = found[rows + k] - values[name];
      const turns = Math.abs(miss - 2 * Math.PI * Math.round(miss / (2 * Math.PI)));
      if (Math.min(Math.abs(miss), turns) > RESIDUAL * size)
        throw new RunError(`the given values contradict each other or the constraints: '${name}' `
          + `is missed by ${miss.toPrecision(3)}`);
    });
  }

  _integrate() {
    const {plan, _numbers: n} = this, record = plan.record;
    const [work] = plan.vectors.work;
    const pause = record.at + 8 * record.places.pause;
    do {
      n.num_paused[0] = 0n;
      this._view.setBigInt64(pause, BigInt(MOST_ROUNDS), true);
      this._functions.integrate(work, 0n, 1n);
    } while (n.num_paused[0]);
    return {code: Number(n.codes[0]), which: Number(n.which[0]), time: n.times[0]};
  }

  /** In words, why a run ended; empty if it reached its end. */
  _sentence({code, which, time}) {
    const {plan} = this, at = ` (t = ${time.toPrecision(6)} s)`;
    if (code === FINISHED) return "";
    if (code === EVENT) return `Stopped by '${plan.events[which]}'${at}`;
    if (code === SINGULAR) return `Ended at a singular configuration: ${plan.sentences[which]}${at}`;
    const words = {
      [STEP_TOO_SMALL]: "Ended where the tolerances need steps that time cannot resolve",
      [NON_FINITE]: "Ended where the rates are not finite",
      [MAX_STEPS]: "Ended after the largest number of steps",
      [PROJECTION_FAILED]: "Ended where a state could not be projected on the constraints",
    };
    return (words[code] ?? `Ended with code ${code}`) + at;
  }
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
    const {times, table, end, sentence, steps, isFinished} = found;
    return {times, table, end, sentence, steps, isFinished, milliseconds: performance.now() - began};
  } catch (error) {
    return {error: error instanceof RunError ? error.message : `The run failed: ${error.message}`};
  }
}
