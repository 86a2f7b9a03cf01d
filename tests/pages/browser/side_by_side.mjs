// SPDX-License-Identifier: MIT
//
// The devices of a comparison side by side: their figures, their values, and what times and energies are made of.
import { checkChange, checkFigure, checkText, isMetered, isModelled, NEVER, OF_ENERGY, OF_TIME, RATIO } from "./cells.mjs";
import { isMarked, nameOnPage, shows } from "./figures.mjs";
import { readCharts, readTables } from "./read.mjs";
import { checkStacked } from "./stacked.mjs";

const energyOfSample = ({ totals }) => (totals.inferences_per_joule ? 1 / totals.inferences_per_joule : null);
const TOTALS = {
	"batch time": { unit: "s", mark: OF_TIME, of: (device) => device.totals.latency_s },
	"samples/s": { unit: "/s", mark: OF_TIME, of: (device) => device.totals.inferences_per_second },
	"energy/sample": { unit: "J", mark: OF_ENERGY, of: energyOfSample },
	"OP/s": { unit: "OP/s", mark: OF_TIME, of: (device) => device.totals.machine_ops_per_second },
	"peak used": { unit: "%", mark: OF_TIME, of: (device) => device.totals.utilization },
	"power": { unit: "W", mark: OF_ENERGY, of: (device) => device.totals.machine_power_w },
	"area": { unit: "mm2", mark: () => true, of: (device) => device.totals.area_mm2 },
};
// Where a component's energy is not known, that of a sample is at least what the others take.
const knownEnergy = (device) => (energyOfSample(device) === null ?
	device.totals.energy.reduce((sum, { joules }) => sum + (joules > 0 ? joules : 0), 0) : 0);
const CHANGES = { "change of time": (device) => device.totals.latency_s, "change of energy": energyOfSample };
const TEXTS = { "kind": (device) => device.kind, "format": (device) => device.precision };
const VALUES = {
	"max error": { unit: "", mark: NEVER, of: (device) => device.accuracy?.max_abs_error },
	"signal/noise": { ...RATIO, of: (device) => RATIO.of(device.accuracy), word: (device) => RATIO.word(device.accuracy) },
	"same top-1": { unit: "%", mark: NEVER, of: (device) => device.accuracy?.top1_agreement },
	"top-1": { unit: "%", mark: NEVER, of: (device) => device.accuracy?.top1_accuracy },
	"saturated": { unit: "", mark: NEVER, of: (device) => device.accuracy?.saturations },
};
const DEVICE = "device", UNAVAILABLE = "not available";

// What a whole is made of: the parts of `all`, that of all batches, for one batch or sample. The drawing leaves the last part of
// the time out, which is in two of the others.
const orZero = (value) => value ?? 0;
const WHOLES = [{
	heading: "Batch time", caption: "What the time of a batch is made of.", unit: "s", hidden: "overlap",
	isModelled, one: ({ totals }) => totals.latency_s, all: ({ totals }) => totals.seconds,
	parts: {
		"machine": ({ totals }) => totals.seconds + orZero(totals.overlap_seconds) - orZero(totals.host_seconds) -
			orZero(totals.host_link_seconds),
		"host": ({ totals }) => totals.host_seconds,
		"link": ({ totals }) => totals.host_link_seconds,
		"overlap": ({ totals }) => totals.overlap_seconds || null,
	},
}, {
	heading: "Energy of a sample", caption: "What the energy of a sample is made of.", range: ["bottom-up, from", "to"], unit: "J",
	isModelled: (device) => !isMetered(device), one: energyOfSample, all: ({ totals }) => totals.energy_j,
	parts: Object.fromEntries(["machine", "memory", "waiting", "host", "link"].map((part) => [part,
		({ totals }) => totals.energy_by_part?.[part] || null])),
}];

function checkLeast(cell, known, device, place, wrong) {
	const least = cell.text.slice(1);
	if (!cell.text.startsWith(">") || isMarked(least) !== OF_ENERGY(device) || !shows(least, known, "J"))
		wrong(`${place}: shows "${cell.text}", known are ${known}`);
}

function checkTable(table, entries, rules, wrong) {
	if (table?.rows.length !== entries.length) {
		wrong(`${table?.rows.length} rows for ${entries.length} devices: ${table?.caption}`);
		return 0;
	}
	entries.forEach(({ label, device, base, samples }, i) => {
		const row = table.rows[i];
		if (!device.totals) {
			checkText(row[0], label, label, wrong);
			if (row.some((cell) => cell.value !== undefined) || row[1].text !== UNAVAILABLE)
				wrong(`${label}: could not start, and shows ${row.slice(1).map((cell) => cell.text)}`);
			return;
		}
		table.headings.forEach(({ text }, column) => {
			const cell = row[column], place = `${label}: ${text}`;
			const known = text === "energy/sample" ? knownEnergy(device) / samples : 0;
			if (text === DEVICE)
				checkText(cell, label, place, wrong);
			else if (known > 0)
				checkLeast(cell, known, device, place, wrong);
			else if (TEXTS[text])
				checkText(cell, TEXTS[text](device), place, wrong);
			else if (CHANGES[text])
				checkChange(cell, CHANGES[text](device), base && CHANGES[text](base), place, wrong);
			else if (rules[text])
				checkFigure(cell, rules[text], device, device, place, wrong);
			else if (i === 0)
				wrong(`the column "${text}" is not known to this test: give it a row in TOTALS or VALUES`);
		});
	});
	return entries.length * table.headings.length;
}

// The parts that any device has, with their figures.
function partsOf(whole, entries) {
	const ofOne = (of) => (device) => {
		const value = of(device);
		return value === null || value === undefined ? null : value * whole.one(device) / whole.all(device);
	};
	return Object.entries(whole.parts).map(([name, of]) => ({ name, unit: whole.unit, mark: whole.isModelled, of: ofOne(of) }))
		.filter((part) => entries.some(({ device }) => part.of(device) > 0));
}

function checkWhole(tables, charts, whole, entries, wrong) {
	const chart = charts.find((one) => one.heading === whole.heading);
	const table = tables.find((one) => one.caption.startsWith(whole.caption)), having = entries.filter(({ device }) => whole.one(device) > 0);
	const parts = partsOf(whole, having), drawn = parts.filter((part) => part.name !== whole.hidden), legend = chart?.legend ?? [];
	if (!chart !== (having.length === 0) || !table !== (parts.length < 2)) {
		wrong(`${whole.heading}: ${chart ? "a" : "no"} chart and ${table ? "a" : "no"} table of ${parts.map((part) => part.name)}`);
		return 0;
	}
	if (!chart)
		return 0;
	if (drawn.length > 1 && legend.map((one) => one.name).join() !== drawn.map((part) => part.name).join())
		wrong(`${whole.heading}: the legend has ${legend.map((one) => one.name)}, expected ${drawn.map((part) => part.name)}`);
	having.forEach(({ label, device }, i) => parts.forEach((part, k) =>
		table && checkFigure(table.rows[i][k + 1], part, device, device, `${label}: ${part.name} of ${whole.heading}`, wrong)));
	having.forEach(({ label, device }, i) => (table ? whole.range ?? [] : []).forEach((heading, k) => {
		const bound = [device.totals.energy_low_j, device.totals.energy_high_j][k];
		const rule = { unit: "J", mark: () => true, of: () => (bound === null ? null : bound * whole.one(device) / whole.all(device)) };
		checkFigure(table.rows[i][parts.length + 1 + k], rule, device, device, `${label}: ${heading} of ${whole.heading}`, wrong);
	}));
	if (table && table.headings.slice(1).map((heading) => heading.text).join() !==
		[...parts.map((part) => part.name), ...(whole.range ?? [])].join())
		wrong(`${whole.heading}: the columns are ${table.headings.map((heading) => heading.text)}`);
	return checkStacked(chart, having.map(({ label, device }) => ({
		name: label, isModelled: whole.isModelled(device),
		parts: drawn.map((part, k) => ({ name: part.name, colour: `s${k}`, value: part.of(device) ?? 0 })),
	})), whole.unit, wrong);
}

// Returns how many figures were compared.
export async function checkSideBySide(page, entries, wrong) {
	const tables = await readTables(page, "section#devices"), charts = await readCharts(page, "section#devices");
	const ran = entries.filter(({ device }) => device.totals), rows = tables[0].rows.map((row) => row[0].text);
	const hasValues = ran.some(({ device }) => typeof device.accuracy?.max_abs_error === "number");
	const values = tables.find((table) => table.headings.some((heading) => heading.text === "max error"));
	if (rows.join() !== entries.map(({ label }) => nameOnPage(label)).join() || Boolean(values) !== hasValues)
		wrong(`the devices are ${rows}; ${values ? "there are" : "no"} values`);
	const remarks = await page.locator("section#devices li").allTextContents();
	for (const { label, device } of entries.filter((entry) => !entry.device.totals))
		if (!remarks.some((remark) => remark.startsWith(nameOnPage(label)) && remark.includes(nameOnPage(device.unavailable))))
			wrong(`${label}: the page does not say why it could not start`);
	return checkTable(tables[0], entries, TOTALS, wrong) + (values ? checkTable(values, ran, VALUES, wrong) : 0) +
		WHOLES.reduce((n, whole) => n + checkWhole(tables, charts, whole, ran, wrong), 0);
}
