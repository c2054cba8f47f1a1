/* A mechanism drawn by WebGL: colored meshes, their shadow, ground with lines, and paths. */

const floats = text => new Float32Array(bytesOf(text).buffer);

const MESH_VERTEX = `#version 300 es
uniform mat4 view, pose; uniform vec4 plane; uniform vec3 light; uniform float flat_;
in vec3 place, normal, shade; out vec3 n, c, w;
void main() {
  vec4 p = pose * vec4(place, 1.0);
  if (flat_ > 0.5) {
    float h = dot(plane.xyz, p.xyz) - plane.w;
    p.xyz -= light * (h / dot(plane.xyz, light)) - plane.xyz * 0.001 * flat_;
  }
  n = mat3(pose) * normal; c = shade; w = p.xyz; gl_Position = view * p;
}`;
const MESH_FRAGMENT = `#version 300 es
precision highp float; uniform vec3 light, eye; uniform vec4 tint; in vec3 n, c, w; out vec4 color;
void main() {
  if (tint.a < 0.999) { color = tint; return; }
  vec3 m = normalize(n); vec3 to = normalize(eye - w);
  if (dot(m, to) < 0.0) m = -m;
  float d = max(dot(m, light), 0.0), s = pow(max(dot(m, normalize(light + to)), 0.0), 40.0);
  float sky = 0.5 + 0.5 * dot(m, light);
  color = vec4(c * (0.36 + 0.2 * sky + 0.5 * d) + 0.12 * s, 1.0);
}`;
const GROUND_VERTEX = `#version 300 es
uniform mat4 view; uniform vec3 origin, ex, ey; uniform float size; uniform vec2 middle;
in vec2 corner; out vec2 q;
void main() { q = middle + size * corner; gl_Position = view * vec4(origin + ex * q.x + ey * q.y, 1.0); }`;
const GROUND_FRAGMENT = `#version 300 es
precision highp float; uniform float cell, size; uniform vec2 middle; uniform vec4 fill, line;
in vec2 q; out vec4 color;
float lines(vec2 x) {
  vec2 d = abs(fract(x - 0.5) - 0.5), f = max(fwidth(x), vec2(1e-6));
  vec2 a = (1.0 - clamp(d / f, 0.0, 1.0)) * clamp(0.35 / f, 0.0, 1.0);
  return max(a.x, a.y);
}
void main() {
  float fade = 1.0 - smoothstep(0.45, 1.0, length(q - middle) / size);
  float a = max(0.55 * lines(q / cell), lines(q / (5.0 * cell)));
  color = mix(fill, line, a * line.a); color.a = fade * mix(fill.a, 1.0, a * line.a);
}`;
const PATH_VERTEX = `#version 300 es
uniform mat4 view; uniform vec2 pixels; uniform float width;
in vec3 from, to; in vec2 corner;
void main() {
  vec4 a = view * vec4(from, 1.0), b = view * vec4(to, 1.0);
  if (min(a.w, b.w) < 0.02) { gl_Position = vec4(2.0, 2.0, 2.0, 1.0); return; }
  vec2 d = (b.xy / b.w - a.xy / a.w) * pixels; d = length(d) > 1e-6 ? normalize(d) : vec2(1, 0);
  vec4 p = corner.x < 0.5 ? a : b;
  p.xy += vec2(-d.y, d.x) * corner.y * width / pixels * p.w; p.z -= 0.0004 * p.w;
  gl_Position = p;
}`;
const PATH_FRAGMENT = `#version 300 es
precision highp float; uniform vec4 tint; out vec4 color; void main() { color = tint; }`;

const minus = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) =>
  [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const times = (a, s) => [a[0] * s, a[1] * s, a[2] * s];
const plus = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
const unit = a => times(a, 1 / (Math.hypot(...a) || 1));

/** Product of two matrices of four columns, one after the other. */
function product(a, b) {
  const out = new Float32Array(16);
  for (let i = 0; i < 4; i++)
    for (let j = 0; j < 4; j++) {
      let sum = 0;
      for (let k = 0; k < 4; k++) sum += a[4 * k + i] * b[4 * j + k];
      out[4 * j + i] = sum;
    }
  return out;
}

/** A turn about a unit axis, by rows. */
function turn(axis, angle) {
  const [x, y, z] = axis, c = Math.cos(angle), s = Math.sin(angle), d = 1 - c;
  return [c + x * x * d, x * y * d - z * s, x * z * d + y * s,
    y * x * d + z * s, c + y * y * d, y * z * d - x * s,
    z * x * d - y * s, z * y * d + x * s, c + z * z * d];
}

/** The camera that looks at a target from a direction and a distance. */
class Camera {
  constructor(up, length) {
    this.up = unit(up);
    const side = Math.abs(this.up[0]) < 0.9 ? [1, 0, 0] : [0, 1, 0];
    this.e1 = unit(minus(side, times(this.up, dot(side, this.up))));
    this.e2 = cross(this.up, this.e1);
    this.length = length;
    this.reset(4.2 * length);
  }

  reset(distance) {
    this.azimuth = -0.95; this.elevation = 0.42; this.distance = distance;
    this.home = distance; this.target = [0, 0, 0];
  }

  orbit(dx, dy) {
    this.azimuth -= dx;
    this.elevation = Math.min(1.5, Math.max(-0.2, this.elevation + dy));
  }

  zoom(factor) {
    this.distance = Math.min(40 * this.home, Math.max(0.08 * this.home, this.distance * factor));
  }

  get back() {
    const c = Math.cos(this.elevation);
    const level = plus(times(this.e1, c * Math.cos(this.azimuth)),
      times(this.e2, c * Math.sin(this.azimuth)));
    return plus(level, times(this.up, Math.sin(this.elevation)));
  }

  get eye() { return plus(this.target, times(this.back, this.distance)); }

  matrix(aspect) {
    const z = this.back, x = unit(cross(this.up, z)), y = cross(z, x), e = this.eye;
    const look = [x[0], y[0], z[0], 0, x[1], y[1], z[1], 0, x[2], y[2], z[2], 0,
      -dot(x, e), -dot(y, e), -dot(z, e), 1];
    const near = this.distance / 50, far = this.distance * 60, f = 2.4;
    const open = aspect < 1 ? f * aspect : f;
    const lens = [open / aspect, 0, 0, 0, 0, open, 0, 0,
      0, 0, (far + near) / (near - far), -1, 0, 0, 2 * far * near / (near - far), 0];
    return product(lens, look);
  }
}

class Picture {
  constructor(canvas, scene) {
    this.canvas = canvas; this.scene = scene;
    this.gl = canvas.getContext("webgl2", {antialias: true, stencil: true, alpha: false});
    if (!this.gl) throw new RunError("this browser has no WebGL 2, so the mechanism is not drawn");
    this.camera = new Camera(scene.up, scene.length);
    this.values = {};
    const gl = this.gl;
    this.mesh = this._program(MESH_VERTEX, MESH_FRAGMENT, ["place", "normal", "shade"]);
    this.floor = this._program(GROUND_VERTEX, GROUND_FRAGMENT, ["corner"]);
    this.path = this._program(PATH_VERTEX, PATH_FRAGMENT, ["from", "to", "corner"]);
    this.parts = scene.parts.map(part => this._part(part));
    this.square = this._buffer(new Float32Array([-1, -1, 1, -1, -1, 1, 1, 1]));
    this.corners = this._buffer(new Float32Array([0, -1, 0, 1, 1, -1, 1, 1]));
    this.trails = [];
    gl.enable(gl.DEPTH_TEST);
  }

  _program(vertex, fragment, attributes) {
    const gl = this.gl, program = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text); gl.compileShader(shader); gl.attachShader(program, shader);
    }
    attributes.forEach((name, k) => gl.bindAttribLocation(program, k, name));
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS))
      throw new RunError("the mechanism is not drawn: " + gl.getProgramInfoLog(program));
    const places = new Map();
    return {program, at: name => {
      if (!places.has(name)) places.set(name, gl.getUniformLocation(program, name));
      return places.get(name);
    }};
  }

  _buffer(data, kind = this.gl.ARRAY_BUFFER, use = this.gl.STATIC_DRAW) {
    const gl = this.gl, buffer = gl.createBuffer();
    gl.bindBuffer(kind, buffer); gl.bufferData(kind, data, use);
    return buffer;
  }

  /** Corners of triangles on their own: faces are flat where they meet at an edge. */
  _part(part) {
    const vertices = floats(part.vertices), raw = bytesOf(part.faces).buffer;
    const faces = part.isWide ? new Uint32Array(raw) : new Uint16Array(raw);
    const slopes = Object.entries(part.slopes).map(([name, text]) => [name, floats(text)]);
    const shades = part.shades ? bytesOf(part.shades) : null;
    const color = new Float32Array(3 * faces.length);
    for (let k = 0; k < faces.length; k++)
      for (let i = 0; i < 3; i++)
        color[3 * k + i] = (shades ? shades[3 * faces[k] + i] : part.color[i]) / 255;
    const gl = this.gl, made = {part, vertices, faces, slopes, count: faces.length, at: {}};
    for (const name of ["place", "normal"]) made[name] = new Float32Array(3 * faces.length);
    made.array = gl.createVertexArray();
    gl.bindVertexArray(made.array);
    made.at.place = this._buffer(made.place, gl.ARRAY_BUFFER, gl.DYNAMIC_DRAW);
    gl.enableVertexAttribArray(0); gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 0, 0);
    made.at.normal = this._buffer(made.normal, gl.ARRAY_BUFFER, gl.DYNAMIC_DRAW);
    gl.enableVertexAttribArray(1); gl.vertexAttribPointer(1, 3, gl.FLOAT, false, 0, 0);
    this._buffer(color);
    gl.enableVertexAttribArray(2); gl.vertexAttribPointer(2, 3, gl.FLOAT, false, 0, 0);
    gl.bindVertexArray(null);
    this._shape(made, {});
    return made;
  }

  /** Shapes at changed parameters: name → difference from the value that they were written at. */
  reshape(changes) {
    for (const made of this.parts)
      if (made.slopes.some(([name]) => (changes[name] ?? 0) !== (this.values[name] ?? 0)))
        this._shape(made, changes);
    this.values = {...changes};
  }

  /** Corners and their normals: those of a vertex where its faces are nearly flat, else of the face. */
  _shape(made, changes) {
    const {vertices, faces, place, normal} = made, now = Float32Array.from(vertices);
    for (const [name, slope] of made.slopes) {
      const change = changes[name] ?? 0;
      if (change) for (let k = 0; k < now.length; k++) now[k] += change * slope[k];
    }
    const normals = new Float32Array(now.length), flat = new Float32Array(faces.length);
    for (let f = 0; f < faces.length; f += 3) {
      const a = 3 * faces[f], b = 3 * faces[f + 1], c = 3 * faces[f + 2];
      const x1 = now[b] - now[a], y1 = now[b + 1] - now[a + 1], z1 = now[b + 2] - now[a + 2];
      const x2 = now[c] - now[a], y2 = now[c + 1] - now[a + 1], z2 = now[c + 2] - now[a + 2];
      const x = y1 * z2 - z1 * y2, y = z1 * x2 - x1 * z2, z = x1 * y2 - y1 * x2;
      for (let j = 0; j < 3; j++) {
        const k = 3 * faces[f + j];
        normals[k] += x; normals[k + 1] += y; normals[k + 2] += z;
      }
      const size = Math.hypot(x, y, z) || 1;
      flat[f] = x / size; flat[f + 1] = y / size; flat[f + 2] = z / size;
    }
    for (let f = 0; f < faces.length; f += 3)
      for (let j = 0; j < 3; j++) {
        const k = 3 * faces[f + j], to = 3 * (f + j);
        let x = normals[k], y = normals[k + 1], z = normals[k + 2];
        const size = Math.hypot(x, y, z) || 1;
        x /= size; y /= size; z /= size;
        if (!(x * flat[f] + y * flat[f + 1] + z * flat[f + 2] > 0.6)) {
          x = flat[f]; y = flat[f + 1]; z = flat[f + 2];
        }
        normal[to] = x; normal[to + 1] = y; normal[to + 2] = z;
        place[to] = now[k]; place[to + 1] = now[k + 1]; place[to + 2] = now[k + 2];
      }
    const gl = this.gl;
    gl.bindBuffer(gl.ARRAY_BUFFER, made.at.place); gl.bufferSubData(gl.ARRAY_BUFFER, 0, place);
    gl.bindBuffer(gl.ARRAY_BUFFER, made.at.normal); gl.bufferSubData(gl.ARRAY_BUFFER, 0, normal);
  }

  /** Paths that points leave: arrays of numbers (n, 3), with a color each. */
  setTrails(trails) {
    const gl = this.gl;
    for (const each of this.trails) { gl.deleteBuffer(each.buffer); gl.deleteVertexArray(each.array); }
    this.trails = trails.filter(({points}) => points.length >= 6).map(({points, color}) => {
      const array = gl.createVertexArray();
      gl.bindVertexArray(array);
      const buffer = this._buffer(points);
      for (const [k, offset] of [[0, 0], [1, 12]]) {
        gl.enableVertexAttribArray(k);
        gl.vertexAttribPointer(k, 3, gl.FLOAT, false, 12, offset);
        gl.vertexAttribDivisor(k, 1);
      }
      gl.bindBuffer(gl.ARRAY_BUFFER, this.corners);
      gl.enableVertexAttribArray(2); gl.vertexAttribPointer(2, 2, gl.FLOAT, false, 0, 0);
      gl.bindVertexArray(null);
      return {array, buffer, color, count: points.length / 3 - 1};
    });
  }

  /** The matrix of a part: `poses` has twelve numbers for each body, `rolled` an angle a roller. */
  _pose(part, poses, rolled) {
    if (!part.body) return new Float32Array([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]);
    const at = 12 * this.scene.bodies.indexOf(part.body);
    let R = poses.slice(at, at + 9), p = [...poses.slice(at + 9, at + 12)];
    if (part.roller) {
      const k = this.scene.rollers.findIndex(r => r.name === part.roller);
      const {center, axis} = this.scene.rollers[k], T = turn(axis, rolled[k]);
      p = p.map((x, i) => x + R[3 * i] * center[0] + R[3 * i + 1] * center[1]
        + R[3 * i + 2] * center[2]);
      const S = new Float64Array(9);
      for (let i = 0; i < 3; i++) for (let j = 0; j < 3; j++)
        S[3 * i + j] = R[3 * i] * T[j] + R[3 * i + 1] * T[3 + j] + R[3 * i + 2] * T[6 + j];
      R = S;
    }
    return new Float32Array([R[0], R[3], R[6], 0, R[1], R[4], R[7], 0, R[2], R[5], R[8], 0, ...p, 1]);
  }

  /** Draw bodies at poses, and those of another run as a shade. */
  draw(now, ghost, colors, trailed = 1) {
    const {gl, canvas, camera, scene} = this;
    const scale = Math.min(devicePixelRatio || 1, 2);
    const width = Math.max(1, Math.round(canvas.clientWidth * scale));
    const height = Math.max(1, Math.round(canvas.clientHeight * scale));
    if (canvas.width !== width || canvas.height !== height) {
      canvas.width = width; canvas.height = height;
    }
    gl.viewport(0, 0, width, height);
    gl.clearColor(...colors.paper, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT | gl.STENCIL_BUFFER_BIT);
    const view = camera.matrix(width / height);
    const light = unit(plus(plus(times(camera.up, 1), times(camera.e1, 0.35)), times(camera.e2, -0.3)));
    for (const ground of scene.grounds) this._ground(ground, view, colors);
    gl.useProgram(this.mesh.program);
    gl.uniformMatrix4fv(this.mesh.at("view"), false, view);
    gl.uniform3fv(this.mesh.at("light"), light);
    gl.uniform3fv(this.mesh.at("eye"), camera.eye);
    gl.uniform1f(this.mesh.at("flat_"), 0);
    gl.uniform4f(this.mesh.at("tint"), 0, 0, 0, 1);
    for (const made of this.parts) this._draw(made, now);
    if (scene.grounds.length) this._shadows(now, colors);
    if (ghost) {
      gl.enable(gl.BLEND); gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA); gl.depthMask(false);
      gl.uniform4f(this.mesh.at("tint"), ...colors.ghost, 0.16);
      for (const made of this.parts) if (made.part.body) this._draw(made, ghost);
      gl.depthMask(true); gl.disable(gl.BLEND);
    }
    this._paths(view, width, height, trailed);
  }

  _draw(made, {poses, rolled}) {
    const gl = this.gl;
    gl.uniformMatrix4fv(this.mesh.at("pose"), false, this._pose(made.part, poses, rolled));
    gl.bindVertexArray(made.array);
    gl.drawArrays(gl.TRIANGLES, 0, made.count);
    gl.bindVertexArray(null);
  }

  _shadows(now, colors) {
    const gl = this.gl, {R, p} = this.scene.grounds[0], n = [R[2], R[5], R[8]];
    gl.enable(gl.BLEND); gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    gl.enable(gl.STENCIL_TEST); gl.stencilFunc(gl.EQUAL, 0, 255);
    gl.stencilOp(gl.KEEP, gl.KEEP, gl.INCR); gl.depthMask(false);
    gl.uniform4f(this.mesh.at("plane"), ...n, dot(n, p));
    gl.uniform1f(this.mesh.at("flat_"), this.camera.length);
    gl.uniform4f(this.mesh.at("tint"), 0, 0, 0, colors.shadow);
    for (const made of this.parts) if (made.part.body) this._draw(made, now);
    gl.disable(gl.STENCIL_TEST); gl.disable(gl.BLEND); gl.depthMask(true);
    gl.uniform1f(this.mesh.at("flat_"), 0);
  }

  _ground({R, p}, view, colors) {
    const gl = this.gl, {camera, floor} = this;
    const ex = [R[0], R[3], R[6]], ey = [R[1], R[4], R[7]], to = minus(camera.target, p);
    const size = Math.max(7 * camera.distance, 6 * camera.length);
    const step = camera.distance / 9, power = 10 ** Math.floor(Math.log10(step));
    const cell = power * (step / power < 2 ? 1 : step / power < 5 ? 2 : 5);
    gl.useProgram(floor.program);
    gl.uniformMatrix4fv(floor.at("view"), false, view);
    gl.uniform3fv(floor.at("origin"), p); gl.uniform3fv(floor.at("ex"), ex);
    gl.uniform3fv(floor.at("ey"), ey); gl.uniform1f(floor.at("size"), size);
    gl.uniform2f(floor.at("middle"), dot(to, ex), dot(to, ey));
    gl.uniform1f(floor.at("cell"), cell);
    gl.uniform4f(floor.at("fill"), ...colors.ground, 1); gl.uniform4f(floor.at("line"), ...colors.line, 1);
    gl.enable(gl.BLEND); gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA); gl.depthMask(false);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.square);
    gl.enableVertexAttribArray(0); gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 0, 0);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    gl.disableVertexAttribArray(0);
    gl.depthMask(true); gl.disable(gl.BLEND);
  }

  _paths(view, width, height, trailed) {
    const gl = this.gl, {path} = this;
    gl.useProgram(path.program);
    gl.uniformMatrix4fv(path.at("view"), false, view);
    gl.uniform2f(path.at("pixels"), width / 2, height / 2);
    gl.uniform1f(path.at("width"), 1.3 * Math.min(devicePixelRatio || 1, 2));
    gl.depthMask(false); // of paths that cross, the later one is seen
    for (const each of this.trails) {
      const count = each.color.isWhole ? each.count : Math.round(trailed * each.count);
      gl.uniform4f(path.at("tint"), ...each.color.rgb, 1);
      gl.bindVertexArray(each.array);
      if (count > 0) gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, count);
    }
    gl.depthMask(true);
    gl.bindVertexArray(null);
  }
}
