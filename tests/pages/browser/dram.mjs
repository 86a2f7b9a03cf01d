// SPDX-License-Identifier: MIT
//
// The figures on the page of a memory (npulab.dram/1), or of several that are compared, held against the JSON. What each
// label means is said here a second time, from docs/json.md and not from the program.
import { checkBars, checkChange, checkHeadings } from "./cells.mjs";
import { isMarked, isSame, shows } from "./figures.mjs";
import { readCharts, readTables } from "./read.mjs";

const LABEL = "figure", VALUE = "value", CHANGE = "change", MEANING = "meaning", PARAMETER = "parameter";

// The unit, "~" before it where the figure is modelled; `factor`: from the JSON's unit.
const count = (path) => ({ path, unit: "", isCount: true });
// Of the memory's clock: they have no change where the documents have other clocks. As a time: in its seconds.
const cycles = (path) => ({ path, unit: "", isCount: true, isInCycles: true });
const timeOf = (path) => ({ path, unit: "s", isModelled: true, factor: 1, isTimeOfCycles: true });
const figure = (path, unit, factor = 1) => ({ path, unit: unit.replace("~", ""), isModelled: unit.startsWith("~"), factor });
const TABLES = {
	time: {
		"cycles": cycles("cycles"),
		"time": figure("seconds", "~s"),
		"bandwidth": figure("gb_per_s", "~B/s", 1e9),
		"peak used": figure("peak_fraction", "%"),
		"latency, mean": timeOf("latency_cycles.mean"),
		"latency, mean, in cycles": { ...figure("latency_cycles.mean", ""), isInCycles: true },
		"latency, 99th percentile": timeOf("latency_cycles.p99"),
		"latency, 99th percentile, in cycles": cycles("latency_cycles.p99"),
		"latency, longest": timeOf("latency_cycles.max"),
		"latency, longest, in cycles": cycles("latency_cycles.max"),
		"read latency, mean": timeOf("read_latency_cycles.mean"),
		"read latency, mean, in cycles": { ...figure("read_latency_cycles.mean", ""), isInCycles: true },
		"read latency, 99th percentile": timeOf("read_latency_cycles.p99"),
		"read latency, 99th percentile, in cycles": cycles("read_latency_cycles.p99"),
		"read latency, longest": timeOf("read_latency_cycles.max"),
		"read latency, longest, in cycles": cycles("read_latency_cycles.max"),
		"write latency, mean": timeOf("write_latency_cycles.mean"),
		"write latency, mean, in cycles": { ...figure("write_latency_cycles.mean", ""), isInCycles: true },
		"write latency, 99th percentile": timeOf("write_latency_cycles.p99"),
		"write latency, 99th percentile, in cycles": cycles("write_latency_cycles.p99"),
		"write latency, longest": timeOf("write_latency_cycles.max"),
		"write latency, longest, in cycles": cycles("write_latency_cycles.max"),
	},
	commands: {
		"reads": count("counters.reads"),
		"writes": count("counters.writes"),
		"bytes read": figure("counters.read_bytes", "B"),
		"bytes written": figure("counters.written_bytes", "B"),
		"row hits": figure("row_hit_rate", "%"),
		"read commands": count("counters.read_commands"),
		"write commands": count("counters.write_commands"),
		"forwarded": count("counters.forwarded"),
		"activates": count("counters.activates"),
		"precharges": count("counters.precharges"),
		"refreshes": count("counters.refreshes"),
		"rank cycles with a row open": cycles("counters.active_rank_cycles"),
		"rank cycles with all rows closed": cycles("counters.idle_rank_cycles"),
	},
	energy: {
		"energy": figure("energy_j.total", "~J"),
		"activate": figure("energy_j.activate", "~J"),
		"read": figure("energy_j.read", "~J"),
		"write": figure("energy_j.write", "~J"),
		"refresh": figure("energy_j.refresh", "~J"),
		"active standby": figure("energy_j.active_standby", "~J"),
		"idle standby": figure("energy_j.idle_standby", "~J"),
		"energy per bit": figure("pj_per_bit", "~J", 1e-12),
	},
	memory: {
		"channels": count("memory.channels"),
		"clock": figure("memory.clock_hz", "Hz"),
		"peak": figure("memory.peak_gb_per_s", "B/s", 1e9),
		"capacity": figure("memory.capacity_bytes", "B"),
		"bytes of an access": count("memory.access_bytes"),
	},
};

// The charts of a section, in their order: a row for each label.
const CHARTS = {
	time: [
		{ unit: "%", factor: 100, rows: { "peak used": "peak_fraction", "row hits": "row_hit_rate" } },
		{
			unit: "s", isTimeOfCycles: true,
			rows: {
				"mean": "latency_cycles.mean",
				"99th percentile": "latency_cycles.p99",
				"longest": "latency_cycles.max",
				"reads, mean": "read_latency_cycles.mean",
				"reads, 99th percentile": "read_latency_cycles.p99",
				"reads, longest": "read_latency_cycles.max",
				"writes, mean": "write_latency_cycles.mean",
				"writes, 99th percentile": "write_latency_cycles.p99",
				"writes, longest": "write_latency_cycles.max",
			},
		},
	],
	energy: [{
		unit: "J",
		rows: {
			"activate": "energy_j.activate", "read": "energy_j.read", "write": "energy_j.write", "refresh": "energy_j.refresh",
			"active standby": "energy_j.active_standby", "idle standby": "energy_j.idle_standby",
		},
	}],
};

const at = (root, path) => path.split(".").reduce((value, key) => value?.[key], root) ?? null;
const valueOf = (root, { path, isTimeOfCycles }) => {
	const value = at(root, path);
	return isTimeOfCycles && value !== null ? value / root.memory.clock_hz : value;
};

function checkCell(cell, rule, value, place, wrong) {
	if (value === null) {
		if (cell.text !== "" || cell.value !== undefined)
			wrong(`${place}: shows "${cell.text}" (${cell.value}), and the JSON has nothing`);
		return;
	}
	const isShown = rule.isCount ? cell.text === String(value) : shows(cell.text, value * rule.factor, rule.unit);
	if (cell.value === undefined || !isSame(cell.value, value))
		wrong(`${place}: is sorted by ${cell.value}, the JSON has ${value}`);
	if (!isShown || isMarked(cell.text) !== Boolean(rule.isModelled))
		wrong(`${place}: shows "${cell.text}", the JSON has ${value}`);
}

// The headings of the columns of values, with a change in each document after the first.
function valueHeadings(names, change) {
	return names.length === 1 ? [VALUE] : names.flatMap((name, i) => (i > 0 && change ? [name, CHANGE] : [name]));
}

function checkTable(table, rules, roots, names, wrong) {
	const expected = Object.entries(rules).filter(([, rule]) => roots.some((root) => valueOf(root, rule) !== null));
	const labels = table.rows.map((row) => row[0].text);
	checkHeadings(table, [LABEL, ...valueHeadings(names, true), MEANING], wrong);
	if (labels.join("|") !== expected.map(([label]) => label).join("|")) {
		wrong(`${table.caption}: the rows are ${labels.join(", ")}, expected ${expected.map(([label]) => label).join(", ")}`);
		return 0;
	}
	const hasFirstClock = (root) => root.memory.clock_hz === roots[0].memory.clock_hz;
	expected.forEach(([label, rule], i) => {
		const values = roots.map((root) => valueOf(root, rule)), row = table.rows[i];
		values.forEach((value, k) => {
			checkCell(row[k === 0 ? 1 : 2 * k], rule, value, label, wrong);
			if (k > 0)
				checkChange(row[2 * k + 1], value, rule.isInCycles && !hasFirstClock(roots[k]) ? null : values[0], label, wrong);
		});
	});
	return expected.length * roots.length;
}

async function checkCharts(page, section, roots, wrong) {
	const charts = await readCharts(page, `section#${section}`), expected = CHARTS[section] ?? [];
	if (charts.length !== expected.length) {
		wrong(`the section ${section} has ${charts.length} charts, expected ${expected.length}`);
		return 0;
	}
	return charts.reduce((n, chart, i) => {
		const { unit, factor = 1, isTimeOfCycles, rows } = expected[i];
		const values = (path) => roots.map((root) => valueOf(root, { path, isTimeOfCycles }))
			.map((value) => (value === null ? null : factor * value));
		const drawn = Object.entries(rows).map(([name, path]) => ({ name, values: values(path) }))
			.filter((row) => row.values.some((value) => value > 0));
		return n + checkBars(chart, drawn, unit, wrong);
	}, 0);
}

async function checkSettings(page, roots, names, wrong) {
	const [table] = await readTables(page, "section#parameters");
	const keys = [...new Set(roots.flatMap((root) => Object.keys(root.settings)))];
	checkHeadings(table, [PARAMETER, ...valueHeadings(names, false), MEANING], wrong);
	for (const key of keys) {
		const row = table.rows.find((one) => one[0].text === key);
		roots.forEach((root, k) => {
			const value = root.settings[key] ?? "", cell = row?.[k + 1];
			if (!cell || (typeof value === "number" ? !isSame(Number(cell.text), value) || !isSame(cell.value, value)
				: cell.text !== String(value)))
				wrong(`the parameter ${key} is ${cell?.text} on the page, ${value} in the JSON`);
		});
	}
	if (table.rows.length !== keys.length)
		wrong(`${table.rows.length} rows for ${keys.length} parameters`);
	return keys.length;
}

// Returns how many figures were compared.
export async function dram({ page, roots, names, wrong }) {
	const heading = await page.locator("h1").textContent(), [{ traffic, memory }] = roots;
	const expected = roots.length > 1 ? names.join(" and ") : `${traffic.name} on ${memory.name}`;
	let n = 0;
	if (heading !== expected)
		wrong(`the heading is "${heading}", expected "${expected}"`);
	for (const [section, rules] of Object.entries(TABLES)) {
		const [table] = await readTables(page, `section#${section}`);
		n += checkTable(table, rules, roots, names, wrong) + await checkCharts(page, section, roots, wrong);
	}
	return n + await checkSettings(page, roots, names, wrong);
}
