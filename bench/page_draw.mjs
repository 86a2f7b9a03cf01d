#!/usr/bin/env node
// SPDX-License-Identifier: MIT
//
// How long Chromium takes to draw pages of results: milliseconds from the start of the navigation until the first content
// is painted, and until the whole page is drawn, medians over 11 loads; the size of each page.
//
//     bench/page_draw.mjs PAGE.html...
import { statSync } from "node:fs";
import { basename } from "node:path";
import { missing, openPage, startBrowser, timesOf } from "../tests/pages/browser/open.mjs";

const LOADS = 11;

function median(values) {
	return values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
}

async function measure(browser, path) {
	const times = [];
	for (let i = 0; i < LOADS; i++) {
		const { context, page } = await openPage(browser, path, (text) => { throw new Error(`${path} ${text}`); });
		times.push(await timesOf(page));
		await context.close();
	}
	const [painted, drawn] = ["painted", "drawn"].map((what) => median(times.map((time) => time[what])));
	console.log(`${basename(path)}: ${Math.round(statSync(path).size / 1000)} kB, ` +
		`painted after ${painted.toFixed(0)} ms, drawn after ${drawn.toFixed(0)} ms`);
}

const lacks = missing();
if (lacks) {
	console.log(`pages are not drawn: ${lacks} (scripts/install-deps.sh browser)`);
} else {
	const browser = await startBrowser();
	for (const path of process.argv.slice(2))
		await measure(browser, path);
	await browser.close();
}
