// SPDX-License-Identifier: MIT
//
// Figures as pages show them, read back: "~1.23 ms" is 0.00123, give or take half of its last digit, from a model.

const PREFIXES = { p: 1e-12, n: 1e-9, u: 1e-6, m: 1e-3, "": 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18 };

function numberOf(text) {
	const match = /^~?(-?\d+)(\.\d+)?(e[+-]?\d+)?(?: (\S+(?: s)?))?$/.exec(text);
	if (!match)
		return null;
	const [, whole, fraction = "", exponent = "", unit = ""] = match;
	const decimals = Math.max(fraction.length - 1, 0);
	return { value: Number(whole + fraction + exponent), unit, half: 0.5 * 10 ** -decimals * Number(`1${exponent || "e0"}`) };
}

function isNear(shown, factor, value) {
	return Math.abs(shown.value * factor - value) <= 1.0001 * shown.half * factor + 1e-12 * Math.abs(value);
}

// Says whether a text shows a value in a unit: with one of the prefixes, or as per cent for the unit "%".
export function shows(text, value, unit) {
	const shown = numberOf(text);
	if (!shown)
		return false;
	if (unit === "%")
		return shown.unit === "%" && isNear(shown, 0.01, value);
	return Object.entries(PREFIXES).some(([prefix, factor]) => shown.unit === prefix + unit && isNear(shown, factor, value));
}

// What a text shows in a unit, one of its prefixes before it. NaN: something else.
export function plainValue(text, unit) {
	const shown = numberOf(text), [, factor] = Object.entries(PREFIXES).find(([prefix]) => shown?.unit === prefix + unit) ?? [];
	return factor ? shown.value * factor : NaN;
}

// Says whether a text shows a change of 1.5 as "+150 %", "0", or, where it is great, as the factor "x 2.5".
export function showsChange(text, change) {
	if (text === "0")
		return change === 0;
	if (text.startsWith("x "))
		return shows(text.slice(2), change + 1, "");
	return text.startsWith("+") ? change > 0 && shows(text.slice(1), change, "%") : shows(text, change, "%");
}

// The same in whatever unit stands there.
export function showsInItsUnit(text, value) {
	const shown = numberOf(text);
	if (!shown)
		return false;
	const units = [shown.unit, shown.unit.slice(1)];
	return units.some((unit) => shows(text, value, unit));
}

export function isMarked(text) {
	return text.startsWith("~");
}

// A page has nine digits of a value for sorting.
export function isSame(a, b) {
	return Math.abs(a - b) <= 1e-8 * Math.max(Math.abs(a), Math.abs(b));
}

// What npulab makes of a name: characters that steer a terminal or the direction of writing become "?".
export function nameOnPage(name) {
	const steering =
		/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufeff\ufff9-\ufffb]/gu;
	return name.replace(steering, "?");
}
