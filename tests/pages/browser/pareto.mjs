// SPDX-License-Identifier: MIT
//
// The page of a sweep (npulab.pareto/1), held against its JSON: the table of the front, the drawing of it, the data of all points,
// and what the charts make of it. Which points a filter leaves, which of them are a front or the best of a cell, and where a
// point is drawn, is computed here a second time, from the JSON.
import { readFileSync } from "node:fs";
import { checkHeadings } from "./cells.mjs";
import { isSame } from "./figures.mjs";
import { readTables } from "./read.mjs";

const NEAR = 2e-6; // figures have seven digits on the page
const DRAWN_TO = 0.06, PIXELS_TO = 1.5;
const LOOKED_AT = 20; // points that are opened one by one

const isNear = (a, b) => a === b || Math.abs(a - b) <= NEAR * Math.max(Math.abs(a), Math.abs(b));
const differ = (values) => values.some((value) => value !== values[0]);

// The points as objects, with a list of what has a column.
function pointsOf(root) {
	const columns = [...root.parameters, ...root.metrics, ...root.objectives.map((one) => ({ ...one, name: one.expression }))];
	const onFront = new Set(root.front.map(({ id }) => id));
	return root.points.id.map((id, i) => ({
		id, i, feasible: root.points.feasible[i], isOnFront: onFront.has(id), values: Object.fromEntries(columns.map(({ name, values }) => [name, values[i]])) }));
}
const signOf = ({ direction }) => (direction === "maximise" ? -1 : 1);

// ---- The table of the front.

function checkTable(table, root, wrong) {
	const columns = root.parameters.filter(({ name }) => differ(root.front.map(({ parameters }) => parameters[name])));
	checkHeadings(table, ["point", ...columns.map(({ name, unit }) => (unit ? `${name}, ${unit}` : name)), ...root.objectives.map(({ expression }) => expression), "remark"], wrong);
	if (table.rows.length !== root.front.length)
		wrong(`the table of the front has ${table.rows.length} rows for ${root.front.length} points`);
	root.front.forEach((point, k) => {
		const row = table.rows[k], place = `front, point ${point.id}`;
		const expected = [point.id, ...columns.map(({ name }) => point.parameters[name]), ...point.objectives];
		expected.forEach((value, c) => {
			if (typeof value === "number" ? !isSame(row[c].value, value) : row[c].text !== (value ?? ""))
				wrong(`${place}: ${table.headings[c].text} is ${row[c].text} (${row[c].value}), the JSON has ${value}`);
		});
		const best = root.objectives.filter((one, o) => root.front.every(({ objectives }) => signOf(one) * (objectives[o] - point.objectives[o]) >= 0));
		const words = [...(point.knee && root.front.length > 2 ? ["knee"] : []), ...best.map((one) => `${one.direction === "maximise" ? "most" : "least"} ${one.expression}`)];
		if (row[row.length - 1].text !== words.join(", "))
			wrong(`${place}: the remark is "${row[row.length - 1].text}", expected "${words.join(", ")}"`);
	});
	return root.front.length;
}

// ---- The drawing.

// Runs in the page: the marks of the front with their titles, the squares of the others, and the lines of the grid.
function drawingOf(selector) {
	const svg = document.querySelector(`${selector} svg`);
	const marks = Array.from(svg.querySelectorAll("g path.s1:not(.roof)"), (path) => {
		const [, x, y] = /^M(\S+) (\S+?)m/.exec(path.getAttribute("d"));
		return { x: Number(x), y: Number(y), title: path.querySelector("title").textContent };
	});
	const squares = (style) => Array.from(svg.querySelector(`g path.${style}`).getAttribute("d").matchAll(/M(\d+) (\d+)h(\d+)/g), ([, x, y, wide]) => ({ x: Number(x), y: Number(y), wide: Number(wide) }));
	return { marks, good: squares("s0"), bad: squares("s6"), texts: Array.from(svg.querySelectorAll("text"), (text) => text.textContent) };
}

// Marks lie on a line, or on one of logarithms, of their values.
function checkAxis(marks, key, values, expression, wrong) {
	const isIn = (transform) => {
		const [first, last] = [values.indexOf(Math.min(...values)), values.indexOf(Math.max(...values))], span = transform(values[last]) - transform(values[first]);
		return marks.every((mark, k) => Math.abs(marks[first][key] + (transform(values[k]) - transform(values[first])) / (span || 1) * (marks[last][key] - marks[first][key]) - mark[key]) <= 2 * DRAWN_TO);
	};
	if (!isIn((value) => value) && !isIn(Math.log))
		wrong(`the drawing: ${expression} of the front lies neither evenly nor logarithmically`);
}

async function checkDrawing(page, root, wrong) {
	const { marks, good, bad, texts } = await page.evaluate(drawingOf, "#chart-front-drawing"), points = pointsOf(root);
	if (marks.length !== root.front.length) {
		wrong(`the drawing has ${marks.length} marks for ${root.front.length} points of the front`);
		return 0;
	}
	root.front.forEach((point, k) => {
		if (!marks[k].title.startsWith(`point ${point.id}`))
			wrong(`the drawing: the mark ${k} is "${marks[k].title.slice(0, 30)}", expected point ${point.id}`);
	});
	if (root.objectives.length > 1)
		["x", "y"].forEach((key, o) => checkAxis(marks, key, root.front.map(({ objectives }) => objectives[o]), root.objectives[o].expression, wrong));
	if (root.front.length > 2 && !texts.includes("knee"))
		wrong("the drawing: the knee is not named");
	if ((good.length > 0) !== points.some((point) => point.feasible && !point.isOnFront) || (bad.length > 0) !== points.some((point) => !point.feasible && point.values[root.objectives[0].expression] !== null))
		wrong("the drawing: points that meet or break the constraints are missing, or there are none");
	return marks.length;
}

// ---- The data, and what the page shows of a point.

// Runs in the page: what the scripts have read, columns by their names, and ids.
function dataOf() {
	const { data } = npulabSweep.started[0]; // eslint-disable-line no-undef
	return {
		ids: Array.from({ length: data.n }, (_, i) => data.idOf(i)), feasible: Array.from(data.feasible), knee: data.knee,
		columns: data.columns.map((column) => ({ name: column.name, values: Array.from({ length: data.n }, (_, i) => column.valueAt(i)).map((value) => (Number.isNaN(value) ? null : value)) })),
	};
}

function checkData(found, root, wrong) {
	const points = pointsOf(root), names = [...root.parameters, ...root.metrics].map(({ name }) => name);
	const expected = [...new Set([...names, ...root.objectives.map(({ expression }) => expression)])].filter((name) => points.some((point) => point.values[name] !== null));
	if (found.columns.map(({ name }) => name).sort().join() !== expected.sort().join())
		wrong(`the data has the columns ${found.columns.map(({ name }) => name)}, expected ${expected}`);
	points.forEach((point, i) => {
		if (found.ids[i] !== point.id || Boolean(found.feasible[i]) !== point.feasible)
			wrong(`the data: point ${i} is ${found.ids[i]} (${found.feasible[i]}), expected ${point.id}`);
		for (const { name, values } of found.columns) {
			const value = point.values[name];
			if (typeof value === "number" && typeof values[i] === "number" ? !isNear(values[i], value) : String(values[i] ?? "") !== String(value ?? ""))
				wrong(`the data: ${name} of point ${point.id} is ${values[i]}, the JSON has ${value}`);
		}
	});
	if ((root.front.length > 2 ? root.front.find(({ knee }) => knee)?.id : undefined) !== found.ids[found.knee])
		wrong(`the data: the knee is ${found.ids[found.knee]}`);
	return points.length;
}

// Opens points by their numbers: the list has each parameter and figure, and the command is that of the JSON.
async function checkPoints(page, root, wrong) {
	const points = pointsOf(root), step = Math.max(1, Math.floor(points.length / LOOKED_AT)), field = page.locator(".point input");
	const chosen = [...points.filter((_, i) => i % step === 0), ...points.filter((point) => point.isOnFront).slice(0, LOOKED_AT)];
	for (const point of chosen) {
		await field.fill(String(point.id));
		await field.press("Enter");
		const { terms, command, state } = await page.evaluate(() => ({
			terms: Array.from(document.querySelectorAll(".point dt"), (term) => [term.textContent, term.nextElementSibling.textContent]),
			command: document.querySelector(".point code").textContent, state: document.querySelector(".point .hint").textContent }));
		const known = Object.keys(point.values).filter((name) => point.values[name] !== null).sort();
		if (terms.map(([name]) => name).sort().join() !== known.join())
			wrong(`point ${point.id} shows ${terms.map(([name]) => name)}, expected ${known}`);
		for (const [name, text] of terms)
			if (text === "" || text.includes("NaN"))
				wrong(`point ${point.id} shows "${text}" as ${name}`);
		const front = root.front.find(({ id }) => id === point.id);
		if (front && command !== front.command)
			wrong(`point ${point.id} has the command ${command}, the JSON ${front.command}`);
		if (front ? !state.includes("front") : state.includes("front"))
			wrong(`point ${point.id} says "${state}"`);
	}
	return chosen.length;
}

// ---- Filters, and what they do to the charts.

function frontOf(points, x, y) {
	const [one, other] = [x, y].map((objective) => (point) => signOf(objective) * point.values[objective.expression]);
	const candidates = points.filter((point) => point.feasible && Number.isFinite(one(point)) && Number.isFinite(other(point)));
	const beats = (a, b) => one(a) <= one(b) && other(a) <= other(b) && (one(a) < one(b) || other(a) < other(b) || a.i < b.i);
	return candidates.filter((point) => !candidates.some((rival) => rival !== point && beats(rival, point))).map(({ id }) => id).sort((a, b) => a - b);
}

// Runs in the page: which points each chart has, once it has drawn what the filters have left.
function chartsNow() {
	return new Promise((resolve) => {
		const after = (frames) => (frames > 0 ? requestAnimationFrame(() => after(frames - 1)) : resolve((() => {
			const { data, filters, scatter, map } = npulabSweep.started[0]; // eslint-disable-line no-undef
			const ids = (list) => list.map((i) => data.idOf(i)).sort((a, b) => a - b);
			return {
				left: ids(Array.from(filters.left.keys()).filter((i) => filters.left[i])), front: ids(Array.from(scatter.front)), cells: Array.from(map.cell, (i) => (i < 0 ? null : data.idOf(i))),
				count: document.querySelector(".count").textContent, x: map.x.name, y: map.y.name, z: map.z.name, better: map.z.better,
			};
		})()));
		after(6);
	});
}

async function checkCharts(page, root, left, place, wrong) {
	const found = await page.evaluate(chartsNow), ids = left.map(({ id }) => id);
	if (found.left.join() !== ids.join())
		wrong(`${place}: ${found.left.length} points are left, expected ${ids.length}`);
	if (!found.count.startsWith(`${ids.length.toLocaleString("en")} `) || !found.count.includes(` ${left.filter(({ feasible }) => feasible).length.toLocaleString("en")} `))
		wrong(`${place}: the page says "${found.count}"`);
	if (root.objectives.length > 1 && found.front.join() !== frontOf(left, root.objectives[0], root.objectives[1]).join())
		wrong(`${place}: the front has ${found.front}, expected ${frontOf(left, root.objectives[0], root.objectives[1])}`);
	const cells = new Map(), sign = found.better > 0 ? -1 : 1;
	for (const point of left.filter(({ feasible, values }) => feasible && values[found.z] !== null)) {
		const cell = `${point.values[found.x]}|${point.values[found.y]}`, before = cells.get(cell);
		if (!before || sign * point.values[found.z] < sign * before.values[found.z])
			cells.set(cell, point);
	}
	const expected = Array.from(cells.values(), ({ values }) => values[found.z]).sort((a, b) => a - b), all = new Map(pointsOf(root).map((point) => [point.id, point]));
	const shown = found.cells.filter((id) => id !== null).map((id) => all.get(id).values[found.z]).sort((a, b) => a - b);
	if (shown.length !== expected.length || shown.some((value, k) => !isNear(value, expected[k])))
		wrong(`${place}: the map has ${shown.length} cells, ${shown.slice(0, 4)}..., expected ${expected.length}, ${expected.slice(0, 4)}...`);
	return ids.length;
}

// The middle of a figure's values: about half of the points are on each side.
function middleOf(points, name) {
	const values = points.map((point) => point.values[name]).filter(Number.isFinite).sort((a, b) => a - b);
	return (values[Math.floor(values.length / 2)] + values[Math.floor(values.length / 2) + 1]) / 2;
}

async function checkFilters(page, root, wrong) {
	const points = pointsOf(root), figure = root.objectives[0].expression, until = middleOf(points, figure);
	let n = await checkCharts(page, root, points, "without filters", wrong);
	await page.getByLabel(`${figure} to`, { exact: true }).fill(`${until}`);
	const below = points.filter(({ values }) => values[figure] !== null && values[figure] <= until);
	n += await checkCharts(page, root, below, `${figure} up to ${until}`, wrong);
	await page.getByLabel("that meet the constraints").check();
	n += await checkCharts(page, root, below.filter(({ feasible }) => feasible), "of these, those that meet the constraints", wrong);
	await page.getByRole("button", { name: "Clear all filters" }).click();
	const [box] = await page.locator(".filters .filter:has(input[type=checkbox]) legend").all(), row = box.locator(".."), name = (await box.textContent()).split(/,| =/)[0];
	const first = row.locator("label").first(), value = (await first.textContent()).trim();
	await first.locator("input").uncheck();
	const least = root.parameters.find((one) => one.name === name).values, without = typeof least[0] === "number" ? Math.min(...least) : least[0];
	n += await checkCharts(page, root, points.filter(({ values }) => values[name] !== without), `${name} without ${value}`, wrong);
	await page.getByRole("button", { name: "Clear all filters" }).click();
	return n + await checkCharts(page, root, points, "after all filters were cleared", wrong);
}

// A brush along the axis of the first objective leaves the points between its ends.
async function checkBrush(page, root, wrong) {
	const figure = root.objectives[0].expression, canvas = page.locator(".wide canvas");
	await canvas.scrollIntoViewIfNeeded();
	const { x, top, h } = await page.evaluate((name) => {
		const { parallel } = npulabSweep.started[0], k = parallel.axes.findIndex((axis) => axis.column.name === name); // eslint-disable-line no-undef
		const box = parallel.canvas.getBoundingClientRect();
		return { x: box.left + parallel.x(k), top: box.top + parallel.y({ isTurned: true }, 0), h: parallel.h };
	}, figure);
	await page.mouse.move(x, top + 0.1 * h);
	await page.mouse.down();
	await page.mouse.move(x, top + 0.5 * h, { steps: 4 });
	await page.mouse.up();
	const ends = await page.evaluate((name) => {
		const { filters, data } = npulabSweep.started[0]; // eslint-disable-line no-undef
		return filters.of.get(data.byName.get(name));
	}, figure);
	if (!(ends?.from < ends?.until))
		return wrong(`a brush on ${figure} sets the filter ${JSON.stringify(ends)}`) ?? 0;
	const n = await checkCharts(page, root, pointsOf(root).filter(({ values }) => values[figure] !== null && values[figure] >= ends.from && values[figure] <= ends.until), `a brush on ${figure}`, wrong);
	await page.mouse.click(x, top + 0.7 * h);
	return n + await checkCharts(page, root, pointsOf(root), "after a click on the axis", wrong);
}

// ---- Where points are drawn.

// Runs in the page: for some points where the scatter has them, what is drawn there, and how far from it nothing is.
function drawnPoints(step) {
	const { data, scatter } = npulabSweep.started[0], { canvas, ratio } = scatter, context = canvas.getContext("2d"); // eslint-disable-line no-undef
	scatter.draw();
	const { data: ink } = context.getImageData(0, 0, canvas.width, canvas.height);
	const inkAt = (x, y) => Array.from(ink.subarray(4 * (Math.round(y * ratio) * canvas.width + Math.round(x * ratio))).subarray(0, 4));
	return Array.from({ length: Math.ceil(data.n / step) }, (_, k) => k * step).map((i) => {
		const x = scatter.pixelX(i), y = scatter.pixelY(i);
		return { i, x, y, ink: x >= 0 ? inkAt(x, y) : null };
	});
}

async function checkScatter(page, root, wrong) {
	const points = pointsOf(root), drawn = await page.evaluate(drawnPoints, Math.max(1, Math.floor(points.length / 500))), names = await page.locator("figure").first().locator("select").evaluateAll((all) => all.map((one) => one.value));
	for (const [key, name] of [["x", names[0]], ["y", names[1]]]) {
		const known = drawn.filter(({ i }) => typeof points[i].values[name] === "number"), values = known.map(({ i }) => points[i].values[name]);
		const first = values.indexOf(Math.min(...values)), last = values.indexOf(Math.max(...values));
		const error = (transform) => Math.max(...known.map((one, k) => Math.abs(known[first][key] + (transform(values[k]) - transform(values[first])) / (transform(values[last]) - transform(values[first]) || 1) * (known[last][key] - known[first][key]) - one[key])));
		if (Math.min(error((value) => value), error(Math.log)) > PIXELS_TO)
			wrong(`the scatter: ${name} is off by ${error((value) => value)} pixels`);
	}
	const bare = drawn.filter(({ ink, x, y }) => Number.isFinite(x + y) && ink[3] === 0);
	if (bare.length > 0)
		wrong(`the scatter: nothing is drawn at ${bare.length} of ${drawn.length} points, such as ${points[bare[0].i].id}`);
	return drawn.length;
}

// The file that the browser saves of the points that are left, as lines of fields.
async function checkSaved(page, root, wrong) {
	await page.getByRole("checkbox", { name: "of the Pareto front" }).check();
	await page.evaluate(chartsNow);
	const waiting = page.waitForEvent("download");
	await page.getByRole("button", { name: "Save the points left as CSV" }).click();
	const [heading, ...lines] = readFileSync(await (await waiting).path(), "utf8").trim().split("\r\n"), at = heading.split(",").indexOf(root.metrics[0].name);
	const points = pointsOf(root).filter((point) => point.isOnFront);
	if (lines.length !== points.length)
		wrong(`the file has ${lines.length} points, expected ${points.length}`);
	lines.forEach((line, k) => {
		const fields = line.split(",");
		if (fields[0] !== String(points[k].id) || fields[2] !== "true" || !isNear(Number(fields[at]), points[k].values[root.metrics[0].name]))
			wrong(`the file has the line ${line.slice(0, 80)} for point ${points[k].id}`);
	});
	await page.getByRole("checkbox", { name: "of the Pareto front" }).uncheck();
	await page.evaluate(chartsNow);
	return lines.length;
}

// Each choice of a colour draws as many pixels, and says in the legend what its colours are.
async function checkColours(page, root, wrong) {
	const select = page.getByLabel("Coloured by"), names = [...root.parameters.slice(0, 3), ...root.metrics.slice(0, 1)].map(({ name }) => name).filter((name) => differ(root.parameters.concat(root.metrics).find((one) => one.name === name).values));
	for (const name of names) {
		await select.selectOption(name);
		const { steps, points, colours } = await page.evaluate(() => {
			const { scatter, data } = npulabSweep.started[0], { tint } = scatter; // eslint-disable-line no-undef
			return { steps: tint.steps, points: Array.from(tint.ofPoints), colours: new Set(tint.palette()).size, n: data.n };
		});
		const values = root.parameters.concat(root.metrics).find((one) => one.name === name).values, shades = new Map(values.map((value, i) => [value, points[i]]));
		if (colours !== steps + 1 || values.some((value, i) => (value === null) !== (points[i] === 0) || shades.get(value) !== points[i]))
			wrong(`coloured by ${name}: points of one value have several colours, or ${colours} colours stand for ${steps} steps`);
	}
	await select.selectOption("");
	return names.length;
}

// Without a pointer: to the knee, to another point, and open it.
async function checkKeys(page, root, wrong) {
	const canvas = page.locator("canvas.points");
	await canvas.focus();
	await page.keyboard.press("Home");
	const start = await page.evaluate(() => npulabSweep.started[0].scatter.cursor); // eslint-disable-line no-undef
	for (const key of ["ArrowRight", "ArrowUp"])
		await page.keyboard.press(key);
	const [cursor, id] = await page.evaluate(() => { const { scatter, data } = npulabSweep.started[0]; return [scatter.cursor, data.idOf(scatter.cursor)]; }); // eslint-disable-line no-undef
	await page.keyboard.press("Enter");
	const open = Number(await page.locator(".point input").inputValue()), knee = root.front.find((point) => point.knee)?.id;
	if (open !== id || cursor === start)
		wrong(`arrow keys and Enter open point ${open} from ${start}, expected ${id}`);
	if (root.objectives.length === 2 && root.front.length > 2 && root.points.id[start] !== knee)
		wrong(`Home goes to point ${root.points.id[start]}, the knee is ${knee}`);
	const map = page.locator(".across canvas[role=application]");
	await map.focus();
	await page.keyboard.press("ArrowRight");
	await page.keyboard.press("Enter");
	const cell = await page.evaluate(() => { const { map: chart, data } = npulabSweep.started[0]; return chart.cell[0] < 0 ? null : data.idOf(chart.cell[0]); }); // eslint-disable-line no-undef
	if (cell !== null && Number(await page.locator(".point input").inputValue()) !== cell)
		wrong(`Enter on the first cell of the map does not open its point ${cell}`);
	return 3;
}

// Returns how many figures were compared.
export async function pareto({ page, root, wrong }) {
	const [table] = await readTables(page, "section#front"), heading = await page.locator("h1").textContent(), { sweep } = root;
	const title = `Sweep of ${sweep.models.join(", ")} on ${sweep.devices.map(({ name }) => name).join(", ")}`;
	if (heading !== title)
		wrong(`the heading is "${heading}", expected "${title}"`);
	const n = checkTable(table, root, wrong) + await checkDrawing(page, root, wrong) + checkData(await page.evaluate(dataOf), root, wrong);
	const looked = n + await checkScatter(page, root, wrong) + await checkPoints(page, root, wrong) + await checkFilters(page, root, wrong)
		+ await checkBrush(page, root, wrong) + await checkSaved(page, root, wrong) + await checkColours(page, root, wrong) + await checkKeys(page, root, wrong);
	await page.reload(); // as a reader finds it
	return looked;
}
