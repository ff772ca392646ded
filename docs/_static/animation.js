// Plays the steps of a figure: its groups and list items with the same data-step are one step.
// Plays by itself once, when it comes into view, unless the reader prefers no motion.
"use strict";

const SECONDS = 4;
const STILL = window.matchMedia("(prefers-reduced-motion: reduce)");

function play(figure) {
  const items = [...figure.querySelectorAll("[data-step]")];
  const count = 1 + Math.max(...items.map((item) => Number(item.dataset.step)));
  const captions = figure.querySelector("ol");
  let step = 0;
  let timer = null;

  const controls = document.createElement("div");
  controls.className = "moving-controls";
  const button = (label, name, action) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = label;
    made.setAttribute("aria-label", name);
    made.addEventListener("click", action);
    controls.append(made);
    return made;
  };
  const stop = () => {
    clearInterval(timer);
    timer = null;
    captions.setAttribute("aria-live", "polite"); // spoken when the reader steps, not as it plays
    toggle.textContent = "Play";
    toggle.setAttribute("aria-label", "Play");
  };
  const start = () => {
    if (step === count - 1) show(0);
    captions.setAttribute("aria-live", "off");
    timer = setInterval(() => (step < count - 1 ? show(step + 1) : stop()), 1000 * SECONDS);
    toggle.textContent = "Pause";
    toggle.setAttribute("aria-label", "Pause");
  };
  const show = (number) => {
    step = number;
    for (const item of items) {
      item.toggleAttribute("hidden", Number(item.dataset.step) !== step);
      item.style.display = Number(item.dataset.step) === step ? "" : "none";
    }
    place.textContent = `${step + 1} of ${count}`;
    back.disabled = step === 0;
    next.disabled = step === count - 1;
  };
  const go = (number) => {
    stop();
    show(Math.min(Math.max(number, 0), count - 1));
  };
  const back = button("Back", "One step back", () => go(step - 1));
  const toggle = button("Play", "Play", () => (timer === null ? start() : stop()));
  const next = button("Next", "One step on", () => go(step + 1));
  const place = document.createElement("span");
  controls.append(place);
  figure.prepend(controls);
  figure.classList.add("is-moving");
  figure.addEventListener("keydown", (event) => {
    if (event.key === "ArrowLeft") go(step - 1);
    else if (event.key === "ArrowRight") go(step + 1);
    else return;
    event.preventDefault();
  });
  show(0);
  if (!STILL.matches && "IntersectionObserver" in window) {
    const watcher = new IntersectionObserver(
      (entries) => {
        if (!entries.some((entry) => entry.isIntersecting)) return;
        watcher.disconnect();
        if (step === 0 && timer === null) start();
      },
      { threshold: 0.6 },
    );
    watcher.observe(figure);
  }
}

document.querySelectorAll("[data-moving]").forEach(play);
