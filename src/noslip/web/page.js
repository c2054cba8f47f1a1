/* The page of a live run: knobs, the mechanism, curves, and what proves the run. */

const $ = id => document.getElementById(id);
const SUBSCRIPT = /^(.*)\.([^.]*)$/;

/** A number for people. */
function shown(value, digits = 4) {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-3) {
    const [m, e] = value.toExponential(Math.max(0, digits - 2)).split("e");
    const power = String(Number(e)).replace("-", "−");
    return `${m.replace("-", "−")}·10${[...power].map(c => "⁰¹²³⁴⁵⁶⁷⁸⁹"[c] ?? "⁻").join("")}`;
  }
  return String(Number(value.toPrecision(digits))).replace("-", "−");
}

/** Runs in a worker, or here where there is none; of those that wait only the newest is made. */
class Runner {
  constructor(plan, done) {
    this._done = done; this._waiting = null; this._isBusy = true;
    this._start(plan).then(() => { this._isBusy = false; this._next(); });
  }

  async _start(plan) {
    try {
      const text = `"use strict"; const {Run, answer} = (${runProgram})(); (${WORKER})();`;
      const address = URL.createObjectURL(new Blob([text], {type: "text/javascript"}));
      const worker = new Worker(address);
      URL.revokeObjectURL(address);
      await new Promise((begin, fail) => {
        worker.onmessage = begin;
        worker.onerror = event => { event.preventDefault(); fail(event); };
        worker.postMessage({plan});
      });
      worker.onmessage = ({data}) => this._end(data);
      this._send = values => worker.postMessage({values});
    } catch {
      const run = await Run.of(plan);
      this._send = values => setTimeout(() => this._end(answer(run, values)));
    }
  }

  ask(values) { this._waiting = values; this._next(); }

  _next() {
    if (this._isBusy || !this._waiting) return;
    const values = this._waiting;
    this._waiting = null; this._isBusy = true; this._began = performance.now();
    this._send(values);
  }

  _end(data) {
    this._isBusy = false;
    this._done(data, performance.now() - this._began, this._waiting !== null);
    this._next();
  }
}

const WORKER = String(() => {
  let run = null;
  onmessage = async ({data}) => {
    if (data.plan) { run = await Run.of(data.plan); postMessage({}); return; }
    const found = answer(run, data.values);
    postMessage(found, found.table ? [found.table.buffer, found.times.buffer] : []);
  };
});

class Page {
  constructor(data) {
    this.data = data; this.plan = data.plan; this.scene = data.scene;
    this.values = Object.fromEntries(data.knobs.map(k => [k.name, k.value]));
    this.width = this.plan.columns.length;
    this.places = new Map(this.plan.columns.map((name, k) => [name, k]));
    this.result = this.ghost = null; this.time = 0; this.isPlaying = false;
    this.follows = true; this.speed = 1;
    this.plots = data.plots.map((column, k) => new Plot(this, column, k));
    $("law").hidden = !data.isLaw;
    this._knobs(); this._controls(); this._theme(); this._read();
    this._driving();
    try { this.picture = new Picture($("scene"), data.scene); this._camera(); }
    catch (error) { $("scene").hidden = true; this._say(error.message); }
    this.runner = new Runner(this.plan, (...done) => this._ran(...done));
    this._ask();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this._theme());
    new ResizeObserver(() => this.show()).observe($("plots"));
    new ResizeObserver(() => this.show()).observe($("scene"));
  }

  column(name) { return this.places.get(name); }

  // knobs

  _knobs() {
    this.inputs = new Map();
    for (const knob of this.data.knobs) {
      const row = document.createElement("div"), label = document.createElement("label");
      const slider = document.createElement("input"), box = document.createElement("input");
      row.className = "knob"; label.textContent = knob.label; label.htmlFor = slider.id = `knob-${knob.name}`;
      if (knob.description) row.title = knob.description;
      slider.type = "range"; box.type = "number"; box.step = "any";
      slider.min = knob.lower / knob.scale; slider.max = knob.upper / knob.scale;
      slider.step = knob.step / knob.scale; box.setAttribute("aria-label", `${knob.label}, as a number`);
      slider.addEventListener("input", () => this.set(knob, Number(slider.value) * knob.scale));
      slider.addEventListener("pointerdown", () => this._keepGhost());
      slider.addEventListener("keydown", () => this._keepGhost());
      box.addEventListener("change", () => {
        const value = Number(box.value) * knob.scale;
        if (box.value.trim() === "" || !Number.isFinite(value)) { this._reflect(); return; }
        this._keepGhost(); this.set(knob, value);
      });
      row.append(label, box, slider); $("knobs").append(row);
      this.inputs.set(knob.name, {knob, slider, box});
    }
    this._reflect();
  }

  _reflect() {
    for (const [name, {knob, slider, box}] of this.inputs) {
      const value = this.values[name] / knob.scale;
      slider.value = value; box.value = Number(value.toPrecision(6));
      slider.setAttribute("aria-valuetext", `${shown(value)} ${knob.label}`);
    }
  }

  /** Change a number and simulate anew. */
  set(knob, value) {
    this.values[knob.name] = value;
    this._reflect(); this._ask();
  }

  _keepGhost() { if (this.result) { this.ghost = this.result; this.ghostRolled = this.rolled; } }

  reset() {
    this._keepGhost();
    for (const knob of this.data.knobs) this.values[knob.name] = knob.value;
    this._reflect(); this._ask();
  }

  /** What differs from the run that was written, as a run takes it. */
  _given() {
    const values = {parameters: {}, start: {}, inputs: {}, numbers: {}};
    for (const knob of this.data.knobs)
      if (this.values[knob.name] !== knob.value) values[knob.kind][knob.name] = this.values[knob.name];
    return values;
  }

  /** In words, which parameter is beyond its range: the page was checked within. */
  _beyond() {
    for (const knob of this.data.knobs) {
      const value = this.values[knob.name], room = 1e-9 * (knob.upper - knob.lower);
      if (knob.kind === "parameters" && !(value >= knob.lower - room && value <= knob.upper + room)) {
        const [now, low, high] = [value, knob.lower, knob.upper].map(x => shown(x / knob.scale));
        return `${knob.label} = ${now} is beyond the range of this page, ${low} to ${high}`;
      }
    }
    return "";
  }

  _ask() {
    const values = this._given(), beyond = this._beyond();
    this.drive(false);
    this._write();
    if (beyond) { this._say(beyond, true); return; }
    document.body.classList.add("waits");
    this.runner.ask(values);
  }

  _ran(found, wall, isOld) {
    if (!isOld) document.body.classList.remove("waits");
    if (found.error !== undefined) { this._say(found.error, true); return; }
    this.result = found; this._say(found.sentence);
    this.rolled = this._roll(found);
    this.count = found.times.length;
    if (this.picture) {
      const changes = {};
      for (const knob of this.data.knobs) changes[knob.name] = this.values[knob.name] - knob.value;
      this.picture.reshape(changes); this._trails();
    }
    this.wall = wall; this._prove(found, wall); this._frameAll();
    $("scrub").max = this.plan.duration;
    $("status").dataset.steps = found.steps; $("status").dataset.runs = (this.runs = (this.runs ?? 0) + 1);
    this.show();
  }

  _say(text, isRefused = false) {
    $("status").textContent = text; $("status").classList.toggle("refused", isRefused);
  }

  /** Energy and constraints of the whole run. */
  _prove(found, wall) {
    const proof = new Proof(this);
    for (let i = 0; i < found.times.length; i++) proof.add(found.table, i * this.width);
    proof.show();
    $("steps").textContent = String(found.steps);
    $("wall").textContent = `${shown(found.milliseconds, 2)} ms`;
    $("wall").title = `${shown(wall, 2)} ms with the way to the worker and back`;
  }

  /** Angles of wheels that are only drawn: integrals of their rates. */
  _roll(found) {
    const rates = this.scene.rollers.map(r => this.column(`rate.${r.name}.0`));
    return rates.map(k => {
      const angle = new Float64Array(found.times.length);
      for (let i = 1; i < angle.length; i++)
        angle[i] = angle[i - 1] + (found.times[i] - found.times[i - 1])
          * (found.table[i * this.width + k] + found.table[(i - 1) * this.width + k]) / 2;
      return angle;
    });
  }

  /** Poses at a time, between samples by straight lines. */
  _poses(found, rolled, time) {
    const n = found.times.length, count = 12 * this.scene.bodies.length;
    let i = Math.min(n - 1, Math.max(0, Math.floor(time / this.plan.duration * (this.plan.samples - 1))));
    while (i + 1 < n && found.times[i + 1] <= time) i++;
    while (i > 0 && found.times[i] > time) i--;
    const j = Math.min(i + 1, n - 1), gap = found.times[j] - found.times[i];
    const s = gap > 0 ? Math.min(1, Math.max(0, (time - found.times[i]) / gap)) : 0;
    const at = this.column(`pose.${this.scene.bodies[0]}.0`), poses = new Float64Array(count);
    for (let k = 0; k < count; k++)
      poses[k] = (1 - s) * found.table[i * this.width + at + k] + s * found.table[j * this.width + at + k];
    return {poses, rolled: rolled.map(a => (1 - s) * a[i] + s * a[j])};
  }

  _trails() {
    const trails = [];
    const add = (found, color) => this.scene.contacts.forEach((name, c) => {
      const k = this.column(`contact.${name}.0`), points = new Float32Array(3 * found.times.length);
      for (let i = 0; i < found.times.length; i++)
        for (let x = 0; x < 3; x++) points[3 * i + x] = found.table[i * this.width + k + x];
      trails.push({points, color: color(c)});
    });
    if (this.ghost) add(this.ghost, () => ({rgb: this.colors.faint, isWhole: true}));
    add(this.result, c => ({rgb: this.colors.curves[c % this.colors.curves.length]}));
    this.picture.setTrails(trails);
  }

  // camera

  _camera() {
    const canvas = $("scene"), camera = this.picture.camera, points = new Map();
    let apart = 0;
    canvas.addEventListener("pointerdown", event => {
      canvas.setPointerCapture(event.pointerId); points.set(event.pointerId, [event.clientX, event.clientY]);
    });
    canvas.addEventListener("pointermove", event => {
      const before = points.get(event.pointerId);
      if (!before) return;
      const now = [event.clientX, event.clientY];
      points.set(event.pointerId, now);
      if (points.size === 1) camera.orbit((now[0] - before[0]) / 160, (now[1] - before[1]) / 160);
      else {
        const [a, b] = [...points.values()], gap = Math.hypot(a[0] - b[0], a[1] - b[1]);
        if (apart) camera.zoom(apart / gap);
        apart = gap;
      }
      this.show();
    });
    for (const kind of ["pointerup", "pointercancel"])
      canvas.addEventListener(kind, event => { points.delete(event.pointerId); apart = 0; });
    canvas.addEventListener("wheel", event => {
      if (!event.ctrlKey && document.activeElement !== canvas) return;
      event.preventDefault(); camera.zoom(Math.exp(event.deltaY / 600)); this.show();
    }, {passive: false});
    canvas.addEventListener("keydown", event => {
      const turns = {ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.08], ArrowDown: [0, -0.08]};
      if (turns[event.key]) camera.orbit(...turns[event.key]);
      else if (event.key === "+" || event.key === "=") camera.zoom(0.9);
      else if (event.key === "-") camera.zoom(1.1);
      else return;
      event.preventDefault(); event.stopPropagation(); this.show();
    });
  }

  _points(found, i) {
    const at = i * this.width + this.column(`pose.${this.scene.bodies[0]}.0`);
    return this.scene.bodies.map((_, k) => [...found.table.slice(at + 12 * k + 9, at + 12 * k + 12)]);
  }

  /** Choose what the camera sees: all of a short motion, or the mechanism on its way. */
  _frameAll() {
    if (!this.picture || this.isFramed || !this.result.times.length) return;
    this.isFramed = true;
    const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
    for (let i = 0; i < this.result.times.length; i++)
      for (const p of this._points(this.result, i))
        for (let x = 0; x < 3; x++) { low[x] = Math.min(low[x], p[x]); high[x] = Math.max(high[x], p[x]); }
    const size = Math.hypot(...minus(high, low)), {camera} = this.picture;
    this.isFar = size > 9 * this.scene.length;
    const first = this._points(this.result, 0);
    const spread = Math.max(...first.map(a => Math.max(...first.map(b => Math.hypot(...minus(a, b))))));
    camera.reset(this.isFar ? Math.max(5.5 * this.scene.length, 2.4 * spread) : Math.max(4.2 * this.scene.length, 1.5 * size));
    this.middle = times(plus(low, high), 0.5);
    this.follows = this.isFar;
    $("follow").setAttribute("aria-pressed", String(this.follows));
  }

  // controls

  _controls() {
    const press = (id, act) => $(id).addEventListener("click", act);
    press("play", () => this.play(!this.isPlaying));
    press("reset", () => this.reset());
    press("follow", () => {
      this.follows = !this.follows;
      $("follow").setAttribute("aria-pressed", String(this.follows)); this.show();
    });
    press("clear", () => { this.ghost = null; if (this.picture && this.result) this._trails(); this.show(); });
    for (const [id, from] of [["copy", "command"], ["copy-model", "model"]])
      press(id, async () => {
        try { await navigator.clipboard.writeText($(from).textContent); $(id).textContent = "Copied"; }
        catch { getSelection().selectAllChildren($(from)); }
      });
    $("speed").addEventListener("change", () => { this.speed = Number($("speed").value); });
    $("scrub").max = this.plan.duration;
    $("scrub").addEventListener("input", () => {
      this.play(false); this.time = Number($("scrub").value); this.show();
    });
    addEventListener("keydown", event => {
      const isField = /^(INPUT|SELECT|TEXTAREA|BUTTON|SUMMARY|A)$/.test(event.target.tagName);
      if (isField || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === " ") this.play(!this.isPlaying);
      else if (event.key === "ArrowLeft") this._scrub(-1);
      else if (event.key === "ArrowRight") this._scrub(1);
      else if (event.key === "Home") this._scrub(-Infinity);
      else if (event.key === "r") this.reset();
      else return;
      event.preventDefault();
    });
    addEventListener("hashchange", () => { if (location.hash !== this._hash) { this._read(); this._ask(); } });
  }

  // driving

  /** Keys and a pad for the thumb, where the author gave inputs to drive with. */
  _driving() {
    const {drive} = this.data, keys = new Set(), pad = $("pad");
    this.stick = [0, 0]; this.isDriving = false;
    if (!drive.length) return;
    $("drive").hidden = false;
    $("drive").title = drive.map((d, k) => `${k ? "left and right" : "up and down"}: ${d.name}`).join(", ");
    $("drive").addEventListener("click", () => this.drive(!this.isDriving));
    const sum = (a, b) => (a.some(k => keys.has(k)) ? 1 : 0) - (b.some(k => keys.has(k)) ? 1 : 0);
    const put = stick => {
      this.stick = stick;
      pad.style.setProperty("--up", stick[0]); pad.style.setProperty("--left", stick[1]);
    };
    const read = () =>
      put([sum(["ArrowUp", "w"], ["ArrowDown", "s"]), sum(["ArrowLeft", "a"], ["ArrowRight", "d"])]);
    addEventListener("keydown", event => {
      if (!this.isDriving || !/^(Arrow(Up|Down|Left|Right)|[wasd])$/.test(event.key)) return;
      if (/^(INPUT|SELECT)$/.test(event.target.tagName)) return;
      keys.add(event.key); read(); event.preventDefault(); event.stopImmediatePropagation();
    }, true);
    addEventListener("keyup", event => { keys.delete(event.key); if (this.isDriving) read(); });
    addEventListener("blur", () => { keys.clear(); put([0, 0]); });
    const move = event => {
      const box = pad.getBoundingClientRect(), unit = x => Math.max(-1, Math.min(1, x));
      put([unit(1 - 2 * (event.clientY - box.top) / box.height),
        unit(1 - 2 * (event.clientX - box.left) / box.width)]);
    };
    pad.addEventListener("pointerdown", event => { pad.setPointerCapture(event.pointerId); move(event); });
    pad.addEventListener("pointermove", event => { if (event.buttons) move(event); });
    for (const kind of ["pointerup", "pointercancel"])
      pad.addEventListener(kind, () => put([0, 0]));
  }

  /** Begin to drive from the start, or stop. */
  async drive(isDriving) {
    if (this.isDriving === isDriving) return;
    this.isDriving = isDriving;
    $("drive").setAttribute("aria-pressed", String(isDriving));
    $("pad").hidden = !isDriving;
    if (!isDriving) {
      this.moment = null; this.show();
      if (this.result) this._prove(this.result, this.wall);
      return;
    }
    this.play(false); this._say("");
    try {
      this.stepper ??= await Run.of(this.plan);
      if (!this.isDriving) return;
      this.moment = this.stepper.begin(this._given());
      this.driven = new Proof(this);
      $("steps").textContent = $("wall").textContent = "–";
      this.turned = this.scene.rollers.map(() => 0);
    } catch (error) { this.drive(false); this._say(error.message, true); return; }
    let before = performance.now();
    const step = now => {
      if (!this.isDriving) return;
      const seconds = Math.min(0.05, (now - before) / 1000), inputs = {};
      before = now;
      this.data.drive.forEach((d, k) => { inputs[d.name] = d.largest * this.stick[k]; });
      if (seconds > 0) this.moment = this.stepper.step(seconds, inputs);
      this.driven.add(this.moment.row, 0); this.driven.show();
      this.scene.rollers.forEach((r, k) => {
        this.turned[k] += seconds * this.moment.row[this.column(`rate.${r.name}.0`)];
      });
      this.draw();
      if (this.moment.sentence) { const why = this.moment.sentence; this.drive(false); this._say(why); }
      else requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  _scrub(by) {
    this.play(false);
    const step = this.plan.duration / 100;
    this.time = Math.min(this.plan.duration, Math.max(0, this.time + by * step)); this.show();
  }

  play(isPlaying) {
    if (this.isPlaying === isPlaying) return;
    if (isPlaying) this.drive(false);
    this.isPlaying = isPlaying;
    $("play").textContent = isPlaying ? "Pause" : "Play";
    if (!isPlaying) return;
    if (this.time >= this.end - 1e-9) this.time = 0;
    let before = performance.now();
    const step = now => {
      if (!this.isPlaying) return;
      this.time += this.speed * Math.min(0.1, (now - before) / 1000);
      before = now;
      if (this.time >= this.end) {
        this.time = this.end;
        this.show(); this.play(false);
        return;
      }
      this.draw(); requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  get end() { return this.result ? this.result.end : this.plan.duration; }

  // the link that carries the state

  _read() {
    this._hash = location.hash;
    const given = new URLSearchParams(location.hash.slice(1));
    for (const knob of this.data.knobs) {
      const text = given.get(knob.name), value = text === null || text === "" ? NaN : Number(text);
      this.values[knob.name] = Number.isFinite(value) ? value : knob.value;
    }
    this._reflect();
  }

  _write() {
    const changed = this.data.knobs.filter(k => this.values[k.name] !== k.value);
    const text = new URLSearchParams(changed.map(k => [k.name, Number(this.values[k.name].toPrecision(12))]));
    const hash = changed.length ? `#${text}` : "";
    clearTimeout(this._writing);
    this._writing = setTimeout(() => {
      this._hash = hash;
      try { history.replaceState(null, "", hash || location.pathname + location.search); } catch { /* a file */ }
    }, 250);
    const sets = changed.map(k => ` --set ${k.name}=${Number(this.values[k.name].toPrecision(12))}`);
    const law = sets.length ? "  # without the changes: the law of this page keeps its numbers" : "";
    $("command").textContent = this.data.command + (this.data.isLaw ? law : sets.join(""));
  }

  // drawing

  _theme() {
    const style = getComputedStyle(document.documentElement);
    const text = name => style.getPropertyValue(name).trim();
    const rgb = name => [1, 3, 5].map(k => parseInt(text(name).slice(k, k + 2), 16) / 255);
    this.css = {ink: text("--ink"), faint: text("--faint"), grid: text("--rule"),
      curves: [1, 2, 3, 4].map(k => text(`--curve-${k}`))};
    this.colors = {paper: rgb("--paper"), ground: rgb("--ground"), line: rgb("--ground-line"),
      ghost: rgb("--faint"), faint: rgb("--faint"), shadow: Number(text("--shadow")),
      curves: [1, 2, 3, 4].map(k => rgb(`--curve-${k}`))};
    if (this.picture && this.result) this._trails();
    this.show();
  }

  /** Draw with the next picture. */
  show() {
    if (this._asked) return;
    this._asked = requestAnimationFrame(() => { this._asked = 0; this.draw(); });
  }

  draw() {
    if (this.moment && this.picture) {
      const at = this.column(`pose.${this.scene.bodies[0]}.0`), n = this.scene.bodies.length;
      const poses = this.moment.row.slice(at, at + 12 * n);
      let target = [0, 0, 0];
      for (let k = 0; k < n; k++) target = plus(target, poses.slice(12 * k + 9, 12 * k + 12));
      this.picture.camera.target = times(target, 1 / n);
      this.picture.draw({poses, rolled: this.turned}, null, this.colors, 0);
      $("clock").textContent = `${this.moment.time.toFixed(2)} s`;
      return;
    }
    if (!this.result || !this.result.times.length) return;
    const now = Math.min(this.time, this.end);
    $("scrub").value = now; $("clock").textContent = `${now.toFixed(2)} s`;
    $("scrub").setAttribute("aria-valuetext", `${now.toFixed(2)} of ${this.plan.duration} seconds`);
    if (this.picture) {
      const pose = this._poses(this.result, this.rolled, now);
      const ghost = this.ghost && this.ghost.times.length
        ? this._poses(this.ghost, this.ghostRolled, Math.min(this.time, this.ghost.end)) : null;
      if (this.follows) {
        const n = this.scene.bodies.length; let target = [0, 0, 0];
        for (let k = 0; k < n; k++) target = plus(target, pose.poses.slice(12 * k + 9, 12 * k + 12));
        this.picture.camera.target = times(target, 1 / n);
      } else this.picture.camera.target = this.middle;
      this.picture.draw(pose, ghost, this.colors, now / this.end);
    }
    for (const plot of this.plots) plot.draw(now);
  }
}

/** How well energy and constraints are kept: the largest errors so far, row by row. */
class Proof {
  constructor(page) {
    this.places = ["kinetic_energy", "potential_energy", "work", "residual.0"].map(n => page.column(n));
    this.drift = this.size = this.residual = 0; this.low = Infinity; this.high = -Infinity;
  }

  /** A row of a table that begins at a place. */
  add(table, at) {
    const [kinetic, potential, work, residual] = this.places.map(k => k === undefined ? 0 : table[at + k]);
    const balance = kinetic + potential - work;
    this.first ??= balance;
    this.drift = Math.max(this.drift, Math.abs(balance - this.first));
    this.size = Math.max(this.size, kinetic, Math.abs(work));
    this.low = Math.min(this.low, potential); this.high = Math.max(this.high, potential);
    this.residual = Math.max(this.residual, residual);
  }

  show() {
    const size = Math.max(this.size, this.high - this.low, 1e-300);
    $("energy").textContent = shown(this.drift / size, 2);
    $("residual").textContent = shown(this.residual, 2);
  }
}

/** A column over time, with that of the run before in grey. */
class Plot {
  constructor(page, column, number) {
    this.page = page; this.column = column;
    const box = document.createElement("figure"), head = document.createElement("figcaption");
    const choice = document.createElement("select");
    this.canvas = document.createElement("canvas"); this.value = document.createElement("output");
    choice.setAttribute("aria-label", `Curve ${number + 1}`);
    for (const name of page.data.choices) choice.append(new Option(page.labelOf?.(name) ?? name, name, false, name === column));
    choice.addEventListener("change", () => { this.column = choice.value; this.page.show(); });
    this.color = number;
    head.append(choice, this.value); box.append(head, this.canvas); $("plots").append(box);
    this.canvas.setAttribute("role", "img"); this.canvas.setAttribute("aria-label", column);
    const seek = event => {
      const box = this.canvas.getBoundingClientRect(), x = (event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT);
      page.play(false); page.time = Math.min(1, Math.max(0, x)) * page.plan.duration; page.show();
    };
    this.canvas.addEventListener("pointerdown", event => { this.canvas.setPointerCapture(event.pointerId); seek(event); });
    this.canvas.addEventListener("pointermove", event => { if (event.buttons) seek(event); });
  }

  _values(found) {
    const k = this.page.column(this.column), values = new Float64Array(found.times.length);
    for (let i = 0; i < values.length; i++) values[i] = found.table[i * this.page.width + k];
    if (this.page.data.angles.includes(this.column))
      for (let i = 1; i < values.length; i++)
        values[i] -= 2 * Math.PI * Math.round((values[i] - values[i - 1]) / (2 * Math.PI));
    return values;
  }

  draw(now) {
    const {page, canvas} = this, scale = Math.min(devicePixelRatio || 1, 2);
    const width = canvas.clientWidth, height = canvas.clientHeight;
    if (!width) return;
    canvas.width = width * scale; canvas.height = height * scale;
    const pen = canvas.getContext("2d"), duration = page.plan.duration;
    pen.scale(scale, scale);
    const runs = [page.ghost, page.result].map(r => r && {times: r.times, values: this._values(r)});
    let low = Infinity, high = -Infinity;
    for (const run of runs) if (run) for (const v of run.values) { low = Math.min(low, v); high = Math.max(high, v); }
    if (!(high > low)) { const d = Math.abs(low) * 0.1 || 1; low -= d; high += d; }
    const room = 0.06 * (high - low); low -= room; high += room;
    const x = t => LEFT + (width - LEFT - RIGHT) * t / duration;
    const y = v => 6 + (height - 26) * (high - v) / (high - low);
    pen.font = "11px system-ui, sans-serif"; pen.lineWidth = 1; pen.textBaseline = "middle";
    pen.strokeStyle = page.css.grid; pen.fillStyle = page.css.ink;
    pen.textAlign = "right";
    for (const v of ticks(low, high, 3)) {
      pen.beginPath(); pen.moveTo(LEFT, y(v)); pen.lineTo(width - RIGHT, y(v)); pen.stroke();
      pen.fillText(shown(v, 3), LEFT - 5, y(v));
    }
    pen.textAlign = "center"; pen.textBaseline = "top";
    for (const t of ticks(0, duration, Math.max(2, Math.floor(width / 90))))
      pen.fillText(`${shown(t, 3)} s`, Math.min(x(t), width - 14), height - 14);
    runs.forEach((run, k) => {
      if (!run) return;
      pen.strokeStyle = k ? page.css.curves[this.color % 4] : page.css.faint;
      pen.globalAlpha = k ? 1 : 0.8; pen.lineWidth = k ? 1.8 : 1.2; pen.beginPath();
      run.values.forEach((v, i) => pen[i ? "lineTo" : "moveTo"](x(run.times[i]), y(v)));
      pen.stroke(); pen.globalAlpha = 1;
    });
    pen.strokeStyle = page.css.ink; pen.globalAlpha = 0.5; pen.lineWidth = 1;
    pen.beginPath(); pen.moveTo(x(now), 4); pen.lineTo(x(now), height - 18); pen.stroke(); pen.globalAlpha = 1;
    const {times, values} = runs[1];
    let i = 0;
    while (i + 1 < times.length && times[i + 1] <= now) i++;
    const unit = page.plan.units[this.column] ?? "";
    this.value.textContent = `${shown(values[i])}${unit && unit !== "1" ? ` ${unit}` : ""}`;
    canvas.setAttribute("aria-label", `${this.column} from ${shown(Math.min(...values), 3)} to `
      + `${shown(Math.max(...values), 3)} ${unit}`);
  }
}

const LEFT = 52, RIGHT = 8;

/** Round numbers between two ends. */
function ticks(low, high, most) {
  const rough = (high - low) / Math.max(1, most), power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find(m => m * power >= rough) ?? 10), found = [];
  for (let k = Math.ceil(low / step); k * step <= high + 1e-12 * step; k++) found.push(k * step);
  return found;
}

window.live = new Page(JSON.parse($("data").textContent));
