// SPDX-License-Identifier: MIT
//
// Opens pages in Chromium, headless, and prints what is wrong with them, for tests/pages/test_browser.c.
//
//     node tests/pages/browser/check.mjs           says what is missing to run, if anything is
//     node tests/pages/browser/check.mjs JOB.json
//
// The job: {"seconds": 100, "pages": [{"name": "lenet5", "html": "/tmp/a.html", "json": ["/tmp/a.json"], "checks": ["comparison"],
// "general": true}]}. The page is of these documents; a drawing has none. It gets the checks of OWN that it names and, if general
// is true, all of GENERAL. A line of JSON comes for each check of each page: {"page", "check", "looked_at", "ms", "problems"};
// one for its opening: {"page", "painted_ms", "drawn_ms"}; the last one is {"end": true}. Exit status 0: the last line was
// printed, whatever was found; 3: something is missing.
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { comparison } from "./comparison.mjs";
import { dram } from "./dram.mjs";
import { drawing } from "./drawing.mjs";
import { accessibility, figures, print, room, withoutJavaScript } from "./general.mjs";
import { keyboard } from "./keyboard.mjs";
import { missing, openPage, startBrowser, timesOf } from "./open.mjs";
import { overlay } from "./overlay.mjs";
import { pareto } from "./pareto.mjs";
import { roofline } from "./roofline.mjs";
import { validation } from "./validation.mjs";

// Each takes { page, path, browser, roots, root, names, wrong, noise, noises }: the open page, its file, its documents, the first
// of them, the names that a page of several has for them, where complaints go, and what the page said. It returns how much it
// looked at. In this order: the last ones change the page.
const OWN = { comparison, dram, drawing, overlay, pareto, roofline, validation };
const GENERAL = { figures, "without JavaScript": withoutJavaScript, accessibility, room, print, keyboard };
const MOST_PROBLEMS = 20; // of a check: more say nothing new

const PAGES_AT_A_TIME = 2;

const doing = new Map([["the browser", "starting"]]);

function say(line) {
	process.stdout.write(`${JSON.stringify(line)}\n`);
}

function report(page, check, lookedAt, problems, ms) {
	const more = problems.length > MOST_PROBLEMS ? [`and ${problems.length - MOST_PROBLEMS} more`] : [];
	say({ page, check, looked_at: lookedAt, ms, problems: [...problems.slice(0, MOST_PROBLEMS), ...more] });
}

async function run(name, check, given) {
	const problems = [];
	const from = performance.now();
	let lookedAt = 0;
	doing.set(given.name, name);
	try {
		lookedAt = await check({ ...given, wrong: (text) => problems.push(text) });
		if (!(lookedAt > 0))
			problems.push("there was nothing to look at");
	} catch (error) {
		problems.push(`${error.stack}`);
	}
	report(given.name, name, lookedAt, problems, Math.round(performance.now() - from));
}

async function checkPage(browser, { name, html: path, json, checks, general }) {
	const noises = [], noise = (text) => noises.push(text);
	doing.set(name, "opening");
	const { context, page } = await openPage(browser, path, noise);
	const { painted, drawn } = await timesOf(page);
	say({ page: name, painted_ms: painted, drawn_ms: drawn });
	const roots = json.map((file) => JSON.parse(readFileSync(file, "utf8")));
	const given = { name, page, path, browser, roots, root: roots[0], noise, noises,
		names: json.map((file) => basename(file, ".json")) };
	for (const check of checks)
		await run(check, OWN[check], given);
	for (const [check, look] of Object.entries(general ? GENERAL : {}))
		await run(check, look, given);
	if (general)
		report(name, "silence", 1, noises, 0);
	await context.close();
	doing.delete(name);
}

// A browser or a page that hangs ends this program, and with it the browser.
function limit(seconds) {
	setTimeout(() => {
		const left = Array.from(doing, ([page, what]) => `${page}: ${what}`);
		process.stderr.write(`after ${seconds} s still at work: ${left.join("; ")}\n`);
		process.exit(1);
	}, 1000 * seconds).unref();
}

async function checkPages({ seconds, pages }) {
	limit(seconds);
	const browser = await startBrowser();
	doing.clear();
	const work = async () => {
		for (let page = pages.shift(); page; page = pages.shift())
			await checkPage(browser, page);
	};
	await Promise.all(Array.from({ length: PAGES_AT_A_TIME }, work));
	await browser.close();
	say({ end: true });
}

const lacks = missing(), [, , job] = process.argv;
if (lacks) {
	process.stdout.write(`${lacks}\n`);
	process.exit(3);
}
if (job)
	await checkPages(JSON.parse(readFileSync(job, "utf8")));
