/* Parallel coordinates of a sweep's points: an axis for each parameter and figure, and a line across them for each point. Lines are counted
 * and not drawn: between two axes all that have the same ends are one line, whose pixels get their number. So a hundred thousand
 * points take as long as a few thousand. A brush on an axis is a filter. */
(function () {
	"use strict";
	const {ON_FRONT, Scale, colour, element, fit, parts} = npulabSweep;
	const TOP = 52, BOTTOM = 26, SIDE = 56, LEAST_GAP = 92, BINS = 128, MOST_LINES = 400, CLICK = 4;

	class Parallel {
		constructor(data, filters, open) {
			Object.assign(this, {data, filters, open, chosen: -1, drag: null});
			this.axes = [];
			this.canvas = element("canvas", {role: "img", "aria-label": "Parallel coordinates of the parameters and figures of all points. The fields of the filters do what dragging along an axis does."});
			this.image = element("canvas");
			this.box = element("div", {class: "plot"}, this.canvas);
			this.wide = element("div", {class: "wide", "data-scrolls": "", tabindex: 0, role: "group", "aria-label": "Parallel coordinates"}, this.box);
			this.choices = element("details", {}, element("summary", {}, "Which axes"));
			this.figure = element("figure", {class: "across"}, element("figcaption", {}, "All parameters and figures"),
				element("div", {class: "hint"}, "Drag along an axis to keep the points within; click on it to keep all again. Of figures the better end is up."),
				this.choices, this.wide);
			this.chooseAxes();
			this.listen();
		}
		chooseAxes() {
			const {data} = this, wanted = new Set([...data.columns.filter((column) => column.kind === "parameter" && !column.isDerived && !column.twin), ...data.objectives.map(({column}) => column)]);
			const box = element("div", {class: "choices"});
			this.shown = data.columns.filter((column) => wanted.has(column) && !column.isConstant).slice(0, 12);
			for (const column of data.columns.filter((one) => !one.isConstant)) {
				const input = element("input", {type: "checkbox", checked: this.shown.includes(column), onchange: () => {
					this.shown = data.columns.filter((one) => (one === column ? input.checked : this.shown.includes(one)));
					this.place();
				}});
				box.append(element("label", {}, input, ` ${column.name}`));
			}
			this.choices.append(box);
		}
		/* Finds where the points are on each axis, when axes change. */
		place() {
			this.axes = this.shown.map((column) => {
				const kind = column.isText || (column.kind === "parameter" && column.isFew) ? "places" : column.isWide ? "log" : "linear";
				const scale = new Scale(column, kind), isTurned = column.better < 0, all = scale.all(), bins = new Uint8Array(all.length);
				for (let i = 0; i < all.length; i++)
					bins[i] = all[i] >= 0 && all[i] <= 1 ? Math.round((isTurned ? 1 - all[i] : all[i]) * (BINS - 1)) : 255;
				return {column, scale, isTurned, bins, all};
			});
			this.box.style.minWidth = `${2 * SIDE + LEAST_GAP * (this.axes.length - 1)}px`;
			this.draw();
		}
		x(k) {
			return this.axes.length < 2 ? this.width / 2 : SIDE + k * (this.width - 2 * SIDE) / (this.axes.length - 1);
		}
		/* The height of a place on an axis, 1 at the top. */
		y(axis, place) {
			return TOP + (axis.isTurned ? place : 1 - place) * this.h;
		}
		draw() {
			const {context, width, height} = fit(this.canvas);
			Object.assign(this, {width, height, h: height - TOP - BOTTOM});
			context.clearRect(0, 0, width, height);
			if (width < 2 * SIDE || this.axes.length === 0)
				return;
			this.drawLines(context);
			this.drawFront(context);
			this.axes.forEach((axis, k) => this.drawAxis(context, axis, this.x(k)));
		}
		/* Counts the lines between two axes by their ends. */
		count(a, b, isIn, pairs) {
			const {n} = this.data;
			pairs.fill(0);
			for (let i = 0; i < n; i++)
				if (isIn[i] && a[i] !== 255 && b[i] !== 255)
					pairs[a[i] * BINS + b[i]]++;
		}
		/* Adds lines to the counts of pixels, column by column. */
		rasterise(pairs, pixels, {from, until, w, h}) {
			const size = until - from, unit = (h - 1) / (BINS - 1);
			for (let a = 0; a < BINS; a++)
				for (let b = 0; b < BINS; b++) {
					const n = pairs[a * BINS + b];
					if (n === 0)
						continue;
					const step = (a - b) * unit / size;
					let y = (BINS - 1 - a) * unit + 0.5;
					for (let x = from; x < until; x++, y += step)
						pixels[(y | 0) * w + x] += n;
				}
		}
		drawLines(context) {
			const w = Math.ceil(this.width), h = Math.ceil(this.h), {best, left, count, nBest} = this.filters, pairs = new Uint32Array(BINS * BINS);
			const many = new Uint32Array(w * h), pale = new Uint32Array(w * h), worst = count > nBest ? left.map((one, i) => one & (1 - best[i])) : null;
			for (let k = 0; k + 1 < this.axes.length; k++) {
				const area = {from: Math.round(this.x(k)), until: Math.round(this.x(k + 1)), w, h}, a = this.axes[k].bins, b = this.axes[k + 1].bins;
				this.count(a, b, best, pairs);
				this.rasterise(pairs, many, area);
				if (worst) {
					this.count(a, b, worst, pairs);
					this.rasterise(pairs, pale, area);
				}
			}
			this.image.width = w;
			this.image.height = h;
			const ink = this.image.getContext("2d"), pixels = ink.createImageData(w, h), words = new Uint32Array(pixels.data.buffer);
			this.tone(words, pale, "--s6", 60, 130);
			this.tone(words, many, "--s0", 70, 235);
			ink.putImageData(pixels, 0, 0);
			context.drawImage(this.image, 0, TOP, w, h);
		}
		/* One line is as pale as `from`, the most that any pixel has as strong as `until`. */
		tone(words, counts, name, from, until) {
			const word = parts(name).reduce((sum, part, k) => sum | part << (8 * k), 0);
			let most = 0;
			for (let k = 0; k < counts.length; k++)
				most = counts[k] > most ? counts[k] : most;
			const scale = most > 1 ? (until - from) / Math.log(most) : 0, inked = (n) => (word | Math.round(from + scale * Math.log(n)) << 24) >>> 0;
			const few = Uint32Array.from({length: 4096}, (_, n) => (n ? inked(n) : 0));
			for (let k = 0; k < counts.length; k++)
				if (counts[k])
					words[k] = counts[k] < few.length ? few[counts[k]] : inked(counts[k]);
		}
		line(context, i) {
			context.beginPath();
			let isDown = false;
			this.axes.forEach((axis, k) => {
				const place = axis.all[i];
				if (!(place >= 0 && place <= 1)) {
					isDown = false;
					return;
				}
				context[isDown ? "lineTo" : "moveTo"](this.x(k), this.y(axis, place));
				isDown = true;
			});
			context.stroke();
		}
		drawFront(context) {
			const {data, filters} = this;
			let n = 0;
			context.strokeStyle = colour("--s1");
			context.lineWidth = 1.5;
			for (let i = 0; i < data.n && n < MOST_LINES; i++)
				if (data.flags[i] & ON_FRONT && filters.left[i]) {
					this.line(context, i);
					n++;
				}
			if (this.chosen >= 0) {
				context.strokeStyle = colour("--text");
				context.lineWidth = 3;
				this.line(context, this.chosen);
			}
		}
		drawAxis(context, axis, x) {
			const {column, scale} = axis, {h} = this;
			context.strokeStyle = colour("--text");
			context.lineWidth = 1;
			context.strokeRect(x, TOP, 0, h);
			context.textAlign = "center";
			context.fillStyle = colour("--text");
			const dot = column.label.length > 14 ? column.name.lastIndexOf(".") + 1 : 0, name = [column.label.slice(0, dot), column.label.slice(dot)];
			context.fillText(name[0], x, TOP - 36, LEAST_GAP);
			context.fillText(name[1], x, TOP - 21, LEAST_GAP);
			context.fillStyle = colour("--quiet");
			if (column.better)
				context.fillText(column.better < 0 ? "least" : "most", x, TOP - 6);
			context.lineWidth = 4;
			context.strokeStyle = colour("--page");
			context.textAlign = "left";
			for (const [place, text] of scale.ticks(8)) {
				const y = this.y(axis, place);
				context.strokeText(text, x + 5, y + 4, LEAST_GAP - 10);
				context.fillText(text, x + 5, y + 4, LEAST_GAP - 10);
				context.fillRect(x - 3, y - 0.5, 6, 1);
			}
			this.drawBrush(context, axis, x);
		}
		/* What a filter lets pass of an axis. */
		drawBrush(context, axis, x) {
			const filter = this.filters.of.get(axis.column), {scale} = axis;
			if (!filter)
				return;
			context.fillStyle = colour("--s1");
			context.globalAlpha = 0.45;
			if (filter.passes) {
				const half = scale.places ? 0.5 / scale.places.length : 0.02;
				filter.passes.forEach((passes, code) => {
					const place = scale.at(axis.column.table[code]);
					if (passes && !Number.isNaN(place))
						context.fillRect(x - 8, Math.min(this.y(axis, place - half), this.y(axis, place + half)), 16, 2 * half * this.h);
				});
			} else {
				const ends = this.endsOf(axis, filter).map((place) => this.y(axis, place));
				context.fillRect(x - 8, Math.min(...ends), 16, Math.max(2, Math.abs(ends[1] - ends[0])));
			}
			context.globalAlpha = 1;
		}
		/* Where a range ends on an axis. */
		endsOf({column, scale}, {from, until}) {
			if (scale.kind !== "places")
				return [from, until].map((value) => (Number.isFinite(value) ? Math.max(0, Math.min(1, scale.at(value))) : value > 0 ? 1 : 0)).map((one) => (Number.isNaN(one) ? 0 : one));
			const within = scale.places.filter((code) => column.table[code] >= from && column.table[code] <= until), half = 0.5 / scale.places.length;
			return within.length > 0 ? [scale.ofCode[within[0]] - half, scale.ofCode[within[within.length - 1]] + half] : [0, 0];
		}

		/* ---- The pointer. */

		listen() {
			this.canvas.addEventListener("pointerdown", (event) => this.begin(event));
			this.canvas.addEventListener("pointermove", (event) => this.move(event));
			this.canvas.addEventListener("pointerup", (event) => this.end(event));
			this.canvas.addEventListener("pointercancel", () => { this.drag = null; });
		}
		at(event) {
			const {left, top} = this.canvas.getBoundingClientRect(), x = event.clientX - left, y = event.clientY - top;
			const k = this.axes.length < 2 ? 0 : Math.round((x - SIDE) / (this.width - 2 * SIDE) * (this.axes.length - 1)), axis = this.axes[Math.max(0, Math.min(this.axes.length - 1, k))];
			return {axis: Math.abs(this.x(this.axes.indexOf(axis)) - x) < 26 ? axis : null, x, y: Math.max(TOP, Math.min(TOP + this.h, y))};
		}
		begin(event) {
			const {axis, y} = this.at(event);
			if (!axis)
				return;
			this.drag = {axis, y};
			this.canvas.setPointerCapture(event.pointerId);
			event.preventDefault();
		}
		move(event) {
			const {axis, y} = this.at(event), {drag} = this;
			this.canvas.style.cursor = axis ? "ns-resize" : "default";
			if (drag && Math.abs(y - drag.y) >= CLICK)
				this.brush(drag.axis, drag.y, y);
		}
		end(event) {
			const {drag} = this, {y} = this.at(event);
			this.drag = null;
			if (drag && Math.abs(y - drag.y) < CLICK)
				this.filters.set(drag.axis.column, null);
		}
		brush(axis, from, until) {
			const {scale, column} = axis, places = [from, until].map((y) => (axis.isTurned ? (y - TOP) / this.h : 1 - (y - TOP) / this.h)).sort((a, b) => a - b);
			if (scale.kind !== "places") {
				this.filters.brush(column, scale.value(places[0]), scale.value(places[1]));
				return;
			}
			const within = scale.places.filter((code) => scale.ofCode[code] >= places[0] && scale.ofCode[code] <= places[1]).map((code) => column.table[code]);
			this.filters.brush(column, within.length > 0 ? Math.min(...within) : Infinity, within.length > 0 ? Math.max(...within) : -Infinity);
		}
	}

	npulabSweep.views.Parallel = Parallel;
})();
