// SPDX-License-Identifier: MIT
//
// Several comparisons on one page: their changes, computed here from the documents.
import { checkBars, checkChange, checkFigure, checkHeadings, checkText, entriesOf, isModelled, OF_TIME } from "./cells.mjs";
import { checkLayers } from "./comparison.mjs";
import { isSame, nameOnPage, shows } from "./figures.mjs";
import { readCharts, readTables } from "./read.mjs";
import { checkSideBySide } from "./side_by_side.mjs";

const CHANGED = ["layer", "device", "before", "after", "difference", "change", "bound"], MOST_CHANGED = 10;
const CHARTS = {
	"time": { unit: "s", of: (layer) => layer.seconds },
	"energy": { unit: "J", of: (layer) => layer.energy_j },
};

// The layers that take another time than before.
function changedOf(entries) {
	const after = entries.filter((entry) => entry.base), modelled = after.filter(({ device }) => isModelled(device));
	return (modelled.length ? modelled : after).flatMap(({ label, device, base }) => device.layers.map((layer, i) => (
		{ label, device, name: layer.name, bounds: [base.layers[i].bound, layer.bound], before: base.layers[i].seconds, after: layer.seconds })))
		.filter(({ before, after }) => typeof before === "number" && typeof after === "number" && before !== after)
		.sort((a, b) => Math.abs(b.after - b.before) - Math.abs(a.after - a.before));
}

function checkDifference(cell, value, place, wrong) {
	if (cell.value === undefined || !isSame(cell.value, value))
		wrong(`${place}: is sorted by ${cell.value}, the documents have ${value}`);
	if (cell.text[0] !== (value < 0 ? "-" : "+") || !shows(cell.text.slice(1), Math.abs(value), "s"))
		wrong(`${place}: shows "${cell.text}", the documents have ${value}`);
}

function checkChanged(table, changed, wrong) {
	const expected = changed.slice(0, MOST_CHANGED);
	checkHeadings(table, CHANGED, wrong);
	if (table.rows.length !== expected.length) {
		wrong(`${table.rows.length} layers whose time changes most, expected ${expected.length}`);
		return 0;
	}
	expected.forEach(({ label, device, name, bounds, before, after }, i) => {
		const row = table.rows[i], place = `${label}, ${name}: the change of time`;
		const rule = (value) => ({ unit: "s", mark: OF_TIME, of: () => value });
		checkText(row[0], name, place, wrong);
		checkText(row[1], label, place, wrong);
		checkFigure(row[2], rule(before), null, device, `${place}, before`, wrong);
		checkFigure(row[3], rule(after), null, device, `${place}, after`, wrong);
		checkDifference(row[4], after - before, place, wrong);
		checkChange(row[5], after, before, place, wrong);
		checkText(row[6], bounds[0] === bounds[1] ? bounds[1] : `${bounds[1] ?? "none"}, was ${bounds[0] ?? "none"}`, place, wrong);
	});
	return expected.length;
}

// Two charts for each device that several documents have: the time and the energy of each layer in each of them.
async function checkCharts(page, entries, wrong) {
	const charts = await readCharts(page, "section#changes"), after = entries.filter((entry) => entry.base);
	const instances = [...new Set(after.map((entry) => entry.device.instance))];
	const differs = (instance, of) => after.some(({ device, base }) => device.instance === instance &&
		device.layers.some((layer, i) => of(layer) !== of(base.layers[i])));
	const expected = instances.flatMap((instance) => Object.entries(CHARTS).filter(([, { of }]) => differs(instance, of))
		.map(([what, chart]) => ({ heading: `${nameOnPage(instance)}: ${what} by layer`, instance, ...chart })));
	if (charts.map((chart) => chart.heading).join() !== expected.map((chart) => chart.heading).join()) {
		wrong(`charts of changes: ${charts.map((chart) => chart.heading)}, expected ${expected.map((chart) => chart.heading)}`);
		return 0;
	}
	return expected.reduce((n, { instance, unit, of }, i) => {
		const same = entries.filter((entry) => entry.device.instance === instance), legend = charts[i].legend ?? [];
		if (legend.map((one) => one.name).join() !== same.map((entry) => nameOnPage(entry.label)).join())
			wrong(`${charts[i].label}: the legend has ${legend.map((one) => one.name)}`);
		const valueOf = (layer) => (of(layer) > 0 ? of(layer) : null);
		const rows = same[0].device.layers.map(({ name }, k) => ({ name, values: same.map(({ device }) => valueOf(device.layers[k])) }))
			.filter((row) => row.values.some((value) => value > 0));
		return n + checkBars(charts[i], rows, unit, wrong);
	}, 0);
}

// Returns how many figures were compared.
export async function overlay({ page, roots, names, wrong }) {
	const entries = entriesOf(roots, names), [results] = await readTables(page, "section#results");
	const [layers] = await readTables(page, "section#layers"), [changed] = await readTables(page, "section#changes");
	roots.forEach(({ model }, i) => {
		const found = results.rows[i].map((cell) => cell.text);
		if (found[0] !== names[i] || found[1] !== model.name || found[2] !== String(model.batch))
			wrong(`the result ${i} is said to be ${found.join(", ")}`);
	});
	return await checkSideBySide(page, entries, wrong) + checkChanged(changed, changedOf(entries), wrong) +
		checkLayers(layers, entries, wrong) + await checkCharts(page, entries, wrong);
}
