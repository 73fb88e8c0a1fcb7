"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const canvas = document.getElementById("lanes"), pen = canvas.getContext("2d");
  const said = document.getElementById("said"), root = document.documentElement;
  const {name, start, long, slot, run, kind, outcome} = data;
  const count = name.length, whole = Math.max(data.seconds * 1000, 1);
  const lanes = Array.from({length: Math.max(data.slots, 1)}, () => []);
  for (let i = 0; i < count; i++) lanes[slot[i]].push(i);
  const onWay = new Set(data.longest), kinds = ["object", "device", "link", "other"];
  const outcomes = ["", "from the cache", "not in the cache", "the cache did not take it", "some calls from the cache"];
  const RULER = 22, CHART = 84, GAP = 8, LEFT = 46, LEAST = 20;
  let from = 0, to = whole, chosen = -1, matched = null, color = {}, waits = false;
  let wide = 0, tall = 0, lane = 0;

  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
  const end = i => start[i] + long[i];
  const across = t => LEFT + (t - from) / (to - from) * (wide - LEFT);
  const back = x => from + (x - LEFT) / (wide - LEFT) * (to - from);

  function time(ms, step) {
    const s = ms / 1000;
    if (step < 6e4 && s >= 3600)
      return [s / 3600, s / 60 % 60, s % 60].map((part, at) => String(Math.floor(part)).padStart(at ? 2 : 1, "0")).join(":");
    if (s < 60) return s.toFixed(s < 10 ? 2 : 1) + " s";
    const m = Math.floor(s / 60);
    return m < 60 ? m + " min " + String(Math.floor(s % 60)).padStart(2, "0") + " s"
                  : Math.floor(m / 60) + " h " + String(m % 60).padStart(2, "0") + " min";
  }
  function size(bytes) { return (bytes / 2 ** 30).toFixed(2) + " GiB"; }

  function settle() {
    const style = getComputedStyle(root);
    for (const key of ["ground", "text", "dim", "line", "lane", "object", "device", "link", "other", "hit", "way",
                       "chosen", "memory", "running", "tokens"])
      color[key] = style.getPropertyValue("--" + key).trim();
    wide = canvas.clientWidth || 800;
    lane = clamp(Math.floor(520 / lanes.length), 5, 24);
    tall = RULER + lanes.length * lane + 2 * (CHART + GAP) + 4;
    const dots = window.devicePixelRatio || 1;
    canvas.style.height = tall + "px";
    canvas.width = Math.round(wide * dots);
    canvas.height = Math.round(tall * dots);
    pen.setTransform(dots, 0, 0, dots, 0, 0);
    draw();
  }

  function later() {
    if (waits) return;
    waits = true;
    requestAnimationFrame(() => { waits = false; draw(); });
  }

  function firstSeen(list) {
    let low = 0, high = list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (end(list[middle]) < from) low = middle + 1; else high = middle;
    }
    return low;
  }

  function draw() {
    pen.fillStyle = color.ground;
    pen.fillRect(0, 0, wide, tall);
    pen.font = "12px system-ui, sans-serif";
    pen.textBaseline = "middle";
    ruler();
    lanes.forEach((list, number) => drawLane(list, RULER + number * lane, number));
    data.runs.forEach((one, number) => { if (number) line(across(one[0] * 1000), RULER, tall, color.dim, [4, 3]); });
    const top = RULER + lanes.length * lane + GAP;
    chart(top, "edges", [[running, color.running], [3, color.tokens]], value => String(value));
    chart(top + CHART + GAP, "memory", [[1, color.memory]], size);
  }

  function ruler() {
    const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 12e5, 18e5,
                   36e5, 72e5, 144e5, 288e5, 864e5];
    const step = steps.find(s => (to - from) / s < wide / 110) || (to - from) / 8;
    pen.textAlign = "left";
    for (let t = Math.ceil(from / step) * step; t < to; t += step) {
      line(across(t), 0, tall, color.line, []);
      pen.fillStyle = color.dim;
      pen.fillText(time(t, step), across(t) + 3, RULER / 2);
    }
  }

  function line(x, y0, y1, style, dashes) {
    pen.strokeStyle = style;
    pen.setLineDash(dashes);
    pen.beginPath();
    pen.moveTo(Math.round(x) + .5, y0);
    pen.lineTo(Math.round(x) + .5, y1);
    pen.stroke();
    pen.setLineDash([]);
  }

  function drawLane(list, y, number) {
    const inner = lane > 8 ? lane - 2 : lane - 1;
    pen.fillStyle = color.lane;
    pen.fillRect(LEFT, y, wide - LEFT, inner);
    if (lane >= 10 || number % 8 === 0) {
      pen.fillStyle = color.dim;
      pen.textAlign = "right";
      pen.fillText(String(number + 1), LEFT - 6, y + inner / 2);
    }
    pen.textAlign = "left";
    let drawn = -1;
    for (let at = firstSeen(list); at < list.length; at++) {
      const i = list[at];
      if (start[i] > to) break;
      const x0 = Math.max(across(start[i]), LEFT), x1 = Math.min(across(end(i)), wide);
      const special = onWay.has(i) || i === chosen;
      if (x1 <= drawn && !special) continue;  // smaller than a dot, and the dot is taken
      const width = Math.max(x1 - x0 - (x1 - x0 > 3 ? 1 : 0), 1);
      pen.globalAlpha = (matched && !matched.has(i) ? .2 : 1) * (data.last[i] ? 1 : .5);
      pen.fillStyle = outcome[i] === 1 ? color.hit : color[kinds[kind[i]]];
      pen.fillRect(x0, y, width, inner);
      pen.globalAlpha = 1;
      if (special) {
        pen.strokeStyle = i === chosen ? color.chosen : color.way;
        pen.lineWidth = 2;
        pen.strokeRect(x0 + 1, y + 1, Math.max(width - 2, 1), inner - 2);
        pen.lineWidth = 1;
      }
      if (width > 60 && lane >= 14) label(i, x0, y + inner / 2, width);
      drawn = Math.max(drawn, Math.floor(x0) + 1, x1 - x0 < 1 ? Math.ceil(x1) : x1);
    }
  }

  function label(i, x, y, width) {
    const last = name[i].slice(name[i].lastIndexOf("/") + 1);
    const room = Math.floor((width - 8) / 6.6);
    pen.fillStyle = color.ground;
    pen.fillText(last.length > room ? last.slice(0, Math.max(room - 1, 0)) + "…" : last, x + 4, y);
  }

  const running = 2;
  function chart(top, title, rows, text) {
    let high = 0;
    for (const [column] of rows) for (const point of data.points) high = Math.max(high, point[column] || 0);
    pen.fillStyle = color.lane;
    pen.fillRect(LEFT, top, wide - LEFT, CHART);
    pen.fillStyle = color.dim;
    pen.textAlign = "left";
    pen.fillText(high ? title + ", at most " + text(high) : title + ": nobody looked", LEFT + 4, top + 9);
    if (!high) return;
    for (const [column, style] of rows) {
      pen.strokeStyle = style;
      pen.lineWidth = 1.5;
      pen.beginPath();
      let open = false, lastX = -9, lastY = 0, before = -1;
      for (const point of data.points) {
        if (point[column] === null) { open = false; continue; }
        const x = across(point[0]), y = top + CHART - 2 - point[column] / high * (CHART - 20);
        const breaks = point[5] !== before;
        before = point[5];
        if (x < LEFT || x > wide) { open = open && x < LEFT && false; lastX = x; lastY = y; continue; }
        if (!open || breaks) pen.moveTo(x, y); else if (x - lastX >= .5 || Math.abs(y - lastY) > 1) pen.lineTo(x, y);
        open = true; lastX = x; lastY = y;
      }
      pen.stroke();
      pen.lineWidth = 1;
    }
  }

  function view(a, b) {
    const length = clamp(b - a, LEAST, whole);
    from = clamp(a, 0, whole - length);
    to = from + length;
    later();
  }
  function zoom(by, x) {
    const at = back(clamp(x, LEFT, wide));
    view(at - (at - from) * by, at + (to - at) * by);
  }
  function choose(i, moves) {
    chosen = i;
    said.textContent = i < 0 ? "Nothing is chosen." :
      name[i] + ": " + time(long[i]) + ", from " + time(start[i]) + " to " + time(end(i)) + ", slot " + (slot[i] + 1) +
      (data.runs.length > 1 ? ", run " + (run[i] + 1) : "") + (data.last[i] ? "" : ", made again later") +
      (outcome[i] ? ", " + outcomes[outcome[i]] : "") + (onWay.has(i) ? ", on the longest way" : "");
    if (i >= 0 && moves && (start[i] < from || end(i) > to)) {
      const length = Math.max(to - from, long[i] * 1.2);
      const middle = start[i] + long[i] / 2;
      view(middle - length / 2, middle + length / 2);
    }
    later();
  }
  function show(i) {
    const room = Math.max(long[i] * 4, 2000), middle = start[i] + long[i] / 2;
    view(middle - room / 2, middle + room / 2);
    choose(i, false);
    canvas.focus();
    canvas.scrollIntoView({block: "nearest"});
  }
  function under(x, y) {
    const list = lanes[Math.floor((y - RULER) / lane)];
    if (!list || x < LEFT) return -1;
    const t = back(x), slack = (to - from) / (wide - LEFT) * 2;
    let best = -1;
    for (let at = firstSeen(list); at < list.length && start[list[at]] <= t + slack; at++)
      if (end(list[at]) >= t - slack) best = list[at];
    return best;
  }
  function beside(by) {
    if (chosen < 0) return lanes[0].find(i => end(i) >= from) ?? -1;
    const list = lanes[slot[chosen]];
    return list[list.indexOf(chosen) + by] ?? chosen;
  }
  function another(by) {
    if (chosen < 0) return beside(0);
    const list = lanes[slot[chosen] + by], t = start[chosen] + long[chosen] / 2;
    if (!list || !list.length) return chosen;
    return list.reduce((best, i) =>
      Math.abs(start[i] + long[i] / 2 - t) < Math.abs(start[best] + long[best] / 2 - t) ? i : best);
  }
  function along() {
    const at = data.longest.indexOf(chosen);
    return data.longest[(at + 1) % data.longest.length] ?? -1;
  }

  canvas.addEventListener("keydown", event => {
    const step = (to - from) / 8, at = chosen < 0 ? -1 : across(start[chosen] + long[chosen] / 2);
    const middle = at >= LEFT && at <= wide ? at : LEFT + (wide - LEFT) / 2;
    const acts = {
      ArrowLeft: () => view(from - step, to - step), ArrowRight: () => view(from + step, to + step),
      "+": () => zoom(.6, middle), "=": () => zoom(.6, middle), "-": () => zoom(1 / .6, middle),
      0: () => view(0, whole), Home: () => view(0, to - from), End: () => view(whole - (to - from), whole),
      n: () => choose(beside(1), true), p: () => choose(beside(-1), true),
      ArrowUp: () => choose(another(-1), true), ArrowDown: () => choose(another(1), true),
      l: () => choose(along(), true), Escape: () => choose(-1, false),
    };
    if (!(event.key in acts) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    acts[event.key]();
  });
  canvas.addEventListener("wheel", event => {
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      const by = (event.deltaX || event.deltaY) / wide * (to - from);
      view(from + by, to + by);
    } else if (event.ctrlKey || document.activeElement === canvas) zoom(Math.exp(event.deltaY / 500), event.offsetX);
    else return;  // the page scrolls until the picture is chosen
    event.preventDefault();
  }, {passive: false});
  let held = null;
  canvas.addEventListener("pointerdown", event => {
    held = {x: event.offsetX, from, to, moved: false};
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", event => {
    if (!held) { canvas.title = (i => i < 0 ? "" : name[i] + "\n" + time(long[i]))(under(event.offsetX, event.offsetY)); return; }
    const by = (held.x - event.offsetX) / (wide - LEFT) * (held.to - held.from);
    held.moved = held.moved || Math.abs(held.x - event.offsetX) > 3;
    if (held.moved) view(held.from + by, held.to + by);
  });
  canvas.addEventListener("pointerup", event => {
    if (held && !held.moved) choose(under(event.offsetX, event.offsetY), false);
    held = null;
  });
  canvas.addEventListener("dblclick", event => zoom(.4, event.offsetX));

  let order = [], next = 0;
  document.getElementById("text").addEventListener("input", event => {
    const wanted = event.target.value.toLowerCase();
    order = [];
    if (wanted) for (let i = 0; i < count; i++) if (name[i].toLowerCase().includes(wanted)) order.push(i);
    matched = wanted ? new Set(order) : null;
    next = 0;
    document.getElementById("found").textContent = wanted ? order.length + " edges" : "";
    later();
  });
  document.getElementById("find").addEventListener("submit", event => {
    event.preventDefault();
    if (order.length) { show(order[next % order.length]); next++; document.getElementById("text").focus(); }
  });
  document.addEventListener("click", event => {
    const edge = event.target.dataset && event.target.dataset.edge;
    if (edge !== undefined) show(Number(edge));
  });
  document.getElementById("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    settle();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", settle);
  new ResizeObserver(() => { if (canvas.clientWidth !== wide) settle(); }).observe(canvas);
  settle();
  root.dataset.drawn = String(count);
})();
