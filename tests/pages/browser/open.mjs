// SPDX-License-Identifier: MIT
//
// Starts Debian's Chromium and opens pages from files in it. What a page asks for, says or throws is noted.
import { createRequire } from "node:module";
import { existsSync, readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const CHROMIUM = "/usr/bin/chromium";
const LEAST_NODE = 18; // Debian 12's, and the oldest that playwright-core takes
const SECONDS_TO_START = 60, SECONDS_TO_OPEN = 30;

// What scripts/install-deps.sh installed is no part of the tracked tree, so it is not where Node looks by itself.
const modules = createRequire(new URL("../../../build/browser/package.json", import.meta.url));

// What is missing to run at all, or null.
export function missing() {
	if (Number(process.versions.node.split(".")[0]) < LEAST_NODE)
		return `node ${process.versions.node} is older than ${LEAST_NODE}`;
	if (!existsSync(CHROMIUM))
		return `there is no ${CHROMIUM}`;
	try {
		modules.resolve("playwright-core");
		modules.resolve("axe-core");
		return null;
	} catch {
		return "there is no playwright-core or axe-core in build/browser";
	}
}

export function axeSource() {
	return readFileSync(modules.resolve("axe-core/axe.min.js"), "utf8");
}

// Chromium's own sandbox does not work for root.
export async function startBrowser() {
	const { chromium } = modules("playwright-core");
	const args = process.getuid() === 0 ? ["--no-sandbox"] : [];
	return chromium.launch({ executablePath: CHROMIUM, args, timeout: 1000 * SECONDS_TO_START });
}

// Runs in the page before its own script: when the frame after the load event was drawn, from the start of the navigation.
function noteWhenDrawn() {
	addEventListener("load", () =>
		requestAnimationFrame(() => requestAnimationFrame(() => { globalThis.npulabDrawn = performance.now(); })));
}

// `noise` gets a sentence for each thing that a page must not do: ask for another file, write to the console, fail, ask
// its reader something. A request would get nothing, as there is no network. Close the context when the page was looked at.
export async function openPage(browser, path, noise, { javaScriptEnabled = true } = {}) {
	const url = pathToFileURL(path).href;
	const context = await browser.newContext({ offline: true, javaScriptEnabled, viewport: { width: 1280, height: 900 } });
	const page = await context.newPage();
	context.on("page", () => noise("opens another page"));
	page.setDefaultTimeout(1000 * SECONDS_TO_OPEN);
	page.on("request", (request) => request.url() !== url && noise(`asks for ${request.url().slice(0, 200)}`));
	page.on("websocket", (socket) => noise(`asks for ${socket.url()}`));
	page.on("console", (message) => noise(`says on the console: ${message.text()}`));
	page.on("pageerror", (error) => noise(`fails: ${error.message}`));
	page.on("dialog", (dialog) => { noise(`shows a dialog: ${dialog.message()}`); dialog.dismiss(); });
	if (javaScriptEnabled)
		await page.addInitScript(noteWhenDrawn);
	await page.goto(url, { waitUntil: "load" });
	return { context, page };
}

// Milliseconds from the start of the navigation until the first content was painted, and until all of it was drawn.
export async function timesOf(page) {
	await page.waitForFunction(() => globalThis.npulabDrawn > 0);
	return page.evaluate(() => ({
		painted: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? null,
		drawn: globalThis.npulabDrawn,
	}));
}

// Opens what a page has folded away: `most` of the parts, which are made alike, and closes the others.
export async function unfold(page, most = 1000) {
	await page.evaluate((n) => document.querySelectorAll("details").forEach((details, i) => { details.open = i < n; }), most);
}
