// SPDX-License-Identifier: MIT
//
// What every page promises, whatever it shows: figures that say what they are sorted by, no obstacle for those who see or
// hear it otherwise, room on small screens, a whole print, and all of it without JavaScript.
import { showsChange, showsInItsUnit } from "./figures.mjs";
import { axeSource, openPage, unfold } from "./open.mjs";
import { readTables } from "./read.mjs";

const WIDTHS = [390, 1280], HEIGHT = 900, ENOUGH = 20;
const UNIT = "unit"; // the heading of a column
// The styles ask for the width in no rule for colours, so that two runs of axe, which is slow, see each width and each scheme.
const LOOKS = [{ width: WIDTHS[0], colorScheme: "dark" }, { width: WIDTHS[1], colorScheme: "light" }];
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"];
// An A4 page has 718 pixels of CSS between the margins of a browser. Chromium shrinks what is wider, by 1.5 at most.
const PRINTED_WIDTH = 718, MOST_SHRINKING = 1.5;

// Says whether a text is that of a value: a figure, a change, or a figure whose unit stands in another cell. Points of a difference
// are not what it is sorted by: validation.mjs compares them.
function isTextOf(text, value, unit) {
	return showsInItsUnit(text.replace(/^\+/, ""), value) || showsChange(text, value) || / pt$/.test(text) ||
		(unit !== undefined && [`${text} ${unit}`, `${text}e6`].some((whole) => showsInItsUnit(whole.trim(), value)));
}

// Each figure's text shows the value that its row is sorted by.
export async function figures({ page, wrong }) {
	let n = 0;
	for (const table of await readTables(page, "body"))
		for (const row of table.rows)
			row.forEach((cell, column) => {
				if (cell.value === undefined)
					return;
				n++;
				if (!isTextOf(cell.text, cell.value, row[table.headings.findIndex((heading) => heading.text === UNIT)]?.text))
					wrong(`${row[0].text}, ${table.headings[column].text}: "${cell.text}" is sorted by ${cell.value}`);
			});
	return n;
}

// Runs in the page: axe cannot judge the texts and the colours of drawings. 4.5 and 3 are those of WCAG 2.1, 1.4.3 and 1.4.11.
function contrastsOfDrawings() {
	const partsOf = (colour) => colour.match(/[\d.]+/g).map(Number);
	const light = (parts) => {
		const [r, g, b] = parts.map((part) => part / 255)
			.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const page = partsOf(getComputedStyle(document.body).backgroundColor), complaints = new Map();
	// A text within a bar stands behind it in the drawing.
	const groundOf = (element) => {
		const { fill, fillOpacity: share } = getComputedStyle(element.previousElementSibling ?? element);
		return element.matches(".inside") ? page.map((part, i) => part + share * (partsOf(fill)[i] - part)) : page;
	};
	for (const element of document.querySelectorAll("svg text, svg path")) {
		const { fill } = getComputedStyle(element), isText = element.tagName === "text";
		if (fill === "none")
			continue;
		const values = [light(partsOf(fill)), light(groundOf(element))].sort((a, b) => b - a), ratio = (values[0] + 0.05) / (values[1] + 0.05);
		if (ratio < (isText ? 4.5 : 3))
			complaints.set(fill, `${isText ? "text" : "bars"} of colour ${fill}: contrast ${ratio.toFixed(2)}`);
	}
	return Array.from(complaints.values());
}

// Runs in the page: takes all rows of tables and parts of drawings away but the first ones, for axe is slow and they are
// made alike; puts them back.
function takeAway(most) {
	const parts = Array.from(document.querySelectorAll("tbody, svg"), (whole) => [whole, Array.from(whole.children).slice(most)]);
	parts.forEach(([, rest]) => rest.forEach((one) => one.remove()));
	globalThis.npulabPutBack = () => parts.forEach(([whole, rest]) => whole.append(...rest));
}

export async function accessibility({ page, wrong }) {
	let n = 0;
	await unfold(page, 2);
	await page.evaluate(axeSource());
	for (const colorScheme of ["light", "dark"]) {
		await page.emulateMedia({ colorScheme });
		(await page.evaluate(contrastsOfDrawings)).forEach((text) => wrong(`${colorScheme}: ${text}`));
	}
	await page.evaluate(takeAway, ENOUGH);
	for (const { width, colorScheme } of LOOKS) {
		await page.setViewportSize({ width, height: HEIGHT });
		await page.emulateMedia({ colorScheme });
		const found = await page.evaluate((values) => globalThis.axe.run(document, {
			resultTypes: ["violations"], runOnly: { type: "tag", values } }), RULES);
		n += found.passes.length;
		for (const { id, help, nodes } of found.violations)
			wrong(`${width} wide, ${colorScheme}: ${id} (${help}), ${nodes.length} times: ${nodes[0].target} ${nodes[0].failureSummary}`);
	}
	await page.evaluate(() => globalThis.npulabPutBack());
	await page.emulateMedia({ colorScheme: "light" });
	return n;
}

// Runs in the page: what is wider than the window has to be in a box that scrolls, itself within the window.
function overflowing() {
	const complaints = [], width = innerWidth;
	const { scrollWidth } = document.documentElement;
	if (scrollWidth > width)
		complaints.push(`the page is ${scrollWidth} wide in a window of ${width}`);
	for (const element of document.querySelectorAll("main *, footer *")) {
		const { right, width: own } = element.getBoundingClientRect();
		if (own === 0 || right <= width + 1)
			continue;
		const box = element.parentElement.closest(".table, .chart, [data-scrolls]");
		if (!box || getComputedStyle(box).overflowX !== "auto" || box.getBoundingClientRect().right > width + 1)
			complaints.push(`<${element.tagName}> reaches to ${right} in a window of ${width}: ${element.textContent.slice(0, 60)}`);
	}
	return { complaints, n: document.querySelectorAll("main *").length };
}

export async function room({ page, wrong }) {
	let n = 0;
	await unfold(page);
	for (const width of WIDTHS) {
		await page.setViewportSize({ width, height: HEIGHT });
		const found = await page.evaluate(overflowing);
		found.complaints.forEach(wrong);
		n += found.n;
	}
	return n;
}

// Runs in the page, as it is printed.
function unprintable(mostWidth) {
	const complaints = [], { scrollWidth } = document.documentElement, body = getComputedStyle(document.body);
	if (scrollWidth > mostWidth)
		complaints.push(`${scrollWidth} wide, and a printed page holds ${mostWidth}: the rest is cut`);
	for (const control of document.querySelectorAll("input, select, textarea, label"))
		if (control.checkVisibility())
			complaints.push(`a control is printed: ${control.outerHTML.slice(0, 80)}`);
	for (const element of document.querySelectorAll("main *")) {
		const { overflowX, overflowY } = getComputedStyle(element);
		if (element instanceof HTMLElement && (overflowX !== "visible" || overflowY !== "visible") &&
			(element.scrollWidth > element.clientWidth + 1 || element.scrollHeight > element.clientHeight + 1))
			complaints.push(`a box that scrolls is cut: <${element.tagName.toLowerCase()} class="${element.className}">`);
	}
	if (body.backgroundColor !== "rgb(255, 255, 255)" || body.color !== "rgb(0, 0, 0)")
		complaints.push(`printed in ${body.color} on ${body.backgroundColor}`);
	return complaints;
}

// A reader with a dark screen prints on white paper, too.
export async function print({ page, wrong }) {
	await page.emulateMedia({ media: "print", colorScheme: "dark" });
	await page.setViewportSize({ width: PRINTED_WIDTH, height: HEIGHT });
	await unfold(page);
	(await page.evaluate(unprintable, MOST_SHRINKING * PRINTED_WIDTH)).forEach(wrong);
	(await page.evaluate(contrastsOfDrawings)).forEach((text) => wrong(`printed: ${text}`));
	const pdf = (await page.pdf({ format: "A4" })).toString("latin1");
	const pages = pdf.match(/\/Type\s*\/Page\b/g)?.length ?? 0;
	if (!pdf.startsWith("%PDF") || pages === 0 || pdf.length < 5000)
		wrong(`printed: ${pdf.length} bytes with ${pages} pages`);
	await page.emulateMedia({ media: "screen", colorScheme: "light" });
	await page.setViewportSize({ width: WIDTHS[1], height: HEIGHT });
	return pages;
}

// Runs in the page: what can be read of it. A drawing that a script makes has its figures in a table beside it.
function contents() {
	const visible = (selector) => Array.from(document.querySelectorAll(selector)).filter((one) => one.checkVisibility());
	const texts = (selector) => visible(selector).map((one) => one.textContent);
	return {
		headings: texts("h1, h2, h3"), cells: texts("th, td"), paragraphs: texts("p, li"),
		drawings: Array.from(document.querySelectorAll("svg:not([aria-hidden])")).filter((one) => one.checkVisibility() || one.closest(".replaced"))
			.map((one) => one.textContent),
		controls: visible("button, input, select").length,
		bare: Array.from(document.querySelectorAll("canvas")).filter((one) => !one.closest("section")?.querySelector("table")).length,
	};
}

export async function withoutJavaScript({ page, path, browser, wrong, noise }) {
	const { context, page: still } = await openPage(browser, path, noise, { javaScriptEnabled: false });
	await unfold(still);
	await unfold(page);
	const expected = await page.evaluate(contents), found = await still.evaluate(contents);
	await context.close();
	for (const what of ["headings", "cells", "drawings", "paragraphs"])
		if (found[what].join("\n") !== expected[what].join("\n"))
			wrong(`${found[what].length} ${what}, with JavaScript ${expected[what].length}, or their texts differ`);
	if (found.controls > 0 || found.bare > 0)
		wrong(`${found.controls} controls that do nothing, ${found.bare} drawings without a table`);
	return found.cells.length + found.drawings.length;
}
