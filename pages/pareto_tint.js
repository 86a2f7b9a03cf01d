/* Colours of points by a figure or a parameter: the places of an axis in a row of colours, or, of a few texts, a colour for each. */
(function () {
	"use strict";
	const {Scale, parts} = npulabSweep;
	/* Viridis: it grows lighter evenly, also for people who confuse red and green. */
	const ROW = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [226, 205, 30]];
	const OF_TEXTS = ["--s0", "--s2", "--s3", "--s4", "--s7", "--s5"]; /* the front has the other one */
	const STEPS = 32, LEGEND = 5;

	/* On a dark page the row begins where it can be seen. */
	function between(share) {
		const isDark = parts("--page")[0] < 128, at = (isDark ? 0.25 + 0.75 * share : share) * (ROW.length - 1), k = Math.min(ROW.length - 2, Math.floor(at));
		return ROW[k].map((part, i) => Math.round(part + (at - k) * (ROW[k + 1][i] - part)));
	}

	class Tint {
		constructor(column) {
			this.column = column;
			this.isOfTexts = column.isText && column.values.length <= OF_TEXTS.length;
			const few = Boolean(column.codes) && column.values.length <= STEPS;
			this.scale = new Scale(column, few ? "places" : column.isWide ? "log" : "linear");
			this.steps = few ? this.scale.places.length : STEPS;
			const all = this.scale.all();
			/* 0: it has no value */
			this.ofPoints = Uint8Array.from(all, (place) => (Number.isNaN(place) ? 0 : 1 + Math.min(this.steps - 1, Math.floor(place * this.steps))));
		}
		colourOf(step) {
			return this.isOfTexts ? parts(OF_TEXTS[step]) : between(this.steps > 1 ? step / (this.steps - 1) : 0);
		}
		/* The colours as words of pixels. */
		palette() {
			const words = Uint32Array.from({length: this.steps + 1}, (_, k) => (k === 0 ? parts("--s6") : this.colourOf(k - 1)).reduce((sum, part, at) => sum | part << (8 * at), 0));
			return words;
		}
		/* Lines of the legend: some of the steps. */
		legend() {
			const n = Math.min(this.steps, this.isOfTexts ? OF_TEXTS.length : LEGEND), lines = [];
			for (let k = 0; k < n; k++) {
				const step = n > 1 ? Math.round(k * (this.steps - 1) / (n - 1)) : 0, {scale, column} = this;
				const value = scale.kind === "places" ? column.table[scale.places[step]] : Number(scale.value((step + 0.5) / this.steps).toPrecision(3));
				lines.push([`rgb(${this.colourOf(step).join(" ")})`, `${k === 0 ? `${column.name}: ` : ""}${column.text(value)}`, "square"]);
			}
			return lines;
		}
	}

	npulabSweep.Tint = Tint;
})();
