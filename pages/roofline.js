"use strict";
/* The roofline as a chart whose devices can be chosen and whose points say what they are. It is drawn by Chart.js from the two
 * tables below it, of the roofs and of the points; without Chart.js the drawing that is there stays. */
(function () {
	const drawing = document.getElementById("chart-roofline"), tables = document.querySelectorAll("table[data-of=roofline]");
	if (typeof Chart === "undefined" || !drawing || tables.length < 2)
		return;
	/* The marks of the drawing (page_mark), by Chart.js's names, and as paths for the choice of devices. */
	const shapes = [["rectRot", 0, "-5 0l5-5 5 5-5 5z"], ["rect", 0, "-4-4h8v8h-8z"], ["triangle", 0, "-5 4l5-9 5 9z"],
		["triangle", 180, "-5-4l5 9 5-9z"]];
	const devices = Array.from(new Set(rows(tables[0]).concat(rows(tables[1])).map((row) => row.cells[0].textContent)));
	const shown = new Set(devices), canvas = document.createElement("canvas");
	let chart = null;

	function rows(table) {
		return Array.from(table.tBodies[0].rows);
	}
	function number(row, column) {
		return row.cells[column].dataset.v === undefined ? NaN : Number(row.cells[column].dataset.v);
	}
	function colour(name) {
		return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
	}
	/* As page_is_drawable in C. */
	function has_place(value) {
		return value >= 1e-100 && value <= 1e100;
	}
	function of_device(device, table) {
		return rows(table).filter((row) => !row.hidden && row.cells[0].textContent === device);
	}
	function points(device) {
		return of_device(device, tables[1]).map((row) => ({x: number(row, 3), y: number(row, 4), row: row}))
			.filter((point) => has_place(point.x) && has_place(point.y));
	}
	function si(value) {
		const step = Math.max(0, Math.min(5, Math.floor(Math.log10(value) / 3)));
		return String(Number((value / 1000 ** step).toPrecision(3))) + " " + ["", "k", "M", "G", "T", "P"][step];
	}
	/* The corners of a roof: where it leaves the plane on the left, its ridge, and where it leaves on the right. */
	function corners(row, least, most) {
		const peak = number(row, 2), rate = number(row, 3), ridge = peak / rate / 2;
		if (!has_place(peak))
			return [];
		if (!(rate > 0) || !has_place(ridge) || ridge <= least)
			return [{x: least, y: peak}, {x: most, y: peak}];
		return [{x: least, y: 2 * rate * least}, {x: ridge, y: peak}, {x: Math.max(most, ridge), y: peak}];
	}
	function datasets() {
		const list = [], x = devices.flatMap(points).map((point) => point.x);
		const ridges = rows(tables[0]).map((row) => number(row, 4)).filter(has_place);
		const least = Math.min(...x, ...ridges) / 2, most = Math.max(...x, ...ridges) * 2;
		devices.forEach((device, i) => {
			const of_series = {borderColor: colour("--s" + i), backgroundColor: colour("--s" + i)};
			if (!shown.has(device))
				return;
			list.push({...of_series, label: device, data: points(device), pointStyle: shapes[i % 4][0], rotation: shapes[i % 4][1], radius: 5, hoverRadius: 8});
			for (const row of of_device(device, tables[0]))
				list.push({...of_series, label: device, roof: row.cells[1].textContent, data: corners(row, least, most), showLine: true, pointRadius: 0,
					pointHitRadius: 0, borderWidth: 2});
		});
		return list;
	}
	function describe(item) {
		const row = item.raw.row;
		return row ? [row.cells[1].textContent, item.dataset.label + ": " + row.cells[4].textContent,
			row.cells[3].textContent + " MAC/B", row.cells[6].textContent + " of the roof"] : [];
	}
	function is_power_of_ten(tick) {
		return Math.abs(Math.log10(tick.value) - Math.round(Math.log10(tick.value))) < 1e-6;
	}
	function scale(title) {
		return {type: "logarithmic", title: {display: true, text: title, color: colour("--text")},
			grid: {color: colour("--line")}, ticks: {color: colour("--quiet"), maxRotation: 0, callback: si},
			afterBuildTicks: (axis) => {
				axis.ticks = axis.ticks.filter(is_power_of_ten);
			}};
	}
	/* Writes the number format of each roof above its right end. */
	const roof_names = {id: "roof_names", afterDatasetsDraw: (drawn) => {
		const {ctx, chartArea: area, scales} = drawn;
		ctx.save();
		ctx.font = "11px system-ui, sans-serif";
		ctx.textAlign = "right";
		ctx.fillStyle = colour("--quiet");
		for (const {roof, data} of drawn.data.datasets)
			if (roof && data.length) {
				ctx.fillText(roof, area.right - 2, scales.y.getPixelForValue(data[data.length - 1].y) - 4);
			}
		ctx.restore();
	}};
	function draw() {
		if (chart)
			chart.destroy();
		chart = new Chart(canvas, {type: "scatter", plugins: [roof_names], data: {datasets: datasets()}, options: {
			animation: false, responsive: true, maintainAspectRatio: false,
			scales: {x: scale("intensity: multiply-accumulates per byte of the device's memory"), y: scale("operations per second")},
			plugins: {legend: {display: false}, tooltip: {callbacks: {label: describe}}}}});
	}
	function chooser(device, i) {
		const label = document.createElement("label"), box = document.createElement("input"), mark = document.createElement("span");
		mark.innerHTML = `<svg viewBox="-6 -6 12 12" aria-hidden="true"><path class="s${i}" d="M0 0m${shapes[i % 4][2]}"/></svg>`;
		box.type = "checkbox";
		box.checked = true;
		mark.className = "mark";
		box.addEventListener("change", () => {
			shown[box.checked ? "add" : "delete"](device);
			draw();
		});
		label.append(box, mark, device);
		return label;
	}

	const part = document.createElement("div"), choice = document.createElement("fieldset"), legend = document.createElement("legend");
	legend.append("Devices of the chart");
	choice.append(legend, ...devices.map(chooser));
	part.className = "canvas";
	canvas.setAttribute("role", "img");
	canvas.setAttribute("aria-label", drawing.querySelector("svg").getAttribute("aria-label") + ". The tables below have its figures.");
	part.append(canvas);
	drawing.before(choice, part);
	drawing.classList.add("replaced");
	tables[1].closest(".searched").addEventListener("chosen", draw);
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
	draw();
})();
