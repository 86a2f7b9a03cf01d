// SPDX-License-Identifier: MIT
//
// The points below their roofs, on the page of rooflines (npulab.roofline/2) and on that of a comparison, and the tables of the
// former, held against the JSON. What each heading means is said here a second time, from docs/json.md and not from the program.
import { checkChange, checkFigure, checkRow, checkText, DRAWN_TO, entriesOf, isModelled, NEVER, OF_TIME } from "./cells.mjs";
import { isSame, nameOnPage, plainValue } from "./figures.mjs";
import { readPlane, readTables } from "./read.mjs";

const FIGURES = {
	"bytes": { unit: "B", mark: NEVER, of: (point) => point.bytes },
	"intensity, MAC/B": { unit: "", mark: NEVER, of: (point) => point.macs_per_byte },
	"OP/s": { unit: "OP/s", mark: OF_TIME, of: (point) => point.ops_per_second },
	"roof": { unit: "OP/s", mark: OF_TIME, of: (point) => point.roof_ops_per_second },
	"share of the roof": { unit: "%", mark: OF_TIME, of: (point) => point.share },
	"time": { unit: "s", mark: OF_TIME, of: (point) => point.seconds },
};
const CHANGE = "change of time";
const TEXTS = {
	"format": (point) => point.precision, "bound": (point) => point.bound, "lower roof": (point) => point.lower_roof,
	"layer": (point) => point.name, "operator": (point) => point.op,
};
const DEVICE = "device";
const ROOFS = {
	"format": (roof) => roof.precision,
	"peak": { unit: "OP/s", mark: OF_TIME, of: (roof) => roof.peak_ops_per_second },
	"memory": { unit: "B/s", mark: OF_TIME, of: (roof) => roof.bytes_per_second },
	"ridge, MAC/B": { unit: "", mark: OF_TIME, of: (roof) => roof.peak_ops_per_second / roof.bytes_per_second / 2 },
};
const RATE = "OP/s";
const DECADES_TO = 0.02; // of the logarithm: a position has one decimal of the drawing's units

// A check of a table's row: each column is that of its heading. `base`: the figures of the first result.
function checkPoint(table, row, { label, device, point, base }, place, wrong) {
	const columns = { [DEVICE]: (cell, where) => checkText(cell, label, where, wrong) };
	for (const [heading, rule] of Object.entries(FIGURES))
		columns[heading] = (cell, where) => checkFigure(cell, rule, point, device, where, wrong);
	for (const [heading, of] of Object.entries(TEXTS))
		columns[heading] = (cell, where) => checkText(cell, of(point), where, wrong);
	columns[CHANGE] = (cell, where) => checkChange(cell, point.seconds, base?.seconds, where, wrong);
	return checkRow(table, row, columns, place, wrong);
}

function checkTable(table, expected, wrong) {
	if ((table?.rows.length ?? 0) !== expected.length) {
		wrong(`${table?.caption}: ${table?.rows.length ?? 0} rows, the JSON has ${expected.length}`);
		return 0;
	}
	return expected.reduce((n, one, i) =>
		n + checkPoint(table, table.rows[i], one, [one.label, one.point.name].filter(Boolean).join(", "), wrong), 0);
}

function checkRoofs(table, machines, wrong) {
	const expected = machines.flatMap(({ label, device }) => (device.roofs ?? []).map((roof) => ({
		label, device, roof: { ...roof, bytes_per_second: device.memory?.bytes_per_second } })));
	if (table.rows.length !== expected.length) {
		wrong(`${table.rows.length} roofs, the JSON has ${expected.length}`);
		return 0;
	}
	return expected.reduce((n, { label, device, roof }, i) => {
		const columns = { [DEVICE]: (cell, where) => checkText(cell, label, where, wrong) };
		for (const [heading, rule] of Object.entries(ROOFS))
			columns[heading] = (cell, where) => (typeof rule === "function" ? checkText(cell, rule(roof), where, wrong)
				: checkFigure(cell, rule, roof, device, where, wrong));
		return n + checkRow(table, table.rows[i], columns, `roof ${i} of ${label}`, wrong);
	}, 0);
}

// ---- The drawing, and the chart that a script makes of the tables.

// The logarithm of a value by its place, as the ticks have it.
function decadesOf(ticks, valueOf, wrong) {
	const known = ticks.map(({ at, text }) => ({ at, decade: Math.log10(valueOf(text)) })).filter((tick) => Number.isFinite(tick.decade));
	const first = known[0], last = known.at(-1), perPlace = (last.decade - first.decade) / (last.at - first.at);
	if (known.length < 2 || known.some((tick) => Math.abs(first.decade + (tick.at - first.at) * perPlace - tick.decade) > DECADES_TO))
		wrong(`the axis has ${ticks.map((tick) => `${tick.text} at ${tick.at}`).join(", ")}`);
	return (at) => first.decade + (at - first.at) * perPlace;
}

const hasPlace = ({ macs_per_byte: x, ops_per_second: y }) => x > 0 && y > 0;

function checkPlace(mark, { label, point }, x, y, wrong) {
	const offX = x(mark.x) - Math.log10(point.macs_per_byte), offY = y(mark.y) - Math.log10(point.ops_per_second);
	if (Math.abs(offX) > DECADES_TO || Math.abs(offY) > DECADES_TO || !mark.title.startsWith(`${nameOnPage(point.name)}\n`))
		wrong(`${label}, ${point.name}: the point "${mark.title}" is ${offX} and ${offY} decades away from ${point.macs_per_byte}, ` +
			`${point.ops_per_second}`);
}

async function checkDrawing(page, expected, wrong) {
	const plane = await readPlane(page, "#chart-roofline svg"), drawn = expected.filter(({ point }) => hasPlace(point));
	if (plane.marks.length !== drawn.length) {
		wrong(`the drawing of the roofline has ${plane.marks.length} points, expected ${drawn.length}`);
		return 0;
	}
	const x = decadesOf(plane.x, Number, wrong), y = decadesOf(plane.y, (text) => plainValue(text, RATE), wrong);
	drawn.forEach((one, i) => checkPlace(plane.marks[i], one, x, y, wrong));
	if (plane.beyond > DRAWN_TO)
		wrong(`a point or a roof of the roofline lies ${plane.beyond} beyond its axes`);
	return drawn.length;
}

// Runs in the page: the points of the chart on the canvas, each with the name of its layer.
function pointsOnCanvas() {
	const chart = globalThis.Chart?.getChart(document.querySelector("section#roofline canvas"));
	return chart?.data.datasets.flatMap(({ label, data }) => data.filter((point) => point.row)
		.map(({ x, y, row }) => ({ label, x, y, name: row.cells[1].textContent }))) ?? [];
}

async function checkCanvas(page, expected, wrong) {
	const found = await page.evaluate(pointsOnCanvas), drawn = expected.filter(({ point }) => hasPlace(point));
	const isThere = ({ label, point }) => found.some((one) => one.label === nameOnPage(label) && one.name === nameOnPage(point.name) &&
		isSame(one.x, point.macs_per_byte) && isSame(one.y, point.ops_per_second));
	if (found.length !== drawn.length)
		wrong(`the chart of the roofline has ${found.length} points, expected ${drawn.length}`);
	drawn.filter((one) => !isThere(one)).forEach(({ label, point }) => wrong(`${label}, ${point.name}: is not on the canvas`));
}

// `machines`: [{ label, device }], with roofs; `points`: [{ label, device, point, base }].
export async function checkRoofline(page, machines, points, wrong) {
	const [roofs, table] = await readTables(page, "section#roofline");
	if (!roofs)
		return points.length > 0 ? wrong("there is no roofline") ?? 0 : 0;
	await checkCanvas(page, points, wrong);
	return checkRoofs(roofs, machines, wrong) + checkTable(table, points, wrong) + await checkDrawing(page, points, wrong);
}

// Returns how many figures were compared.
export async function roofline({ page, roots, names, wrong }) {
	const entries = entriesOf(roots, names), [network] = await readTables(page, "section#network");
	const points = entries.flatMap(({ label, device, base }) => device.layers.map((point) => (
		{ label, device, point, base: base?.layers.find((layer) => layer.index === point.index) })));
	const [layers] = await readTables(page, "section#layers"), heading = await page.locator("h1").textContent();
	const title = roots.length > 1 ? names.join(" and ")
		: `Rooflines of ${roots[0].model.name} on ${roots[0].devices.map((device) => device.instance).join(", ")}`;
	if (heading !== title)
		wrong(`the heading is "${heading}", expected "${title}"`);
	if (!entries.some(({ device }) => isModelled(device)))
		wrong("no device is modelled: nothing has a mark");
	return checkTable(network, entries.map(({ label, device, base }) => ({ label, device, point: device.network, base: base?.network })),
		wrong) + checkTable(layers, points, wrong) + await checkRoofline(page, entries, points, wrong);
}
