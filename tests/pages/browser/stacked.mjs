// SPDX-License-Identifier: MIT
//
// Charts of bars whose parts lie one after the other, held against values.
import { DRAWN_TO } from "./cells.mjs";
import { isMarked, nameOnPage, shows } from "./figures.mjs";

export const sum = (values) => values.reduce((total, value) => total + (value > 0 ? value : 0), 0);

function checkTitle(row, name, parts, unit, place, wrong) {
	const shown = nameOnPage(name), lines = row.title.slice(shown.length + 1).split("\n").filter(Boolean);
	if (!row.title.startsWith(shown))
		wrong(`${place}: the title of the row is "${row.title}"`);
	const expected = parts.filter((part) => part.value > 0);
	const says = (line, part) => line.startsWith(`${part.name}: `) && shows(line.slice(part.name.length + 2), part.value, unit);
	if (lines.length !== expected.length || !expected.every((part, i) => says(lines[i], part)))
		wrong(`${place}: the title says ${JSON.stringify(lines)}, the JSON has ${JSON.stringify(expected)}`);
}

// A row: its parts lie one after the other and are as wide as their values, and its text is their sum.
function checkBar(row, { name, parts, isModelled }, scale, unit, place, wrong) {
	let before = 0;
	for (const { colour, name: series, value } of parts) {
		const part = row.parts[colour] ?? { from: scale.x0 + before * scale.perUnit, width: 0 };
		const from = scale.x0 + before * scale.perUnit, width = value * scale.perUnit;
		if (Math.abs(part.width - width) > DRAWN_TO || Math.abs(part.from - from) > DRAWN_TO)
			wrong(`${place}: ${series} is drawn from ${part.from}, ${part.width} wide; expected ${from}, ${width} for ${value}`);
		before += value;
	}
	if (!row.sum || !shows(row.sum.text, before, unit) || row.sum.x < scale.x0 + before * scale.perUnit)
		wrong(`${place}: the text at the bar is ${JSON.stringify(row.sum)}, the JSON has ${before} in the unit "${unit}"`);
	if (row.sum && isMarked(row.sum.text) !== isModelled)
		wrong(`${place}: the text at the bar is "${row.sum.text}", and the figure is ${isModelled ? "" : "not "}modelled`);
	const [begin, end] = row.name.split("…");
	if (!nameOnPage(name).startsWith(begin) || !nameOnPage(name).endsWith(end ?? begin))
		wrong(`${place}: the row has the name "${row.name}"`);
	checkTitle(row, name, parts, unit, place, wrong);
}

// The scale is that of the longest bar; the axis has to have the same.
function scaleOf(chart, rows, unit, wrong) {
	const longest = Math.max(...rows.map((row) => row.total));
	const at = rows.findIndex((row) => row.total === longest), drawn = Object.values(chart.rows[at].parts);
	const x0 = Math.min(...drawn.map((part) => part.from)), until = Math.max(...drawn.map((part) => part.from + part.width));
	const scale = { x0, perUnit: (until - x0) / longest };
	for (const tick of chart.ticks) {
		const value = (tick.x - scale.x0) / scale.perUnit;
		const is0 = tick.text === "0" && Math.abs(tick.x - scale.x0) <= DRAWN_TO;
		if (!is0 && ![-DRAWN_TO, 0, DRAWN_TO].some((by) => shows(tick.text, value + by / scale.perUnit, unit)))
			wrong(`${chart.label}: the axis has "${tick.text}" where ${value} is`);
	}
	if (chart.ticks.length < 4 || until - x0 < 300)
		wrong(`${chart.label}: ${chart.ticks.length} ticks, the longest bar is ${until - x0} wide`);
	return scale;
}

// `rows`: [{ name, parts: [{ colour, name, value }], isModelled }].
export function checkStacked(chart, rows, unit, wrong) {
	if (chart.rows.length !== rows.length) {
		wrong(`${chart.label}: ${chart.rows.length} rows, expected ${rows.length}`);
		return 0;
	}
	const totals = rows.map((row) => ({ ...row, total: sum(row.parts.map((part) => part.value)) }));
	const scale = scaleOf(chart, totals, unit, wrong);
	rows.forEach((row, i) => checkBar(chart.rows[i], row, scale, unit, `${chart.label}: ${row.name}`, wrong));
	return rows.length;
}
