// SPDX-License-Identifier: MIT
//
// Without a pointer: Tab comes to every control, in the order of the page and visibly; Enter on a heading sorts the rows;
// the field above a table chooses rows.
import { unfold } from "./open.mjs";

// A page has a dozen tables with the same code behind their fields and headings: some are tried by keys, which take time.
const MOST_STOPS = 1000, MOST_SEARCHES = 2, SORTED_BY_KEYS = 2;

// Runs in the page: where the focus is, among all elements, or null if it is nowhere.
function focused() {
	const element = document.activeElement;
	if (!element || element === document.body)
		return null;
	const { outlineStyle, outlineWidth } = getComputedStyle(element);
	return {
		index: globalThis.npulabOrder.get(element),
		isSeen: outlineStyle !== "none" && parseFloat(outlineWidth) > 0,
		what: element.cloneNode(false).outerHTML.slice(0, 100),
	};
}

// Runs in the page: all that can have the focus, among all elements. Notes the order of these.
function controls() {
	const all = Array.from(document.querySelectorAll("*"));
	globalThis.npulabOrder = new Map(all.map((element, index) => [element, index]));
	return all.flatMap((element, index) => (
		element.matches("button, input, select, summary, a[href], [tabindex='0']") && element.checkVisibility()
			? [{ index, what: element.cloneNode(false).outerHTML.slice(0, 100) }] : []));
}

async function tabThrough(page, wrong) {
	const stops = [], expected = await page.evaluate(controls);
	await page.evaluate(() => document.activeElement?.blur());
	for (let stop; stops.length < MOST_STOPS; stops.push(stop)) {
		await page.keyboard.press("Tab");
		stop = await page.evaluate(focused);
		if (!stop || stops.some((other) => other.index === stop.index))
			break;
		if (!stop.isSeen)
			wrong(`the focus cannot be seen on ${stop.what}`);
	}
	for (const one of expected)
		if (!stops.some((stop) => stop.index === one.index))
			wrong(`Tab does not come to ${one.what}`);
	if (stops.some((stop, i) => i > 0 && stop.index < stops[i - 1].index))
		wrong(`Tab goes back in the page: ${stops.map((stop) => stop.what).join("; ").slice(0, 600)}`);
	return stops.length;
}

// ---- Sorting.

const letters = new Intl.Collator("en", { numeric: true });

// Where a cell of a column stands: what has no figure is last in both directions, and no error is better than any ratio.
function rank(cell, isNumber) {
	if (!isNumber)
		return cell.text === "" ? null : cell.text;
	if (cell.value !== undefined)
		return cell.value;
	return cell.text === "exact" ? Infinity : null;
}

function isInOrder(ranks, isNumber, direction) {
	const sign = direction === "descending" ? -1 : 1;
	return ranks.every((rank, i) => {
		const before = ranks[i - 1];
		if (i === 0 || rank === null)
			return true;
		if (before === null)
			return false;
		return sign * (isNumber ? (rank > before) - (rank < before) : letters.compare(rank, before)) >= 0;
	});
}

// Runs in the page: presses the buttons of headings twice each, and tells the cells of their columns and the rows after each.
function pressed({ table: t, columns }) {
	const table = document.querySelectorAll("table.sorted")[t];
	return columns.flatMap((column) => [0, 1].map((turn) => {
		table.tHead.rows[0].cells[column].querySelector("button").click();
		return { column, turn, found: globalThis.npulabRead(table, column) };
	}));
}

// Puts a function into the page: what a table shows of a column.
function putReader() {
	globalThis.npulabRead = (table, column) => {
		const rows = Array.from(table.tBodies[0].rows), heading = table.tHead.rows[0].cells[column];
		return {
			isNumber: heading.classList.contains("n"), direction: heading.getAttribute("aria-sort"),
			sorted: table.querySelectorAll("[aria-sort]").length,
			rows: rows.map((row) => row.textContent.trim()).sort().join("\n"),
			cells: rows.map(({ cells: { [column]: cell } }) => ({
				text: cell?.textContent.trim() ?? "", value: cell?.dataset.v === undefined ? undefined : Number(cell.dataset.v) })),
		};
	};
}

// Figures begin with the greatest, texts with the first of the alphabet; the next time it is the other way round.
function checkOrder(found, turn, rows, place, wrong) {
	const direction = (turn === 0) === found.isNumber ? "descending" : "ascending";
	if (!isInOrder(found.cells.map((cell) => rank(cell, found.isNumber)), found.isNumber, direction))
		wrong(`${place}: not ${direction}: ${found.cells.map((cell) => cell.text).join(", ").slice(0, 300)}`);
	if (found.direction !== direction || found.sorted !== 1)
		wrong(`${place}: aria-sort is ${found.direction} in one of ${found.sorted} headings, expected ${direction}`);
	if (found.rows !== rows)
		wrong(`${place}: sorting changed the rows`);
}

// Sorts by the first column with Enter and by the second with the space bar.
async function sortByKeys(page, t, rows, wrong) {
	const table = page.locator("table.sorted").nth(t);
	for (const [column, key] of ["Enter", "Space"].entries()) {
		const button = table.locator("thead th").nth(column).locator("button");
		await button.focus();
		for (const turn of [0, 1]) {
			await page.keyboard.press(key);
			const found = await table.evaluate((element, at) => globalThis.npulabRead(element, at), column);
			checkOrder(found, turn, rows, `${key} on the heading ${column}`, wrong);
		}
		if (!await button.evaluate((element) => element === document.activeElement))
			wrong(`${key} on the heading ${column}: the focus left it`);
	}
}

async function sortAll(page, wrong) {
	await page.evaluate(putReader);
	const tables = await page.evaluate(() => Array.from(document.querySelectorAll("table.sorted"), (table) => ({
		before: globalThis.npulabRead(table, 0).rows, headings: Array.from(table.tHead.rows[0].cells, (cell) => cell.textContent) })));
	for (const [t, { before, headings }] of tables.entries()) {
		if (t < SORTED_BY_KEYS)
			await sortByKeys(page, t, before, wrong);
		for (const { column, turn, found } of await page.evaluate(pressed, { table: t, columns: [...headings.keys()].slice(t < SORTED_BY_KEYS ? 2 : 0) }))
			checkOrder(found, turn, before, `sorted by ${headings[column]}`, wrong);
	}
	return tables.length;
}

// ---- Searching.

async function visibleRows(box) {
	return box.locator("tbody tr").evaluateAll((rows) => rows.map((row) => (
		{ text: row.textContent.toLowerCase(), isSeen: row.checkVisibility() })));
}

async function searchAll(page, wrong) {
	const boxes = page.locator(".searched"), fields = page.locator("input[type=search]");
	const n = await boxes.count();
	if (await fields.count() !== n) {
		wrong(`${await fields.count()} fields to search ${n} tables`);
		return 0;
	}
	for (let i = 0; i < Math.min(n, MOST_SEARCHES); i++) {
		const box = boxes.nth(i), field = fields.nth(i), rows = await visibleRows(box);
		const name = await box.locator("tbody tr td").nth(0).textContent();
		for (const text of [name.slice(0, 30), "no row has this text", ""]) {
			await field.focus();
			await page.keyboard.press("Control+A");
			await page.keyboard.press("Delete");
			await page.keyboard.insertText(text.toUpperCase());
			for (const { text: row, isSeen } of await visibleRows(box))
				if (isSeen !== row.includes(text.toLowerCase()))
					wrong(`searched for "${text}": the row ${row.slice(0, 60)} ${isSeen ? "stays" : "is gone"}`);
		}
		if (rows.length === 0)
			wrong(`a field searches a table without rows`);
	}
	return n;
}

export async function keyboard({ page, wrong }) {
	await unfold(page, MOST_SEARCHES);
	return await tabThrough(page, wrong) + await sortAll(page, wrong) + await searchAll(page, wrong);
}
