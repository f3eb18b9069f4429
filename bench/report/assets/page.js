// Draws each chart from the JSON beside it, again when the reader changes
// between light and dark or the size of the window.
(function () {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  let charts = [];
  function draw() {
    charts.forEach(function (c) { c.dispose(); });
    charts = Array.from(document.querySelectorAll(".chart"), function (el) {
      const option = JSON.parse(el.parentElement.querySelector(".option").textContent);
      option.backgroundColor = "transparent";
      const chart = echarts.init(el, dark.matches ? "dark" : null);
      chart.setOption(option);
      return chart;
    });
  }
  draw();
  dark.addEventListener("change", draw);
  window.addEventListener("resize", function () {
    charts.forEach(function (c) { c.resize(); });
  });
})();
