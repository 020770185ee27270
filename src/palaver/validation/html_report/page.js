"use strict";
{
  const every = (selector, act, within = document) => within.querySelectorAll(selector).forEach(act);

  every("[data-script]", (control) => { control.hidden = false; });

  // The choice lasts as long as the page is open: a page opened from a file may have no storage.
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
    text: (left, right) => collator.compare(textOf(left), textOf(right)),
    number: (left, right) => numberOf(left) - numberOf(right),
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
      const column = head.cellIndex;
      const rows = [...body.rows];
      rows.sort((left, right) => sign * compare[head.dataset.sort](left.cells[column], right.cells[column]));
      body.append(...rows);
    });
  });

  every("input[data-filter]", (field) => {
    const items = [...document.getElementById(field.dataset.filter).children];
    const status = field.closest(".filter").querySelector("output");
    const textOfItem = (item) => {
      const copy = item.cloneNode(true);
      every(".hint", (hint) => hint.remove(), copy);
      return [copy.textContent, ...[...copy.querySelectorAll("[title]")].map((titled) => titled.title)].join(" ").toLowerCase();
    };
    let texts;
    field.addEventListener("input", () => {
      texts ??= items.map(textOfItem);
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      items.forEach((item, index) => {
        item.hidden = !words.every((word) => texts[index].includes(word));
        shown += item.hidden ? 0 : 1;
      });
      status.textContent = words.length ? `${shown.toLocaleString("en")} of ${items.length.toLocaleString("en")} shown` : "";
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
