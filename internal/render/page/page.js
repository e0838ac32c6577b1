"use strict";
// Pages work without this script. It adds local times, zoom, and what changes meanwhile.
(() => {
  // Each time is told in UTC. Its title, and a text behind it, tell it where the reader is.
  const localTimes = (root) => {
    for (const t of root.querySelectorAll("time[datetime]:not([title])")) {
      const at = new Date(t.getAttribute("datetime"));
      if (isNaN(at)) continue;
      const pad = (n, w) => String(n).padStart(w, "0");
      const local = `${at.getFullYear()}-${pad(at.getMonth() + 1, 2)}-${pad(at.getDate(), 2)} ${pad(at.getHours(), 2)}:${pad(at.getMinutes(), 2)}:${pad(at.getSeconds(), 2)}.${pad(at.getMilliseconds(), 3)}`;
      t.title = `${local} local time`;
      if (at.getTimezoneOffset() !== 0 && !t.closest("summary")) {
        const also = document.createElement("span");
        also.className = "soft local";
        also.textContent = ` = ${local} local`;
        t.after(also);
      }
    }
  };

  // A picture has buttons that change the part of it that is shown. The arrow keys move it.
  const zooms = (root) => {
    for (const figure of root.querySelectorAll("figure.zoom:not(.ready)")) {
      figure.classList.add("ready");
      const bar = document.createElement("div");
      bar.className = "zoombar";
      const each = (change) => { for (const svg of figure.querySelectorAll("svg")) change(svg); };
      const whole = new Map();
      each((svg) => whole.set(svg, svg.getAttribute("viewBox").split(" ").map(Number)));
      const look = (factor, dx, dy) => each((svg) => {
        const [x, y, w, h] = svg.getAttribute("viewBox").split(" ").map(Number);
        const all = whole.get(svg);
        const nw = Math.min(w * factor, all[2]), nh = Math.min(h * factor, all[3]);
        const clamp = (v, low, high) => Math.min(Math.max(v, low), Math.max(low, high));
        svg.setAttribute("viewBox", [
          clamp(x + (w - nw) / 2 + dx * w, all[0], all[0] + all[2] - nw),
          clamp(y + (h - nh) / 2 + dy * h, all[1], all[1] + all[3] - nh), nw, nh].join(" "));
      });
      const button = (text, label, act) => {
        const b = document.createElement("button");
        b.type = "button"; b.textContent = text; b.setAttribute("aria-label", label); b.addEventListener("click", act);
        bar.append(b);
      };
      button("+", "Zoom in", () => look(0.8, 0, 0));
      button("−", "Zoom out", () => look(1.25, 0, 0));
      button("Whole picture", "Whole picture", () => each((svg) => svg.setAttribute("viewBox", whole.get(svg).join(" "))));
      figure.prepend(bar);
      figure.tabIndex = 0;
      figure.addEventListener("keydown", (e) => {
        const act = { "+": [0.8, 0, 0], "-": [1.25, 0, 0], ArrowLeft: [1, -0.1, 0], ArrowRight: [1, 0.1, 0], ArrowUp: [1, 0, -0.1], ArrowDown: [1, 0, 0.1] }[e.key];
        if (!act || e.target !== figure) return;
        look(...act);
        e.preventDefault();
      });
      figure.addEventListener("wheel", (e) => {
        if (!e.ctrlKey) return;
        look(e.deltaY < 0 ? 0.9 : 1.1, 0, 0);
        e.preventDefault();
      }, { passive: false });
    }
  };

  const start = (root) => { localTimes(root); zooms(root); };
  start(document);

  // What is open stays open when the page is renewed.
  const main = document.querySelector("main[data-events]");
  if (!main) return;
  let busy = false, again = false;
  const renew = async () => {
    if (busy) { again = true; return; }
    busy = true;
    try {
      const answer = await fetch(location.href, { headers: { "Isowatch-Renew": "1" } });
      if (answer.ok) {
        const next = new DOMParser().parseFromString(await answer.text(), "text/html");
        for (const part of next.querySelectorAll("[data-live]")) {
          const old = document.getElementById(part.id);
          if (!old || old.isEqualNode(part)) continue;
          if (old.contains(document.activeElement) && /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) continue;
          const open = new Set([...old.querySelectorAll("details[id]")].map((d) => d.id + (d.open ? "+" : "-")));
          const focus = document.activeElement && old.contains(document.activeElement) ? document.activeElement.id : "";
          for (const d of part.querySelectorAll("details[id]")) {
            if (open.has(d.id + "+")) d.open = true;
            else if (open.has(d.id + "-")) d.open = false;
          }
          old.replaceWith(part);
          start(part);
          if (focus) document.getElementById(focus)?.focus();
        }
      }
    } catch { /* the service is away: the next event renews */ }
    busy = false;
    if (again) { again = false; setTimeout(renew, 1000); }
  };
  const events = new EventSource(main.dataset.events);
  events.addEventListener("change", renew);
  const state = document.getElementById("live-state");
  events.addEventListener("open", () => { if (state) state.textContent = "live"; });
  events.addEventListener("error", () => { if (state) state.textContent = "not connected"; });
})();
