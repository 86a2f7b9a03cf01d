// SPDX-License-Identifier: MIT
//
// The figures on the page of a comparison (npulab.compare/1), held against its JSON. What each heading means is said here
// a second time, from docs/json.md and not from the program.
import { checkChange, checkFigure, checkHeadings, checkText, entriesOf, isMetered, isModelled, NEVER, OF_ENERGY, OF_TIME, RATIO } from "./cells.mjs";
import { isSame, nameOnPage } from "./figures.mjs";
import { readCharts, readTables } from "./read.mjs";
import { checkRoofline } from "./roofline.mjs";
import { checkSideBySide } from "./side_by_side.mjs";
import { checkStacked, sum } from "./stacked.mjs";

const SERIES_WITH_A_COLOUR = 8;

// The columns of the table of layers.
const hasRun = (layer) => layer.seconds > 0 || layer.role === "ran";
const LAYER = {
	"time": {
		unit: "s", mark: OF_TIME,
		of: (layer) => (hasRun(layer) ? layer.seconds : null), word: (layer) => (hasRun(layer) ? "" : layer.role),
	},
	"energy": { unit: "J", mark: OF_ENERGY, of: (layer) => layer.energy_j },
	"signal/noise": RATIO,
};
const LAYER_TEXTS = { "bound": (layer) => layer.bound, "ran on": (layer) => layer.ran_on };
const LAYER_CHANGES = { "change of time": (layer) => layer.seconds, "change of energy": (layer) => layer.energy_j };

const WORK = { unit: "", mark: NEVER, of: (layer) => layer.macs || null };

// The columns of the table of layers: what each is about.
function layerColumns(headings, ran, wrong) {
	return headings.slice(3).map(({ text }) => {
		const entry = ran.find((one) => text.startsWith(`${nameOnPage(one.label)}: `)) ?? ran[0], name = `${nameOnPage(entry.label)}: `;
		const what = text.startsWith(name) ? text.slice(name.length) : text;
		if (!LAYER[what] && !LAYER_TEXTS[what] && !LAYER_CHANGES[what])
			wrong(`the column "${text}" is not known to this test: give it a row in LAYER`);
		return { text, ...entry, rule: LAYER[what], textOf: LAYER_TEXTS[what], changing: LAYER_CHANGES[what] };
	});
}

// Returns how many figures were compared.
export function checkLayers(table, entries, wrong) {
	const ran = entries.filter(({ device }) => device.totals), [{ device: { layers } }] = ran;
	const columns = layerColumns(table.headings, ran, wrong);
	let n = 0;
	layers.forEach((first, i) => {
		const row = table.rows[i];
		checkText(row[0], first.name, `layer ${i}`, wrong);
		checkText(row[1], first.op, `layer ${i}: operator`, wrong);
		checkFigure(row[2], WORK, first, ran[0].device, `layer ${i}: multiply-accumulates`, wrong);
		columns.forEach(({ text, device, base, rule, textOf, changing }, k) => {
			const layer = device.layers[i], place = `layer ${first.name}: ${text}`;
			if (rule)
				checkFigure(row[3 + k], rule, layer, device, place, wrong);
			else if (textOf)
				checkText(row[3 + k], textOf(layer), place, wrong);
			else if (changing)
				checkChange(row[3 + k], changing(layer), base && changing(base.layers[i]), place, wrong);
			n++;
		});
	});
	if (table.rows.length !== layers.length)
		wrong(`${table.rows.length} rows for ${layers.length} layers`);
	return n;
}

// ---- Charts of layers.

// The seconds of a layer are those of the device, its host and their link together; those of a single layer, whose document
// has no host, are the device's own.
function timesOf(device, root) {
	if (!root.host)
		return { unit: "s", isModelled: isModelled(device), names: ["machine"], of: (layer) => layer.seconds };
	const parts = {
		machine: (layer) => layer.seconds - (layer.host_seconds ?? 0) - (layer.link_seconds ?? 0),
		host: (layer) => layer.host_seconds, link: (layer) => layer.link_seconds,
	};
	return { unit: "s", isModelled: isModelled(device), names: Object.keys(parts), of: (layer, name) => parts[name](layer) };
}

function energiesOf(device) {
	const named = (list, name) => sum(list.filter((one) => one.component === name).map((one) => one.joules));
	const names = device.totals.energy.filter((one) => one.joules > 0).map((one) => one.component);
	return { unit: "J", isModelled: !isMetered(device), names: [...new Set(names)], of: (layer, name) => named(layer.energy, name) };
}

// Devices of a placement share a chart if all count cycles or all count times.
function cyclesOf(device) {
	const classes = [device, ...(device.devices ?? [])].flatMap((one) => one.cycle_classes ?? []);
	const inTime = classes.map((one) => one.unit === "ps"), mixed = new Set(inTime).size > 1;
	return {
		unit: inTime[0] ? "s" : "", isModelled: isModelled(device), names: mixed ? [] : [...new Set(classes.map((one) => one.name))],
		of: (layer, name) => (layer.counters?.[name] ?? 0) * (inTime[0] ? 1e-12 : 1),
	};
}

const CHARTS = { time: timesOf, energy: energiesOf, cycles: cyclesOf };

// The values by the colour of their series: those of the legend, and together those that have no colour of their own.
function coloursOf(chart, { names, of }, wrong) {
	const legend = chart.legend ?? [{ colour: "s0", name: nameOnPage(names[0]) }];
	const own = names.filter((name) => legend.some((item) => item.name === nameOnPage(name)));
	const others = names.filter((name) => !own.includes(name));
	const expected = Math.min(names.length, SERIES_WITH_A_COLOUR);
	if (legend.length !== expected || (others.length > 0 && legend.at(-1).name !== "others"))
		wrong(`${chart.label}: the legend has ${legend.map((item) => item.name).join(", ")}, expected ${names.join(", ")}`);
	return legend.map(({ colour, name }) => {
		const those = own.filter((one) => nameOnPage(one) === name);
		return { colour, name, of: (layer) => sum((those.length ? those : others).map((one) => of(layer, one))) };
	});
}

function checkChart(chart, device, rule, wrong) {
	const series = coloursOf(chart, rule, wrong);
	const layers = device.layers.filter((layer) => layer.seconds > 0 && series.some(({ of }) => of(layer) > 0));
	return checkStacked(chart, layers.map((layer) => ({
		name: layer.name, isModelled: rule.isModelled, parts: series.map(({ colour, name, of }) => ({ colour, name, value: of(layer) })),
	})), rule.unit, wrong);
}

async function checkCharts(page, root, wrong) {
	const { devices } = root;
	let n = 0;
	for (const [section, rule] of Object.entries(CHARTS)) {
		const charts = await readCharts(page, `section#${section}`);
		const expected = devices.filter((device) => device.totals)
			.map((device) => ({ device, rule: rule(device, root) }))
			.filter((one) => one.rule.names.some((name) => sum(one.device.layers.map((layer) => one.rule.of(layer, name))) > 0));
		const headings = expected.map((one) => nameOnPage(one.device.instance));
		if (charts.map((chart) => chart.heading).join() !== headings.join()) {
			wrong(`the section ${section} has charts of ${charts.map((chart) => chart.heading)}, expected ${headings}`);
			continue;
		}
		for (const [i, one] of expected.entries())
			n += checkChart(charts[i], one.device, one.rule, wrong);
	}
	return n;
}

// ---- What cycles went to over all layers: a row for each class of each machine, with its parts below it.

const CLASSES = ["device", "class", "cycles", "share", "what happens in such a cycle", "bound"];

async function checkClasses(page, root, wrong) {
	const machines = root.devices.filter((device) => device.totals).flatMap((device) => [
		{ device, layers: device.layers },
		...(device.devices ?? []).map((part) => ({ device: part, layers: device.layers.filter((layer) => layer.ran_on === part.instance) })),
	]);
	const expected = machines.flatMap(({ device, layers }) => {
		const total = (counter) => sum(layers.map((layer) => layer.counters[counter] ?? 0));
		const all = sum((device.cycle_classes ?? []).map((one) => total(one.name)));
		return (device.cycle_classes ?? []).flatMap((one) => [
			{ device, one, name: one.name, cycles: total(one.name), all },
			...device.cycle_parts.filter((part) => part.part_of === one.name)
				.map((part) => ({ device, one: part, name: `${one.name}, part ${part.name}`, cycles: total(part.name), all })),
		]);
	});
	const [table] = await readTables(page, "section#cycles");
	if (!table !== (expected.length === 0) || (table && table.rows.length !== expected.length)) {
		wrong(`${table?.rows.length} classes of cycles, expected ${expected.length}`);
		return 0;
	}
	checkHeadings(table ?? { headings: CLASSES.map((text) => ({ text })) }, CLASSES, wrong);
	expected.forEach(({ device, one, name, cycles, all }, i) => {
		const row = table.rows[i], place = `${device.instance}: ${name}`, inTime = one.unit === "ps";
		const figure = (unit, value) => ({ unit, mark: () => true, of: () => value });
		checkText(row[0], device.instance, place, wrong);
		checkText(row[1], name, place, wrong);
		checkFigure(row[2], inTime ? figure("s", 1e-12 * cycles) : figure("", cycles), null, device, place, wrong);
		checkFigure(row[3], figure("%", all ? cycles / all : null), null, device, `${place}: share`, wrong);
		checkText(row[4], one.meaning, place, wrong);
		checkText(row[5], one.bound, place, wrong);
	});
	return expected.length;
}

// ---- Parameters of machines.

async function checkParameters(page, root, wrong) {
	const machines = [...root.devices.flatMap((device) => [device, ...(device.devices ?? [])]), root.host]
		.filter((machine) => Object.keys(machine?.settings ?? {}).length > 0);
	const tables = await readTables(page, "section#parameters");
	if (tables.length !== machines.length)
		wrong(`${tables.length} tables of parameters for ${machines.length} machines`);
	machines.slice(0, tables.length).forEach((machine, i) => {
		const rows = Object.fromEntries(tables[i].rows.map(([key, value]) => [key.text, value.text]));
		for (const [key, value] of Object.entries(machine.settings)) {
			if (typeof value === "number" ? !isSame(Number(rows[key]), value) : rows[key] !== String(value))
				wrong(`${tables[i].summary}: ${key} is ${rows[key]} on the page, ${value} in the JSON`);
		}
	});
	return machines.length;
}

// ---- Roofline.

// Its figures and its name.
const pointOf = (layer) => ({ ...layer.roofline, name: layer.name, op: layer.op });

// The points of the devices, and of the devices of a placement: [{ label, device, layer }].
function pointsOf(devices) {
	const own = devices.filter((device) => device.totals && !device.devices)
		.flatMap((device) => device.layers.map((layer) => ({ label: device.instance, device, layer, point: pointOf(layer) })));
	const placed = devices.filter((device) => device.devices).flatMap((device) => device.devices.flatMap((part) =>
		device.layers.filter((layer) => layer.ran_on === part.instance).map((layer) => ({ label: part.instance, device: part, layer, point: pointOf(layer) }))));
	return [...own, ...placed].filter(({ layer }) => layer.roofline);
}

// The machines that have roofs: devices, and those of a placement.
function machinesOf(devices) {
	const own = devices.filter((device) => device.totals && !device.devices).map((device) => ({ label: device.instance, device }));
	const placed = devices.flatMap((device) => device.devices ?? []).map((device) => ({ label: device.instance, device }));
	return [...own, ...placed];
}

// ---- Power and area.

async function checkComponents(page, root, wrong) {
	const tables = await readTables(page, "section#power");
	const figures = new Set(tables.flatMap((table) => table.rows.flatMap((row) => row.map((cell) => cell.value))));
	const has = (value) => [...figures].some((figure) => figure !== undefined && isSame(figure, value));
	let n = 0;
	const expect = (value, what) => {
		if (value > 0 && !has(value))
			wrong(`${what} ${value} is not on the page`);
		n++;
	};
	for (const device of root.devices.filter((one) => one.totals && !isMetered(one)))
		for (const one of device.totals.energy)
			expect(one.joules / device.totals.seconds, `${device.instance}: the power of ${one.component},`);
	for (const machine of root.devices.flatMap((device) => [device, ...(device.devices ?? [])]))
		for (const one of machine.components ?? [])
			for (const key of ["area_mm2", "area_low_mm2", "area_high_mm2"])
				expect(machine.components.some(({ area_mm2: area }) => area > 0) ? one[key] : 0, `${machine.instance}: ${key} of ${one.component},`);
	return n;
}

// Returns how many figures were compared.
export async function comparison({ page, root, wrong }) {
	const entries = entriesOf([root], []), [layers] = await readTables(page, "section#layers");
	const title = await page.title(), heading = await page.locator("h1").textContent();
	if (!title.startsWith(nameOnPage(root.model.name).split("\n")[0].trim()) || !heading.startsWith(nameOnPage(root.model.name)))
		wrong(`the title is "${title}", the heading "${heading}"`);
	return await checkSideBySide(page, entries, wrong) + checkLayers(layers, entries, wrong) +
		await checkCharts(page, root, wrong) + await checkRoofline(page, machinesOf(root.devices), pointsOf(root.devices), wrong) +
		await checkClasses(page, root, wrong) + await checkComponents(page, root, wrong) + await checkParameters(page, root, wrong);
}
