"use strict";
// Draws the plots of the page in its colours, light, dark or on paper, switches between their choices, and filters the
// sample responses.
(async () => {
  const root = document.documentElement;
  const status = (text) => document.querySelectorAll(".plot").forEach((place) => (place.textContent = text));

  // Until the button is pressed the page follows the reader's system.
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches);
  const drawings = [];
  const theme = document.body.appendChild(document.createElement("button"));
  theme.id = "theme";
  const recolor = () => {
    theme.textContent = isDark() ? "light" : "dark";
    drawings.forEach((draw) => draw());
  };
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    recolor();
  });
  prefersDark.addEventListener("change", recolor);
  recolor();

  // Paper is light, and within the margins of A4 and of Letter.
  const PAPER = { width: 680, height: 330 };
  let onPaper = false;
  let onScreen = "";
  addEventListener("beforeprint", () => {
    [onPaper, onScreen, root.dataset.theme] = [true, root.dataset.theme ?? "", "light"];
    recolor();
  });
  addEventListener("afterprint", () => {
    [onPaper, root.dataset.theme] = [false, onScreen];
    recolor();
    // Plotly.react() alone keeps the paper's width.
    document.querySelectorAll(".js-plotly-plot").forEach((place) => Plotly.Plots.resize(place));
  });

  document.querySelectorAll("[data-filter]").forEach((row) => {
    row.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      press(row, button);
      const wanted = [...document.querySelectorAll("[data-filter]")].map((other) => [
        other.dataset.filter,
        other.querySelector("[aria-pressed=true]").value,
      ]);
      document.querySelectorAll(".sample").forEach((sample) => {
        sample.hidden = !wanted.every(([key, value]) => !value || sample.dataset[key] === value);
      });
      const count = document.querySelectorAll(".sample:not([hidden])").length;
      document.getElementById("samples-shown").textContent = `${count} shown`;
    });
  });

  const plots = JSON.parse(document.getElementById("plots").textContent);
  if (!plots.length) return;
  if (typeof DecompressionStream === "undefined") {
    status("This browser is too old for the interactive plots; the tables below and the PNG files have the same numbers.");
    return;
  }
  const packed = Uint8Array.from(atob(document.getElementById("plotly").textContent), (c) => c.charCodeAt(0));
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.textContent = await new Response(unpacked).text();
  document.head.append(script);

  // Named one by one: the default bar also has buttons that send a plot elsewhere.
  const config = { responsive: true, displaylogo: false, modeBarButtons: [["toImage", "zoom2d", "resetScale2d"]] };
  for (const plot of plots) {
    const place = document.getElementById(`plot-${plot.name}`);
    const chosen = [...plot.choices[0].labels];
    const draw = () => {
      const choice = plot.choices.find((one) => one.labels.every((label, i) => label === chosen[i]));
      place.dataset.shown = choice.labels.join(" / ");
      const { data, layout } = colored(choice);
      // As long as it shows the same, what was hidden or enlarged in it stays so.
      Object.assign(layout, { uirevision: place.dataset.shown }, onPaper && PAPER);
      return Plotly.react(place, data, layout, config);
    };
    chosen.forEach((_, i) => {
      const labels = [...new Set(plot.choices.map((choice) => choice.labels[i]))];
      if (labels.length < 2) return;
      const row = document.createElement("div");
      row.className = "choices";
      for (const label of labels) {
        const button = document.createElement("button");
        button.textContent = label;
        button.setAttribute("aria-pressed", label === chosen[i]);
        button.addEventListener("click", () => {
          chosen[i] = label;
          press(row, button);
          draw();
        });
        row.append(button);
      }
      place.before(row);
    });
    place.textContent = "";
    drawings.push(draw);
    await draw();
  }
  document.body.dataset.drawn = plots.length;

  // plotly.js knows no CSS variables: each is replaced by the colour that it has now.
  function colored(choice) {
    const probe = document.body.appendChild(document.createElement("i"));
    const canvas = document.createElement("canvas").getContext("2d");
    const hex = (name) => {
      probe.style.color = `var(${name})`;
      canvas.fillStyle = getComputedStyle(probe).color;
      return canvas.fillStyle;
    };
    const put = (_, name, opacity) => `"${hex(name)}${opacity}"`;
    const found = JSON.parse(JSON.stringify(choice).replace(/"var\((--[a-z]+)\)([0-9a-f]*)"/g, put));
    probe.remove();
    return found;
  }

  function press(row, button) {
    row.querySelectorAll("button").forEach((other) => other.setAttribute("aria-pressed", other === button));
  }
})();
