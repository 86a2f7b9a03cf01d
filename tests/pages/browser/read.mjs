// SPDX-License-Identifier: MIT
//
// Reads a page's tables and charts back out of what the browser made of it.

// The tables of a part of the page: { caption, summary, headings: [{ text, isNumber }], rows: [[{ text, value }]] }. A cell's
// value is undefined where there is none to sort by. To HTML the end of a line before the next row belongs to the last cell.
export async function readTables(page, selector) {
	return page.evaluate((inPart) => Array.from(document.querySelectorAll(`${inPart} table`), (table) => ({
		caption: table.caption?.textContent ?? "",
		summary: table.closest("details")?.querySelector("summary").textContent,
		headings: Array.from(table.tHead.rows[0].cells, (cell) => (
			{ text: cell.textContent, isNumber: cell.classList.contains("n") })),
		rows: Array.from(table.tBodies[0].rows, (row) => Array.from(row.cells, (cell) => (
			{ text: cell.textContent.replace(/\n$/, ""), value: cell.dataset.v === undefined ? undefined : Number(cell.dataset.v) }))),
	})), selector);
}

// Runs in the page: a chart as what it is drawn of.
function chartsIn(inPart) {
	const number = (element, name) => Number(element.getAttribute(name));
	const colour = (element) => Array.from(element.classList).find((name) => /^s\d$/.test(name));
	const read = (svg) => {
		const body = svg.querySelector(":scope > g"), before = svg.closest(".chart").previousElementSibling;
		const texts = Array.from(body.querySelectorAll("text"), (text) => ({
			x: number(text, "x"), y: number(text, "y"), anchor: text.getAttribute("text-anchor"), text: text.textContent }));
		const legend = Array.from(svg.querySelectorAll(":scope > path"), (square) => (
			{ colour: colour(square), name: square.nextElementSibling.textContent }));
		return {
			heading: before?.matches("h3") ? before.textContent : null,
			label: svg.getAttribute("aria-label"),
			legend: legend.length ? legend : null,
			bars: Array.from(body.querySelectorAll("path")).filter(colour).map((path) => (
				{ colour: colour(path), d: path.getAttribute("d") })),
			ticks: texts.filter((text) => text.anchor === "middle"),
			names: texts.filter((text) => text.anchor === "end"),
			sums: texts.filter((text) => text.anchor === "start"),
			ranges: Array.from(body.querySelectorAll("path.range"), (path) => path.getAttribute("d")).join(""),
			rows: Array.from(body.querySelectorAll("rect.row"), (rect) => (
				{ y: number(rect, "y"), height: number(rect, "height"), title: rect.querySelector("title").textContent })),
		};
	};
	return Array.from(document.querySelectorAll(`${inPart} svg`), read);
}

const PART = /M(-?[\d.]+) (-?[\d.]+)h([\d.]+)v([\d.]+)h-([\d.]+)z/g;
const MARK = /M(-?[\d.]+) (-?[\d.]+)m-\d[- ]\d[^Mz]*z/g, RANGE = /M(-?[\d.]+) (-?[\d.]+)H(-?[\d.]+)/g;

// The charts of a part of the page, with the parts of the bars, the marks and the ranges:
// { heading, legend, ticks, rows: [{ name, title, sum, values, parts: { colour: { from, width } }, marks: { colour: x }, range }] }.
export async function readCharts(page, selector) {
	const charts = await page.evaluate(chartsIn, selector);
	for (const chart of charts) {
		const at = (list, row) => list.filter((one) => one.y > row.y && one.y <= row.y + row.height);
		for (const row of chart.rows) {
			row.name = at(chart.names, row).map((text) => text.text).join("");
			row.values = at(chart.sums, row);
			[row.sum] = row.values;
			row.parts = {};
			row.marks = {};
		}
		const rowAt = (y) => chart.rows.find((one) => Number(y) >= one.y && Number(y) < one.y + one.height);
		for (const [, from, y, until] of chart.ranges.matchAll(RANGE))
			rowAt(y).range = { from: Number(from), until: Number(until) };
		for (const { colour, d } of chart.bars) {
			for (const [, from, y, width] of d.matchAll(PART))
				rowAt(y).parts[colour] = { from: Number(from), width: Number(width) };
			for (const [, x, y] of d.matchAll(MARK))
				rowAt(y).marks[colour] = Number(x);
			if (d.replace(PART, "").replace(MARK, "") !== "")
				throw new Error(`${chart.label}: bars are drawn in a form that this test does not know: ${d.slice(0, 80)}`);
		}
	}
	return charts;
}

// The plane of a roofline: the texts at the axes with their places, the marks with theirs and their titles, and how far the lines
// and marks lie beyond the axes.
export async function readPlane(page, selector) {
	return page.locator(selector).first().evaluate((svg) => {
		const texts = Array.from(svg.querySelectorAll("g text"));
		const grid = Array.from(svg.querySelectorAll("g .grid"), (path) => path.getAttribute("d"));
		const placed = (anchor, along) => texts.filter((text) => text.getAttribute("text-anchor") === anchor)
			.map((text, i) => ({ at: along[i], text: text.textContent })).filter((tick) => tick.at !== undefined);
		const columns = grid.flatMap((d) => d.match(/^M(\S+) \S+V/)?.slice(1).map(Number) ?? []);
		const rows = grid.flatMap((d) => d.match(/^M\S+ (\S+)H/)?.slice(1).map(Number) ?? []);
		const marks = Array.from(svg.querySelectorAll("g path[class^=s]"), (path) => {
			const [, x, y] = /^M(\S+) (\S+?)m/.exec(path.getAttribute("d"));
			return { x: Number(x), y: Number(y), title: path.querySelector("title").textContent };
		});
		const corners = Array.from(svg.querySelectorAll("g .roof"), (path) => path.getAttribute("d"))
			.flatMap((d) => Array.from(d.matchAll(/[ML](\S+) ([\d.-]+)/g), ([, x, y]) => ({ x: Number(x), y: Number(y) })));
		const beyond = [...marks, ...corners].map(({ x, y }) => Math.max(Math.min(...columns) - x, x - Math.max(...columns),
			Math.min(...rows) - y, y - Math.max(...rows)));
		return { x: placed("middle", columns), y: placed("end", rows), marks, beyond: Math.max(0, ...beyond) };
	});
}
