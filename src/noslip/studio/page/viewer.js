// What the studio adds to viser's viewer. It runs before viser's own script, and knows no server:
// what it is told stands in attributes of the page (`data-link`, `data-show`,
// `data-finding`).
(() => {
  "use strict";

  // What the server must know at the start goes into the path of the socket, which viser takes
  // from the address: the color scheme and the width. The address is put right by the first link.
  const [, token, ...rest] = location.pathname.split("/");
  const state = rest.find((part) => part.startsWith("="));
  const scheme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  const facts = `~${scheme}-${Math.round(innerWidth)}`;
  const address = (...parts) => `/${[token, ...parts.filter(Boolean)].join("/")}/`;
  history.replaceState(null, "", address(state, facts));

  // Opens a section by its name: a tab, on a small screen also the panel it is in.
  const opened = (name) => {
    const tab = [...document.querySelectorAll('[role="tab"]')].find(
      (one) => one.textContent.trim() === name,
    );
    if (!tab) return undefined;
    tab.click(); // on a small screen; elsewhere a tab is chosen by its key
    tab.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
    return tab;
  };
  const open = (name) => {
    const tab = opened(name);
    if (tab) return tab.scrollIntoView({ block: "nearest" });
    const bar = [...document.querySelectorAll('[role="button"][aria-expanded="false"]')].find(
      (one) => one.textContent.split(" · ").includes(name),
    );
    if (!bar) return;
    bar.click();
    setTimeout(() => opened(name)?.scrollIntoView({ block: "start" }), 250);
  };

  // Folded groups with something that is searched for are open until the search ends. They are
  // known by name: one without a match is taken off the page and comes back as it was.
  const unfolded = new Set();
  const unfold = (isWanted) => {
    for (const group of document.querySelectorAll(".mantine-Paper-root[data-with-border]")) {
      const [label, content] = group.children;
      const isFolded = content?.getAttribute("aria-hidden") === "true";
      const name = label.textContent;
      if (isWanted && isFolded) {
        unfolded.add(name);
        label.click();
      } else if (!isWanted && unfolded.delete(name) && !isFolded) {
        label.click();
      }
    }
  };

  const heard = {};
  const changed = (key) => {
    const found = document.querySelector(`[data-${key}]`)?.dataset[key];
    if (found === undefined || found === heard[key]) return undefined;
    heard[key] = found;
    return found;
  };
  const obey = () => {
    const link = changed("link");
    if (link !== undefined) history.replaceState(null, "", address(link));
    const show = changed("show"); // "3 Plots": the number tells two requests apart
    if (show) open(show.slice(show.indexOf(" ") + 1));
    const finding = document.querySelector("[data-finding]")?.dataset.finding ?? "";
    if (finding !== (heard.finding ?? "") || (finding === "" && unfolded.size)) {
      heard.finding = finding;
      unfold(finding !== "");
    }
  };
  new MutationObserver(obey).observe(document, {
    childList: true,
    subtree: true,
    attributes: true,
    attributeFilter: ["data-link", "data-show", "data-finding"],
  });
  document.addEventListener("click", (event) => {
    const wanted = event.target.closest?.("[data-open]");
    if (wanted) open(wanted.dataset.open);
  });
})();
