"use strict";
{
  const every = (selector, act, within = document) => within.querySelectorAll(selector).forEach(act);

  every("[data-script]", (control) => { control.hidden = false; });

  // The choice lives as long as the page does: a page opened from a file may have no storage.
  const root = document.documentElement;
  const isDark = () => root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  const theme = document.getElementById("theme");
  const nameTheme = () => { theme.setAttribute("aria-label", isDark() ? "Use the light theme" : "Use the dark theme"); };
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    nameTheme();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", nameTheme);
  nameTheme();

  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  const textOf = (cell) => (cell.querySelector("[title]")?.title ?? cell.textContent).trim();
  const numberOf = (cell) => Number(cell.dataset.value ?? cell.textContent.replaceAll(",", ""));
  const compare = {
    text: (one, other) => collator.compare(textOf(one), textOf(other)),
    number: (one, other) => numberOf(one) - numberOf(other),
  };
  every("th[data-sort]", (head) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const first = head.dataset.sort === "number" ? "descending" : "ascending";
      const second = first === "ascending" ? "descending" : "ascending";
      const order = head.getAttribute("aria-sort") === first ? second : first;
      every("th[aria-sort]", (other) => other.removeAttribute("aria-sort"), head.parentNode);
      head.setAttribute("aria-sort", order);
      const sign = order === "ascending" ? 1 : -1;
      const body = head.closest("table").tBodies[0];
      const place = head.cellIndex;
      const rows = [...body.rows];
      rows.sort((one, other) => sign * compare[head.dataset.sort](one.cells[place], other.cells[place]));
      body.append(...rows);
    });
  });

  every("input[data-filter]", (field) => {
    const kept = [...document.getElementById(field.dataset.filter).children];
    const told = field.closest(".filter").querySelector("output");
    const wordsOf = (part) => {
      const copy = part.cloneNode(true);
      every(".hint", (hint) => hint.remove(), copy);
      return [copy.textContent, ...[...copy.querySelectorAll("[title]")].map((titled) => titled.title)].join(" ").toLowerCase();
    };
    let texts;
    field.addEventListener("input", () => {
      texts ??= kept.map(wordsOf);
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      kept.forEach((part, place) => {
        part.hidden = !words.every((word) => texts[place].includes(word));
        shown += part.hidden ? 0 : 1;
      });
      told.textContent = words.length ? `${shown.toLocaleString("en")} of ${kept.length.toLocaleString("en")} shown` : "";
    });
  });

  const openTarget = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    if (target instanceof HTMLDetailsElement) target.open = true;
  };
  addEventListener("hashchange", openTarget);
  openTarget();

  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    closed.forEach((part) => { part.open = true; });
  });
  addEventListener("afterprint", () => {
    closed.forEach((part) => { part.open = false; });
  });

  const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
  const seen = new IntersectionObserver((changes) => {
    changes.filter((change) => change.isIntersecting).forEach((change) => {
      links.forEach((link, name) => {
        if (name !== change.target.id) return link.removeAttribute("aria-current");
        link.setAttribute("aria-current", "true");
        link.closest("ul").scrollLeft = link.offsetLeft - 24;
      });
    });
  }, { rootMargin: "-20% 0px -75% 0px" });
  links.forEach((link, name) => seen.observe(document.getElementById(name)));
}
