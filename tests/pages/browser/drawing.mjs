// SPDX-License-Identifier: MIT
//
// A drawing in a file of its own (`npulab report --svg`): the browser takes it as SVG without a fault of its syntax, each kind of
// its parts can be seen, nothing lies outside of it, and it is silent.
const MOST_BEYOND = 0.6; // half of a line
const COLOURS = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"];
const KINDS = ["text", ".grid", ".range", ".roof", ...COLOURS.map((colour) => `path.${colour}`)];

// Runs in the drawing.
function outline() {
	const root = document.documentElement, error = document.querySelector("parsererror")?.textContent.trim().slice(0, 200);
	if (error !== undefined || root.localName !== "svg" || root.namespaceURI !== "http://www.w3.org/2000/svg")
		return { error: error ?? `the root is ${root.localName} of ${root.namespaceURI}`, parts: [] };
	const { width, height } = root.viewBox.baseVal;
	// A box in units of the drawing, whose own are pixels.
	const boxOf = (element) => {
		const { x, y, width: wide, height: high } = element.getBBox(), { e, f } = element.getCTM();
		return { left: x + e, top: y + f, right: x + wide + e, bottom: y + high + f };
	};
	const elements = Array.from(root.querySelectorAll("path:not([d='']), rect, text"));
	return {
		width, height, title: root.querySelector(":scope > title")?.textContent ?? "",
		ground: root.querySelector(":scope > rect") && getComputedStyle(root.querySelector(":scope > rect")).fill,
		parts: elements.map((element) => ({ what: element.outerHTML.slice(0, 120), isText: element.localName === "text", ...boxOf(element) })),
	};
}

// Runs in the drawing: hides the parts, or shows them again. Returns how many there are.
function hide([selector, isHidden]) {
	const parts = document.querySelectorAll(selector);
	parts.forEach((part) => part.style.setProperty("visibility", isHidden ? "hidden" : "inherit"));
	return parts.length;
}

async function checkSeen(page, clip, wrong) {
	const whole = await page.screenshot({ clip });
	for (const selector of KINDS) {
		if (await page.evaluate(hide, [selector, true]) > 0 && (await page.screenshot({ clip })).equals(whole))
			wrong(`what is ${selector} cannot be seen`);
		await page.evaluate(hide, [selector, false]);
	}
}

// Returns how many parts it has.
export async function drawing({ page, noises, wrong }) {
	const { error, width, height, title, ground, parts } = await page.evaluate(outline);
	if (error !== undefined)
		wrong(`is no SVG: ${error}`);
	for (const { what, left, top, right, bottom } of parts)
		if (!(Math.min(left, top) >= -MOST_BEYOND && right <= width + MOST_BEYOND && bottom <= height + MOST_BEYOND))
			wrong(`reaches out of ${width} by ${height}, from ${left}, ${top} to ${right}, ${bottom}: ${what}`);
	if (parts.length > 0) {
		if (title.trim() === "")
			wrong("has no title");
		if (ground !== "rgb(255, 255, 255)")
			wrong(`the ground is ${ground}`);
		if (!parts.some((part) => part.isText))
			wrong("has no text");
		await page.setViewportSize({ width: Math.ceil(width), height: Math.ceil(height) });
		await checkSeen(page, { x: 0, y: 0, width, height }, wrong);
	}
	noises.forEach(wrong);
	return parts.length;
}
