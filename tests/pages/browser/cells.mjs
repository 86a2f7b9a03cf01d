// SPDX-License-Identifier: MIT
//
// Cells of tables and bars of charts, held against values: what the checks of all kinds of pages share.
import { isMarked, isSame, nameOnPage, plainValue, shows, showsChange } from "./figures.mjs";

const MODELLED = ["simulated", "analytical"];
export const DRAWN_TO = 0.11; // of the drawing's units: positions have one decimal
const READ_TO = 0.4; // where the scale is read off two ticks, which have one decimal too

export function isModelled(device) {
	return MODELLED.includes(device.kind) || (device.devices ?? []).some(isModelled);
}

export function isMetered(device) {
	return device.totals.energy_origin.startsWith("measured:");
}

// When a figure has the mark "~".
export const OF_TIME = isModelled, OF_ENERGY = (device) => !isMetered(device), NEVER = () => false;

// A result without an error has no ratio in JSON, and is greater than any.
export const RATIO = {
	unit: "dB", mark: NEVER,
	of: (compared) => compared?.sqnr_db, word: (compared) => (compared?.max_abs_error === 0 ? "exact" : ""),
};

// A rule says of a column: `of`: the value, `word`: what stands there without one, `mark` and `unit`.
export function checkFigure(cell, rule, of, device, place, wrong) {
	const value = rule.of(of) ?? null;
	if (value === null) {
		const word = rule.word?.(of) ?? "";
		if (cell.value !== undefined || cell.text !== word)
			wrong(`${place}: shows "${cell.text}" (${cell.value}), expected "${word}"`);
		return;
	}
	if (cell.value === undefined || !isSame(cell.value, value))
		wrong(`${place}: is sorted by ${cell.value}, the JSON has ${value}`);
	if (!shows(cell.text, value, rule.unit) || isMarked(cell.text) !== rule.mark(device))
		wrong(`${place}: shows "${cell.text}", the JSON has ${value} in the unit "${rule.unit}"`);
}

export function checkText(cell, expected, place, wrong) {
	const text = nameOnPage(expected ?? "");
	if (cell.text !== text)
		wrong(`${place}: shows "${cell.text}", expected "${text}"`);
}

// A change is the value over that of the first result, less 1. There is none without both, and none from 0.
export function checkChange(cell, value, base, place, wrong) {
	const change = base > 0 && typeof value === "number" ? value / base - 1 : null;
	if (change === null ? cell.value !== undefined || cell.text !== ""
		: Math.abs(cell.value - change) > 1e-9 * (1 + Math.abs(change)) || !showsChange(cell.text, change) || cell.value === undefined)
		wrong(`${place}: shows the change "${cell.text}" (${cell.value}), the documents have ${change}`);
}

// Compares the cells of a row with what `columns` has under their headings: functions of the cell.
export function checkRow(table, row, columns, place, wrong) {
	table.headings.forEach(({ text }, column) => {
		if (columns[text])
			columns[text](row[column], `${place}: ${text}`);
		else
			wrong(`the column "${text}" is not known to this test`);
	});
	return table.headings.length;
}

export function checkHeadings(table, expected, wrong) {
	const found = table.headings.map((heading) => heading.text);
	if (found.join("|") !== expected.join("|"))
		wrong(`${table.caption}: the columns are ${found.join(", ")}, expected ${expected.join(", ")}`);
}

// The devices of documents that are compared, as the page has them: those of one name together. `base`: the same
// device of the first document.
export function entriesOf(roots, names) {
	const all = roots.flatMap(({ devices }, i) => devices.map((device) => (
		{ device, label: roots.length > 1 ? `${device.instance} (${names[i]})` : device.instance, document: i, samples: roots[i].model?.samples })));
	const instances = [...new Set(all.map((entry) => entry.device.instance))];
	return instances.flatMap((instance) => {
		const same = all.filter((entry) => entry.device.instance === instance);
		return same.map((entry) => ({ ...entry, base: entry.document > 0 && same[0].document === 0 ? same[0].device : undefined }));
	});
}

// What an axis along the bars says: the place of a value.
export function axisOf(chart, unit, wrong) {
	const ticks = chart.ticks.map((tick) => ({ x: tick.x, value: tick.text === "0" ? 0 : plainValue(tick.text, unit) }));
	const first = ticks[0], last = ticks.at(-1), perUnit = (last.x - first.x) / (last.value - first.value);
	const place = (value) => first.x + (value - first.value) * perUnit;
	if (ticks.length < 4 || !(perUnit > 0))
		wrong(`${chart.label}: the axis has ${chart.ticks.map((tick) => tick.text).join(", ")}`);
	for (const tick of ticks)
		if (!(Math.abs(place(tick.value) - tick.x) <= READ_TO))
			wrong(`${chart.label}: the axis has ${tick.value} at ${tick.x}, expected ${place(tick.value)}`);
	return { place, isAt: (x, value) => Math.abs(x - place(value)) <= READ_TO };
}

// Bars that stand together: a row for each of `rows` ({ name, values }), a bar for each value that is greater than 0, and a text
// for each that there is.
export function checkBars(chart, rows, unit, wrong) {
	const names = chart.rows.map((row) => row.title.split("\n")[0]), axis = axisOf(chart, unit, wrong);
	if (names.join("|") !== rows.map((row) => nameOnPage(row.name)).join("|")) {
		wrong(`${chart.label}: the rows are ${names.join(", ")}, expected ${rows.map((row) => row.name).join(", ")}`);
		return 0;
	}
	rows.forEach(({ name, values }, i) => {
		const row = chart.rows[i], place = `${chart.label}: ${name}`, known = values.filter((value) => typeof value === "number");
		values.forEach((value, k) => {
			const part = row.parts[`s${k}`], expected = value > 0 ? axis.place(value) : axis.place(0);
			if (Math.abs((part ? part.from + part.width : axis.place(0)) - expected) > READ_TO || (part && !axis.isAt(part.from, 0)))
				wrong(`${place}: the bar ${k} is ${JSON.stringify(part)}, expected one until ${expected} for ${value}`);
		});
		known.forEach((value, k) => {
			if (!row.values[k] || !shows(row.values[k].text, unit === "%" ? value / 100 : value, unit))
				wrong(`${place}: the text ${k} is "${row.values[k]?.text}", the JSON has ${value} in the unit "${unit}"`);
			if (!row.title.split("\n")[k + 1]?.endsWith(`: ${row.values[k]?.text}`))
				wrong(`${place}: the title is "${row.title}"`);
		});
		if (row.values.length !== known.length)
			wrong(`${place}: ${row.values.length} texts for ${known.length} values`);
	});
	return rows.length;
}
