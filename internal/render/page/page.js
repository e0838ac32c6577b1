"use strict";
// Pages work without this script. It adds local times, zoom, and what changes meanwhile.
(() => {
  // The time where the reader is, to a millisecond. The date stands before it where it is another one than in UTC.
  const localOf = (at) => {
    const pad = (n, w) => String(n).padStart(w, "0");
    const date = `${at.getFullYear()}-${pad(at.getMonth() + 1, 2)}-${pad(at.getDate(), 2)} `;
    const time = `${pad(at.getHours(), 2)}:${pad(at.getMinutes(), 2)}:${pad(at.getSeconds(), 2)}.${pad(at.getMilliseconds(), 3)}`;
    return { full: date + time, brief: at.toISOString().startsWith(date.trim()) ? time : date + time };
  };

  // Each time is told in UTC. Its title, and a text behind it, tell it where the reader is. The axis of a timeline
  // has a line for it.
  const localTimes = (root) => {
    for (const t of root.querySelectorAll("text[data-local]:empty")) {
      const at = new Date(t.dataset.local);
      if (!isNaN(at) && at.getTimezoneOffset() !== 0) t.textContent = `      = ${localOf(at).brief} local`;
    }
    for (const t of root.querySelectorAll("title[data-from]")) { // the tip of a stretch of time
      const from = new Date(t.dataset.from), to = new Date(t.dataset.to);
      if (isNaN(from) || isNaN(to) || from.getTimezoneOffset() === 0) continue;
      t.textContent += `\n${localOf(from).full.slice(0, -7)} to ${localOf(to).full.slice(0, -7)} local time`;
      t.removeAttribute("data-from");
    }
    for (const t of root.querySelectorAll("time[datetime]:not([title])")) {
      const at = new Date(t.getAttribute("datetime"));
      if (isNaN(at)) continue;
      const local = localOf(at);
      t.title = `${local.full} local time`;
      if (at.getTimezoneOffset() !== 0 && !t.closest("summary")) {
        const also = document.createElement("span");
        also.className = "soft local";
        also.textContent = ` = ${local.brief} local`;
        t.after(also);
      }
    }
  };

  // A picture has buttons that change the part of it that is shown. The arrow keys move it.
  const drawn = new WeakMap(); // by figure: its HTML as it came
  const zooms = (root) => {
    for (const figure of root.querySelectorAll("figure.zoom")) {
      if (drawn.has(figure)) continue;
      drawn.set(figure, figure.innerHTML);
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

  // A link into what is folded opens it, and takes the focus there. Newer browsers do so by themselves.
  const reveal = (hash) => {
    let to = null;
    try { to = document.getElementById(decodeURIComponent(hash.slice(1))); } catch { return; } // no address of ours
    const folded = to?.closest("details:not([open])");
    if (!folded) return;
    folded.open = true;
    to.scrollIntoView();
    to.focus({ preventScroll: true });
  };
  document.addEventListener("click", (e) => {
    const link = e.target.closest?.('svg a[href^="#"]');
    if (link) setTimeout(() => reveal(link.getAttribute("href")));
  });
  addEventListener("hashchange", () => reveal(location.hash));

  localTimes(document);
  zooms(document);
  if (location.hash) reveal(location.hash);

  // A renewed page changes only the nodes that differ. What is open, focused, selected or typed stays.
  const main = document.querySelector("main[data-events]");
  if (!main) return;
  let fresh = 0; // findings that came since the page was opened

  // key tells which old node a new one continues: its id, or that of the details that a card is.
  const key = (n) => n.nodeType !== Node.ELEMENT_NODE ? "" : n.id || n.dataset.key || (n.nodeName === "ARTICLE" && n.firstElementChild?.id) || "";
  const selects = (n) => { const s = getSelection(); return !s.isCollapsed && s.containsNode(n, true); };

  // drop takes away what the renewed page does not have, except a card or row that somebody reads.
  const drop = (n) => {
    const listed = /^(ARTICLE|LI)$/.test(n.nodeName) && key(n);
    if (!listed || !(n.querySelector(":scope > details[open]") || n.contains(document.activeElement) || selects(n))) { n.remove(); return; }
    if (n.querySelector(":scope .left")) return;
    const left = document.createElement("p");
    left.className = "soft left";
    left.textContent = "It is not on this page any more, and not renewed here.";
    (n.querySelector(":scope > details > .body") ?? n).append(left);
  };

  const morph = (old, next) => {
    if (old.id === "live-state" || old.isEqualNode(next)) return;
    if (old.nodeName !== next.nodeName || old.nodeName === "svg") { old.replaceWith(next); return; }
    if (old.nodeType !== Node.ELEMENT_NODE) { old.data = next.data; return; }
    if (drawn.has(old)) { // a picture has buttons of its own
      if (drawn.get(old) !== next.innerHTML) old.replaceWith(next);
      return;
    }
    for (const a of [...old.attributes]) if (a.name !== "open" && !next.hasAttribute(a.name)) old.removeAttribute(a.name);
    for (const a of next.attributes) if (a.name !== "open" && old.getAttribute(a.name) !== a.value) old.setAttribute(a.name, a.value);
    const had = new Map(), wanted = new Set([...next.children].map(key));
    for (const c of old.children) if (key(c)) had.set(key(c), c);
    let at = old.firstChild;
    for (const n of [...next.childNodes]) {
      while (at && key(at) && !wanted.has(key(at))) { const gone = at; at = at.nextSibling; drop(gone); }
      let o = had.get(key(n));
      if (!key(n)) {
        o = at;
        const same = (x) => x && x.nodeName === n.nodeName && !key(x);
        if (!same(o) && n.nodeType === Node.ELEMENT_NODE) while (o && !(same(o) && o.className === n.className)) o = o.nextSibling;
        if (!same(o)) o = null;
      }
      if (!o) {
        if (had.size && key(n).startsWith("finding-")) {
          n.querySelector("details")?.removeAttribute("open");
          fresh++;
        }
        old.insertBefore(n, at);
        continue;
      }
      if (o === at) at = at.nextSibling;
      else old.insertBefore(o, at);
      morph(o, n);
    }
    while (at) { const gone = at; at = at.nextSibling; drop(gone); }
  };

  let busy = false, again = false;
  const renew = async () => {
    if (busy) { again = true; return; }
    busy = true;
    try {
      const answer = await fetch(location.href, { headers: { "Isowatch-Renew": "1" } });
      if (answer.ok) {
        const next = new DOMParser().parseFromString(await answer.text(), "text/html");
        const focused = document.activeElement;
        const figure = focused?.closest("figure.zoom");
        for (const part of next.querySelectorAll("[data-live]")) {
          const old = document.getElementById(part.id);
          if (!old) continue;
          localTimes(part);
          morph(old, part);
          zooms(old);
        }
        if (focused && focused !== document.activeElement) { // it was moved, or its picture is another one
          const to = focused.isConnected ? focused : (focused.id && document.getElementById(focused.id)) || (figure && document.querySelector("figure.zoom"));
          to?.focus({ preventScroll: true });
        }
        tell();
      }
    } catch { /* the service is away: the next event renews */ }
    busy = false;
    if (again || document.querySelector("[data-again]")) { again = false; setTimeout(renew, 1000); } // a part is still being read
  };
  let live = "", events = null;
  const tell = () => {
    const text = live + (live && fresh ? `, ${fresh} new` : ""), state = document.getElementById("live-state");
    if (state && state.textContent !== text) state.textContent = text;
  };

  // A hidden page does not follow: a browser has six connections to a service without HTTP/2, for all its
  // tabs. What changed before the connection is there is not told, so each one begins with a renewal.
  const follow = () => {
    if (document.hidden) {
      events?.close();
      events = null;
      live = "";
      tell();
      return;
    }
    if (events) return;
    events = new EventSource(main.dataset.events);
    events.addEventListener("change", renew);
    events.addEventListener("open", () => { live = "live"; tell(); renew(); });
    events.addEventListener("error", () => setTimeout(() => { // it connects again by itself, mostly at once
      if (!events || events.readyState === EventSource.OPEN) return;
      live = "not connected";
      tell();
    }, 2000));
  };
  document.addEventListener("visibilitychange", follow);
  follow();
})();
