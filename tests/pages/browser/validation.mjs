// SPDX-License-Identifier: MIT
//
// The figures on the page of a validation (npulab.validate/1), held against its JSON. What each column means is said here a second
// time, from docs/json.md and not from the program.
import { axisOf, checkRow, checkText } from "./cells.mjs";
import { isSame, nameOnPage, plainValue, shows, showsChange } from "./figures.mjs";
import { readCharts, readTables } from "./read.mjs";

const SHARE = "fraction", POINT = 0.01, MILLION = "million";

const isJudged = (row) => row.verdict !== null;
const COUNTS = {
	"judged": isJudged,
	"within": (row) => row.verdict === "within",
	"outside": (row) => row.verdict === "outside",
	"missing": (row) => row.verdict === "missing",
	"fitted": (row) => row.fitted && row.published !== null,
	"not judged": (row) => row.published !== null && !isJudged(row),
	"not published": (row) => row.published === null,
};
const SUBJECT = "subject";

// The columns of a subject's table: what stands in the cell of a row of the JSON.
function columnsOf(row, cells, wrong) {
	return {
		"case": (cell, place) => checkText(cell, row.case, place, wrong),
		"metric": (cell, place) => checkText(cell, row.metric, place, wrong),
		"unit": () => {}, // it belongs to the figures
		"published": (cell, place) => checkAmount(cell, row.published, row, cells.unit, place, wrong),
		"model": (cell, place) => checkAmount(cell, row.model, row, cells.unit, place, wrong),
		"difference": (cell, place) => checkDifference(cell, row, place, wrong),
		"tolerance": (cell, place) => checkTolerance(cell, row, place, wrong),
		"verdict": (cell, place) => checkText(cell, verdictOf(row), place, wrong),
		"published in": (cell, place) => checkHas(cell, row.source, place, wrong),
		"remark": (cell, place) => [row.reason, row.note].forEach((text) => checkHas(cell, text, place, wrong)),
	};
}

// The colours of the marks, with what the legend says of them.
const CLASSES = {
	s0: { name: "within its tolerance", has: (row) => row.verdict === "within" && !row.fitted },
	s1: { name: "outside its tolerance", has: (row) => row.verdict === "outside" },
	s2: { name: "fitted, within its tolerance", has: (row) => row.verdict === "within" && row.fitted },
};

function verdictOf({ verdict, fitted, published }) {
	if (verdict)
		return fitted ? `${verdict}, fitted` : verdict;
	if (fitted)
		return "fitted";
	return published === null ? "not published" : "not judged";
}

function checkHas(cell, text, place, wrong) {
	if (text && !cell.text.includes(nameOnPage(text)))
		wrong(`${place}: shows "${cell.text}", the JSON has "${text}"`);
}

// The unit stands in a column of its own, with a prefix that suits what is published. It is left out where the metric names it.
function showsAmount(text, unit, value, row) {
	const own = row.unit ?? "";
	if (own === SHARE)
		return unit === "%" && shows(`${text} %`, value, "%");
	if (unit.startsWith(MILLION))
		return [MILLION, `${MILLION} ${own}`].includes(unit) && shows(text, value / 1e6, "");
	return [own, ""].some((name) => shows(`${text} ${unit}`.trim(), value, name));
}

function checkAmount(cell, value, row, unit, place, wrong) {
	if (value === null) {
		if (cell.text !== "" || cell.value !== undefined)
			wrong(`${place}: shows "${cell.text}" (${cell.value}), and the JSON has nothing`);
		return;
	}
	if (cell.value === undefined || !isSame(cell.value, value))
		wrong(`${place}: is sorted by ${cell.value}, the JSON has ${value}`);
	if (!showsAmount(cell.text, unit, value, row))
		wrong(`${place}: shows "${cell.text}" in the unit "${unit}", the JSON has ${value} in the unit "${row.unit}"`);
}

// A difference in points, as a factor or in percent; of what is published as 0 it is that of the figures.
function showsDifference(text, { unit, difference, relative_difference: relative }) {
	if (difference === null || difference === 0)
		return text === (difference === null ? "" : "0");
	if (unit === SHARE) {
		const points = text.replace(/^\+/, "").replace(/ pt$/, " %");
		return / pt$/.test(text) && text.startsWith("+") === plainValue(points, "%") > 0 && shows(points, difference, "%");
	}
	return relative === null ? shows(text.replace(/^\+/, ""), difference, "") : showsChange(text, relative);
}

function checkDifference(cell, row, place, wrong) {
	const value = row.relative_difference;
	if (value === null ? cell.value !== undefined : cell.value === undefined || !isSame(cell.value, value))
		wrong(`${place}: is sorted by ${cell.value}, the JSON has ${value}`);
	if (!showsDifference(cell.text, row))
		wrong(`${place}: shows "${cell.text}", the JSON has ${row.difference}, ${value} of what is published`);
}

function showsTolerance(text, { unit, tolerance, published, at_most: isBound }) {
	if (tolerance === null)
		return text === "";
	const margin = text.replace(/^at most( \+)?/, "");
	if (text.startsWith("at most") !== isBound)
		return false;
	if (!(tolerance > 0))
		return margin === (isBound ? "" : "exact");
	if (unit === SHARE)
		return shows(margin.replace(/ pt$/, " %"), tolerance, "%");
	return published ? shows(margin, tolerance / Math.abs(published), "%") : plainValue(margin, "") > 0;
}

function checkTolerance(cell, row, place, wrong) {
	if (!showsTolerance(cell.text, row))
		wrong(`${place}: shows "${cell.text}", the JSON has ${row.tolerance} in the unit "${row.unit}"`);
}

function checkTable(table, rows, wrong) {
	const unitAt = table.headings.findIndex((heading) => heading.text === "unit");
	if (table.rows.length !== rows.length) {
		wrong(`${table.rows.length} rows for ${rows.length} figures of ${rows[0].machine}`);
		return 0;
	}
	return rows.reduce((n, row, i) => n + checkRow(table, table.rows[i], columnsOf(row, { unit: table.rows[i][unitAt].text }, wrong),
		`${row.case} ${row.metric}`, wrong), 0);
}

// ---- Charts of differences: shares in points, other figures in percent of what is published.

const isDrawn = (row) => ["within", "outside"].includes(row.verdict) && (row.tolerance > 0 || row.model !== row.published);
const CHARTS = [
	{ unit: "pt", has: (row) => isDrawn(row) && row.unit === SHARE, factor: () => 1 / POINT },
	{ unit: "%", has: (row) => isDrawn(row) && row.unit !== SHARE && row.published !== 0, factor: (row) => 100 / Math.abs(row.published) },
];

function checkMarks(row, figure, factor, axis, place, wrong) {
	const value = (figure.model - figure.published) * factor, tolerance = figure.tolerance * factor;
	const [colour] = Object.entries(CLASSES).find(([, one]) => one.has(figure));
	const marks = Object.entries(row.marks);
	if (marks.length !== 1 || marks[0][0] !== colour || !axis.isAt(marks[0][1], value))
		wrong(`${place}: the marks are ${JSON.stringify(row.marks)}, expected ${colour} at ${axis.place(value)} for ${value}`);
	if (!row.range || !axis.isAt(row.range.until, tolerance) || (!figure.at_most && !axis.isAt(row.range.from, -tolerance)))
		wrong(`${place}: the tolerance is drawn as ${JSON.stringify(row.range)}, expected one of ${tolerance}`);
	const said = row.title.split("\n")[1] ?? "", number = said.slice(said.lastIndexOf(": ") + 2);
	if (!said.startsWith(`${CLASSES[colour].name}: `) || !shows(number.replace(/ pt$/, " %"), value / 100, "%"))
		wrong(`${place}: the title is "${row.title}", the difference ${value}`);
}

async function checkCharts(page, section, rows, wrong) {
	const charts = await readCharts(page, section);
	const expected = CHARTS.map((kind) => ({ ...kind, rows: rows.filter(kind.has) })).filter((kind) => kind.rows.length > 0);
	if (charts.length !== expected.length) {
		wrong(`${charts.length} charts of ${rows[0].machine}, expected ${expected.length}`);
		return 0;
	}
	return charts.reduce((n, chart, i) => {
		const { unit, rows: figures, factor } = expected[i], axis = axisOf(chart, unit, wrong);
		const names = (chart.legend ?? []).map((one) => `${one.colour} ${one.name}`).join();
		if (names !== Object.entries(CLASSES).map(([colour, { name }]) => `${colour} ${name}`).join())
			wrong(`${chart.label}: the legend has ${names}`);
		if (chart.rows.length !== figures.length) {
			wrong(`${chart.label}: ${chart.rows.length} rows for ${figures.length} figures`);
			return n;
		}
		figures.forEach((figure, k) => {
			const place = `${figure.case} ${figure.metric}`;
			if (chart.rows[k].title.split("\n")[0] !== place)
				wrong(`${chart.label}: the row "${chart.rows[k].title}" stands where ${place} is`);
			checkMarks(chart.rows[k], figure, factor(figure), axis, place, wrong);
		});
		return n + figures.length;
	}, 0);
}

async function checkSummary(page, rows, subjects, wrong) {
	const [table] = await readTables(page, "section#summary");
	subjects.forEach((subject, i) => {
		const figures = rows.filter((row) => row.machine === subject), counts = Object.entries(COUNTS).map(([heading, has]) => [heading,
			(cell, place) => {
				const n = figures.filter(has).length;
				if (cell.text !== String(n) || cell.value !== n)
					wrong(`${place}: shows ${cell.text}, the JSON has ${n}`);
			}]);
		checkRow(table, table.rows[i], { [SUBJECT]: (cell, place) => checkText(cell, subject, place, wrong),
			...Object.fromEntries(counts) }, subject, wrong);
	});
	const listed = await page.locator("section#failures li").count();
	const failures = rows.filter((row) => ["outside", "missing"].includes(row.verdict));
	if (listed !== failures.length || table.rows.length !== subjects.length)
		wrong(`${listed} figures do not agree, in the JSON ${failures.length}; ${table.rows.length} of ${subjects.length} subjects`);
}

// Returns how many figures were compared.
export async function validation({ page, root: { rows }, wrong }) {
	const subjects = [...new Set(rows.map((row) => row.machine))];
	let n = 0;
	await checkSummary(page, rows, subjects, wrong);
	for (const [i, subject] of subjects.entries()) {
		const section = `section#subject-${i + 1}`, [table] = await readTables(page, section);
		const figures = rows.filter((row) => row.machine === subject);
		n += checkTable(table, figures, wrong) + await checkCharts(page, section, figures, wrong);
	}
	return n;
}
