/* Puts the charts of a sweep in place of each drawing behind which its data stands. */
(function () {
	"use strict";
	const {ON_FRONT, element, read, Filters, filterPanel, filterCount} = npulabSweep, {Scatter, Parallel, HeatMap, Point} = npulabSweep.views;

	function start(script) {
		const data = read(script), drawing = script.previousElementSibling;
		if (data.n === 0 || data.columns.filter((column) => !column.isConstant).length < 2)
			return null;
		const filters = new Filters(data), point = new Point(data, (i) => {
			scatter.chosen = scatter.cursor = parallel.chosen = i;
			scatter.draw();
			parallel.draw();
		});
		const open = (i) => point.open(i), scatter = new Scatter(data, filters, open), parallel = new Parallel(data, filters, open), map = new HeatMap(data, filters, open);
		const charts = [scatter, parallel, map], explorer = element("div", {class: "explorer"}, filterPanel(filters), filterCount(filters), scatter.figure, point.panel, parallel.figure, map.figure);
		script.before(explorer);
		if (drawing?.matches(".chart"))
			drawing.classList.add("replaced");
		charts.forEach((chart) => chart.place());
		/* Machines for different networks are no alternatives: the charts begin with one of the networks. */
		const models = data.columns.find((column) => column.name === "model" && column.codes && column.table.length > 1);
		if (models)
			filters.set(models, {passes: models.table.map((_, code) => code === models.places[0])});
		const first = [models ? -1 : data.knee, scatter.knee, scatter.front[0] ?? -1, data.flags.findIndex((flag) => flag & ON_FRONT), 0].find((i) => i >= 0);
		open(first);
		/* The chart that a reader looks at may be any: each is drawn in a frame of its own, so that a brush never waits for all. */
		let waits = 0;
		filters.listeners.push(() => {
			scatter.update();
			cancelAnimationFrame(waits);
			waits = requestAnimationFrame(() => {
				parallel.draw();
				waits = requestAnimationFrame(() => map.draw());
			});
		});
		matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => charts.forEach((chart) => chart.draw()));
		let width = explorer.clientWidth;
		new ResizeObserver(() => {
			if (explorer.clientWidth !== width)
				charts.forEach((chart) => chart.draw());
			width = explorer.clientWidth;
		}).observe(explorer);
		return {data, filters, scatter, parallel, map, point};
	}
	npulabSweep.started = Array.from(document.querySelectorAll("script.data-points"), start);
})();
