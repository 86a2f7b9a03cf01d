/* A map of two parameters: each cell has the best that the other parameters make of a figure, of the points that are left and meet the
 * constraints. */
(function () {
	"use strict";
	const {Scale, choice, colour, element, fit, parts, quantity} = npulabSweep;
	const LEFT = 84, RIGHT = 16, TOP = 34, BOTTOM = 44, MOST_PLACES = 64, BINS = 24;

	/* The cells of an axis: the values of a column, or where it has many, parts of its range. */
	function divide(column) {
		if (column.isText || (column.codes && column.values.length <= MOST_PLACES)) {
			const {places} = new Scale(column, "places"), order = new Int16Array(column.values.length).fill(-1);
			places.forEach((code, i) => { order[code] = i; });
			return {n: places.length, of: (i) => order[column.codes[i]], text: (k) => column.text(column.table[places[k]])};
		}
		const scale = new Scale(column, column.isWide ? "log" : "linear"), at = scale.all();
		return {n: BINS, of: (i) => (Number.isNaN(at[i]) ? -1 : Math.min(BINS - 1, Math.floor(at[i] * BINS))), text: (k) => column.text(Number(scale.value((k + 0.5) / BINS).toPrecision(3)))};
	}

	class HeatMap {
		constructor(data, filters, open) {
			Object.assign(this, {data, filters, open, cursor: -1});
			const axes = data.columns.filter((column) => !column.isConstant), parameters = axes.filter((column) => column.kind === "parameter" && !column.isDerived && !column.twin);
			const figures = axes.filter((column) => column.kind !== "parameter"), [objective] = data.objectives;
			const places = (column) => (column.codes ? column.values.length : 1000);
			const sorted = [...parameters].filter((column) => places(column) <= MOST_PLACES).sort((a, b) => places(b) - places(a));
			this.x = sorted[0] ?? parameters[0] ?? axes[0];
			this.y = [...sorted, ...parameters, ...axes].find((column) => column !== this.x) ?? this.x;
			this.z = objective && !objective.column.isConstant ? objective.column : figures[0];
			this.canvas = element("canvas", {tabindex: 0, role: "application"});
			this.tip = element("div", {class: "tip", hidden: true});
			this.said = element("div", {class: "hint", role: "status"});
			this.box = element("div", {class: "plot"}, this.canvas, this.tip);
			const names = (list) => list.map((column) => [column.name, column.name]), set = (key) => (name) => {
				this[key] = data.byName.get(name);
				this.place();
			};
			this.figure = element("figure", {class: "across"}, element("figcaption", {}, "Two parameters, and the best that the others make of a figure"),
				element("div", {class: "choices"}, choice("Across", names(axes), this.x.name, set("x")), choice("Upwards", names(axes), this.y.name, set("y")),
					choice("Best", names(figures), this.z?.name, set("z"))), this.box, this.said);
			this.listen();
		}
		place() {
			this.acrossX = divide(this.x);
			this.acrossY = divide(this.y);
			this.cursor = -1;
			this.canvas.setAttribute("aria-label", `The best ${this.z?.name} for each ${this.x.name} and ${this.y.name}. Arrow keys go from cell to cell; Enter shows all figures of its best point.`);
			this.draw();
		}
		/* Finds the best point of each cell. */
		find() {
			const {data, filters, acrossX, acrossY} = this, {best} = filters, z = this.z.numbers(), sign = this.z.better > 0 ? -1 : 1;
			this.cell = new Int32Array(acrossX.n * acrossY.n).fill(-1);
			for (let i = 0; i < data.n; i++) {
				if (!best[i] || Number.isNaN(z[i]))
					continue;
				const cx = acrossX.of(i), cy = acrossY.of(i), at = cy * acrossX.n + cx;
				if (cx >= 0 && cy >= 0 && (this.cell[at] < 0 || sign * z[i] < sign * z[this.cell[at]]))
					this.cell[at] = i;
			}
			const found = this.cell.filter((i) => i >= 0), values = Array.from(found, (i) => z[i]);
			const least = Math.min(...values), most = Math.max(...values), isLog = least > 0 && most > 10 * least;
			const share = (value) => (most > least ? (isLog ? Math.log(value / least) / Math.log(most / least) : (value - least) / (most - least)) : 0);
			Object.assign(this, {least, most, strength: (value) => (sign > 0 ? 1 - share(value) : share(value))});
		}
		draw() {
			const {context, width, height} = fit(this.canvas);
			Object.assign(this, {width, height, w: width - LEFT - RIGHT, h: height - TOP - BOTTOM});
			context.clearRect(0, 0, width, height);
			if (!this.z || this.w < 20)
				return;
			this.find();
			this.cellW = this.w / this.acrossX.n;
			this.cellH = this.h / this.acrossY.n;
			this.chooseTexts(context);
			for (let cy = 0; cy < this.acrossY.n; cy++)
				for (let cx = 0; cx < this.acrossX.n; cx++)
					this.drawCell(context, cx, cy);
			this.drawAxes(context);
			this.drawLegend(context);
			if (this.cursor >= 0) {
				context.strokeStyle = colour("--s1");
				context.lineWidth = 3;
				context.strokeRect(...this.rectangle(this.cursor % this.acrossX.n, Math.floor(this.cursor / this.acrossX.n)));
			}
		}
		/* The cells have their figures where all of them fit in. */
		chooseTexts(context) {
			this.texts = Array.from(this.cell, (i) => (i < 0 ? "" : quantity(this.z.numbers()[i], this.z.unit, 3)));
			const widest = this.texts.reduce((most, text) => Math.max(most, context.measureText(text).width), 0);
			if (widest > this.cellW - 4 || this.cellH < 15)
				this.texts = null;
		}
		rectangle(cx, cy) {
			return [LEFT + cx * this.cellW + 0.5, TOP + this.h - (cy + 1) * this.cellH + 0.5, Math.max(1, this.cellW - 1), Math.max(1, this.cellH - 1)];
		}
		/* The colour of a strength: from near the page's own to that of the points. */
		inkOf(strength) {
			const page = parts("--page"), strong = parts("--s0"), share = 0.08 + 0.92 * strength;
			return page.map((part, k) => Math.round(part + share * (strong[k] - part)));
		}
		drawCell(context, cx, cy) {
			const i = this.cell[cy * this.acrossX.n + cx], [x, y, w, h] = this.rectangle(cx, cy);
			if (i < 0) {
				context.strokeStyle = colour("--line");
				context.lineWidth = 1;
				context.beginPath();
				context.moveTo(x, y + h);
				context.lineTo(x + w, y);
				context.stroke();
				return;
			}
			const ink = this.inkOf(this.strength(this.z.numbers()[i]));
			context.fillStyle = `rgb(${ink.join(" ")})`;
			context.fillRect(x, y, w, h);
			if (!this.texts)
				return;
			const light = ink.map((part) => (part / 255) ** 2.2), luminance = 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2];
			context.fillStyle = luminance > 0.18 ? "#000" : "#fff";
			context.textAlign = "center";
			context.fillText(this.texts[cy * this.acrossX.n + cx], x + w / 2, y + h / 2 + 4);
		}
		drawAxes(context) {
			const {acrossX, acrossY, w, h} = this;
			context.fillStyle = colour("--quiet");
			context.textAlign = "center";
			const widest = Math.max(...Array.from({length: acrossX.n}, (_, k) => context.measureText(acrossX.text(k)).width)) + 8;
			for (let k = 0, step = Math.max(1, Math.ceil(widest / this.cellW)); k < acrossX.n; k += step)
				context.fillText(acrossX.text(k), LEFT + (k + 0.5) * this.cellW, TOP + h + 16);
			context.textAlign = "right";
			for (let k = 0, step = Math.max(1, Math.ceil(15 / this.cellH)); k < acrossY.n; k += step)
				context.fillText(acrossY.text(k), LEFT - 6, TOP + h - (k + 0.5) * this.cellH + 4, LEFT - 20);
			context.fillStyle = colour("--text");
			context.textAlign = "center";
			context.fillText(this.x.label, LEFT + w / 2, TOP + h + 36);
			context.save();
			context.rotate(-Math.PI / 2);
			context.fillText(this.y.label, -(TOP + h / 2), 11);
			context.restore();
		}
		drawLegend(context) {
			const {z, least, most} = this, isLess = z.better <= 0, [first, last] = isLess ? [least, most] : [most, least], wide = Math.min(180, this.w / 3);
			context.textAlign = "left";
			context.fillStyle = colour("--text");
			if (!Number.isFinite(least)) {
				context.fillText("no point is left that meets the constraints", LEFT, 18);
				return;
			}
			const text = `${z.name}: ${z.text(first)}`, x = LEFT + context.measureText(text).width + 8;
			context.fillText(text, LEFT, 18);
			for (let k = 0; k < wide; k++) {
				context.fillStyle = `rgb(${this.inkOf(1 - k / wide).join(" ")})`;
				context.fillRect(x + k, 8, 1.5, 12);
			}
			context.fillStyle = colour("--text");
			context.fillText(z.text(last), x + wide + 8, 18);
		}

		/* ---- Pointer and keys. */

		listen() {
			this.canvas.addEventListener("pointermove", (event) => this.hover(this.at(event)));
			this.canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; });
			this.canvas.addEventListener("click", (event) => this.openCell(this.at(event)));
			this.canvas.addEventListener("keydown", (event) => this.press(event));
			this.canvas.addEventListener("blur", () => {
				this.tip.hidden = true;
				this.cursor = -1;
				this.draw();
			});
		}
		at(event) {
			const {left, top} = this.canvas.getBoundingClientRect(), cx = Math.floor((event.clientX - left - LEFT) / this.cellW), cy = Math.floor((TOP + this.h - event.clientY + top) / this.cellH);
			return cx >= 0 && cy >= 0 && cx < this.acrossX.n && cy < this.acrossY.n ? cy * this.acrossX.n + cx : -1;
		}
		describe(at) {
			const i = this.cell[at], {acrossX, acrossY, x, y, z} = this;
			return [`${x.name}: ${acrossX.text(at % acrossX.n)}`, `${y.name}: ${acrossY.text(Math.floor(at / acrossX.n))}`,
				i < 0 ? "no point is left" : `${z.name}: ${z.textAt(i)} (point ${this.data.idOf(i)})`];
		}
		hover(at) {
			this.tip.hidden = at < 0;
			this.canvas.style.cursor = at >= 0 && this.cell[at] >= 0 ? "pointer" : "default";
			if (at < 0)
				return;
			const [x, y] = this.rectangle(at % this.acrossX.n, Math.floor(at / this.acrossX.n));
			this.tip.textContent = this.describe(at).join("\n");
			this.tip.style.left = `${Math.max(0, Math.min(x + 16, this.width - this.tip.offsetWidth - 4))}px`;
			this.tip.style.top = `${y > this.height / 2 ? y - this.tip.offsetHeight - 6 : y + this.cellH + 6}px`;
		}
		openCell(at) {
			if (at >= 0 && this.cell[at] >= 0)
				this.open(this.cell[at]);
		}
		press(event) {
			const {n} = this.acrossX, cx = this.cursor % n, cy = Math.floor(this.cursor / n), ways = {ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1]};
			if (event.ctrlKey || event.altKey || event.metaKey)
				return;
			if (event.key === "Enter" || event.key === " ") {
				event.preventDefault();
				this.openCell(this.cursor);
				return;
			}
			if (!(event.key in ways))
				return;
			event.preventDefault();
			const [dx, dy] = ways[event.key];
			this.cursor = this.cursor < 0 ? 0 : Math.max(0, Math.min(this.acrossY.n - 1, cy + dy)) * n + Math.max(0, Math.min(n - 1, cx + dx));
			this.draw();
			this.hover(this.cursor);
			this.said.textContent = this.describe(this.cursor).join(", ");
		}
	}

	npulabSweep.views.HeatMap = HeatMap;
})();
