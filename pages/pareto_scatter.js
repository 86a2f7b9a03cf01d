/* The scatter of two figures of a sweep's points, with the front of those that are left. Points are written into an image pixel by pixel:
 * a hundred thousand take some milliseconds. */
(function () {
	"use strict";
	const {ON_FRONT, Scale, Tint, choice, colour, element, fit, kneeOf, paretoFront, parts} = npulabSweep;
	const LEFT = 76, RIGHT = 16, TOP = 10, BOTTOM = 44, NEAR = 14;

	/* What can be chosen of a column's axis. */
	function kindsOf(column) {
		return column.isText ? ["places"] : column.range.least > 0 ? ["linear", "log"] : ["linear"];
	}

	class Scatter {
		constructor(data, filters, open) {
			Object.assign(this, {data, filters, open, cursor: -1, chosen: -1});
			const axes = data.columns.filter((column) => !column.isConstant);
			const [first, second] = data.objectives.map(({column}) => column).filter((column) => !column.isConstant);
			const parameter = axes.find((column) => column.kind === "parameter" && !column.isText);
			this.x = second ? first : parameter ?? axes[0];
			this.y = second ?? first ?? axes.find((column) => column !== this.x) ?? axes[0];
			this.kindX = this.x.isWide ? "log" : "linear";
			this.kindY = this.y.isWide ? "log" : "linear";
			this.canvas = element("canvas", {tabindex: 0, role: "application", class: "points"});
			this.image = element("canvas");
			this.tip = element("div", {class: "tip", hidden: true});
			this.said = element("div", {class: "hint", role: "status"});
			this.box = element("div", {class: "plot"}, this.canvas, this.tip);
			this.controls = element("div", {class: "choices"});
			this.figure = element("figure", {}, element("figcaption", {}, "Two figures of all points"), this.controls, this.box, this.said);
			this.putControls(axes);
			this.listen();
		}
		putControls(axes) {
			const names = axes.map((column) => [column.name, column.name]);
			const axis = (word, key, kind) => {
				const box = element("input", {type: "checkbox", onchange: () => {
					this[kind] = box.checked ? "log" : "linear";
					this.place();
				}});
				const show = () => {
					box.checked = this[kind] === "log";
					box.disabled = kindsOf(this[key]).length < 2;
				};
				const select = choice(word, names, this[key].name, (name) => {
					this[key] = this.data.byName.get(name);
					this[kind] = this[key].isWide ? "log" : "linear";
					show();
					this.place();
				});
				show();
				return [select, element("label", {}, box, " logarithmic")];
			};
			const fitted = element("input", {type: "checkbox", onchange: () => {
				this.isFitted = fitted.checked;
				this.place();
			}});
			const tinted = choice("Coloured by", [["", "the constraints"], ...names], "", (name) => {
				this.tint = name ? new Tint(this.data.byName.get(name)) : null;
				this.draw();
			});
			this.controls.append(...axis("Across", "x", "kindX"), ...axis("Upwards", "y", "kindY"), tinted, element("label", {}, fitted, " only as far as the points left"));
		}
		/* Shows what filters have left. */
		update() {
			if (this.isFitted)
				this.place();
			else
				this.draw();
		}
		/* Finds where all points are, when an axis or the size changes. */
		place() {
			const range = (column) => (this.isFitted ? column.rangeOf(this.filters.left) : column.range);
			this.scaleX = new Scale(this.x, this.kindX, range(this.x));
			this.scaleY = new Scale(this.y, this.kindY, range(this.y));
			this.atX = this.scaleX.all();
			this.atY = this.scaleY.all();
			this.canvas.setAttribute("aria-label", `${this.y.name} against ${this.x.name} of all points. Arrow keys go to the next point, Page Down and Page Up along the front, Home to its knee; Enter shows all figures of a point.`);
			this.draw();
		}
		/* The front of the two figures that are shown, of the points that are left. */
		findFront() {
			const {x, y, filters, data} = this, signX = x.better > 0 ? -1 : 1, signY = y.better > 0 ? -1 : 1;
			this.front = x !== y && x.better && y.better ? paretoFront(x.numbers(), signX, y.numbers(), signY, filters.best, data.n) : [];
			this.knee = this.front.length > 2 ? kneeOf(this.front, [{values: x.numbers(), sign: signX}, {values: y.numbers(), sign: signY}]) : -1;
		}
		draw() {
			const {context, width, height, ratio} = fit(this.canvas);
			Object.assign(this, {width, height, w: width - LEFT - RIGHT, h: height - TOP - BOTTOM, ratio});
			context.clearRect(0, 0, width, height);
			if (this.w < 20)
				return;
			this.findFront();
			this.drawAxes(context);
			this.drawPoints(context);
			this.drawFront(context);
			this.drawLegend(context);
			if (this.cursor >= 0 && !this.filters.left[this.cursor])
				this.cursor = -1;
			this.drawRing(context, this.chosen, "--text", 8);
			this.drawRing(context, document.activeElement === this.canvas ? this.cursor : -1, "--s3", 10);
		}
		pixelX(i) {
			return LEFT + this.atX[i] * this.w;
		}
		pixelY(i) {
			return TOP + (1 - this.atY[i]) * this.h;
		}
		drawAxes(context) {
			const {w, h, x, y} = this;
			context.strokeStyle = colour("--line");
			context.fillStyle = colour("--quiet");
			context.lineWidth = 1;
			context.textAlign = "center";
			for (const [at, text] of this.scaleX.ticks(Math.max(2, Math.floor(w / 72)))) {
				const px = Math.round(LEFT + at * w) + 0.5;
				context.strokeRect(px, TOP, 0, h);
				context.fillText(text, px, TOP + h + 16);
			}
			context.textAlign = "right";
			for (const [at, text] of this.scaleY.ticks(Math.max(2, Math.floor(h / 45)))) {
				const py = Math.round(TOP + (1 - at) * h) + 0.5;
				context.strokeRect(LEFT, py, w, 0);
				context.fillText(text, LEFT - 6, py + 4, LEFT - 18);
			}
			context.fillStyle = colour("--text");
			context.textAlign = "center";
			context.fillText(x.label + (x.better ? (x.better < 0 ? " (less is better)" : " (more is better)") : ""), LEFT + w / 2, TOP + h + 36);
			context.save();
			context.rotate(-Math.PI / 2);
			context.fillText(y.label + (y.better ? (y.better < 0 ? " (less is better)" : " (more is better)") : ""), -(TOP + h / 2), 11);
			context.restore();
		}
		/* The pixels of a point, around its middle. */
		stamp(iw) {
			const {count} = this.filters, size = (count > 20000 ? 1.2 : count > 1500 ? 2.3 : 3.4) * this.ratio, around = [], reach = Math.floor(size);
			for (let dy = -reach; dy <= reach; dy++)
				for (let dx = -reach; dx <= reach; dx++)
					if (dx * dx + dy * dy <= size * size)
						around.push(dy * iw + dx);
			return {around, reach};
		}
		drawPoints(context) {
			const {filters, data, atX, atY, ratio} = this, iw = Math.round(this.w * ratio) + 16, ih = Math.round(this.h * ratio) + 16;
			const {around, reach} = this.stamp(iw), many = new Uint16Array(iw * ih), pale = new Uint16Array(iw * ih), {best, left} = filters, inks = this.tint?.ofPoints ?? null;
			const inked = inks ? new Uint8Array(iw * ih) : null;
			const sizeX = iw - 16, sizeY = ih - 16;
			for (let i = 0; i < data.n; i++) {
				const px = Math.round(8 + atX[i] * sizeX), py = Math.round(8 + (1 - atY[i]) * sizeY);
				if (!left[i] || !(px >= reach && py >= reach && px < iw - reach && py < ih - reach))
					continue;
				const middle = py * iw + px, counts = best[i] ? many : pale;
				for (let k = 0; k < around.length; k++)
					counts[middle + around[k]]++;
				if (inked && best[i])
					for (let k = 0; k < around.length; k++)
						inked[middle + around[k]] = inks[i];
			}
			this.image.width = iw;
			this.image.height = ih;
			const ink = this.image.getContext("2d"), pixels = ink.createImageData(iw, ih), words = new Uint32Array(pixels.data.buffer);
			const word = (name) => parts(name).reduce((sum, part, k) => sum | part << (8 * k), 0), strong = word("--s0"), weak = word("--s6"), palette = this.tint?.palette();
			for (let k = 0; k < words.length; k++)
				if (many[k])
					words[k] = inked ? (palette[inked[k]] | 255 << 24) >>> 0 : (strong | Math.min(255, 120 + 45 * many[k]) << 24) >>> 0;
				else if (pale[k])
					words[k] = (weak | Math.min(150, 60 + 15 * pale[k]) << 24) >>> 0;
			ink.putImageData(pixels, 0, 0);
			context.drawImage(this.image, LEFT - 8 / ratio, TOP - 8 / ratio, iw / ratio, ih / ratio);
		}
		diamond(context, x, y, size) {
			context.beginPath();
			context.moveTo(x - size, y);
			context.lineTo(x, y - size);
			context.lineTo(x + size, y);
			context.lineTo(x, y + size);
			context.closePath();
		}
		/* Whether the sweep's own front is another than the one that is drawn as a line. */
		get hasOtherFront() {
			const own = this.data.objectives.map(({column}) => column);
			return !(this.front.length > 0 && own.length === 2 && own.includes(this.x) && own.includes(this.y));
		}
		drawFront(context) {
			const {front, data, filters} = this;
			context.strokeStyle = context.fillStyle = colour("--s1");
			context.lineWidth = 1.8;
			if (this.hasOtherFront)
				for (let i = 0; i < data.n; i++)
					if (filters.left[i] && data.flags[i] & ON_FRONT) {
						this.diamond(context, this.pixelX(i), this.pixelY(i), 5.5);
						context.stroke();
					}
			context.beginPath();
			front.forEach((i, k) => {
				if (k > 0)
					context.lineTo(this.pixelX(i), this.pixelY(front[k - 1]));
				context.lineTo(this.pixelX(i), this.pixelY(i));
			});
			context.stroke();
			if (front.length < 2000)
				front.forEach((i) => {
					this.diamond(context, this.pixelX(i), this.pixelY(i), 4.5);
					context.fill();
				});
			if (!this.hasOtherFront)
				this.drawKnee(context, this.knee, "knee");
			else {
				this.drawKnee(context, this.knee, "knee of these two");
				this.drawKnee(context, filters.left[data.knee] ? data.knee : -1, "knee");
			}
		}
		drawKnee(context, knee, name) {
			if (knee < 0)
				return;
			const x = this.pixelX(knee), y = this.pixelY(knee), isRight = x < LEFT + this.w - 130;
			context.strokeStyle = context.fillStyle = colour("--text");
			context.lineWidth = 1.5;
			context.beginPath();
			context.arc(x, y, 9, 0, 2 * Math.PI);
			context.stroke();
			context.font = "bold 13px system-ui, sans-serif";
			context.textAlign = isRight ? "left" : "right";
			context.fillText(name, x + (isRight ? 12 : -12), y - 8);
			context.font = "12px system-ui, sans-serif";
		}
		drawRing(context, i, name, size) {
			if (i < 0 || !(this.atX[i] >= 0) || !(this.atY[i] >= 0))
				return;
			context.strokeStyle = colour(name);
			context.lineWidth = 2.5;
			context.beginPath();
			context.arc(this.pixelX(i), this.pixelY(i), size, 0, 2 * Math.PI);
			context.stroke();
		}
		/* In the corner where the best points are not: they are where both figures are best. */
		drawLegend(context) {
			const lines = [];
			if (this.front.length > 0)
				lines.push(["--s1", `${this.hasOtherFront ? "front of these two" : "Pareto front"}: ${this.front.length} points`, "fill"]);
			if (this.hasOtherFront && this.filters.nFront > 0)
				lines.push(["--s1", "Pareto front of all objectives", "stroke"]);
			if (!this.tint)
				lines.push(["--s0", "meets the constraints", "square"]);
			if (this.filters.count > this.filters.nBest)
				lines.push(["--s6", "breaks a constraint", "square"]);
			lines.push(...(this.tint?.legend() ?? []));
			context.textAlign = "left";
			const wide = Math.max(...lines.map(([, text]) => context.measureText(text).width)) + 30, high = 17 * lines.length + 6;
			const x = this.x.better > 0 ? LEFT + 8 : LEFT + this.w - wide - 6, y = this.y.better > 0 ? TOP + this.h - high - 6 : TOP + 6;
			context.globalAlpha = 0.85;
			context.fillStyle = colour("--page");
			context.fillRect(x, y, wide, high);
			context.globalAlpha = 1;
			lines.forEach(([name, text, mark], k) => {
				const middle = y + 12 + 17 * k;
				context.fillStyle = context.strokeStyle = name.startsWith("--") ? colour(name) : name;
				context.lineWidth = 1.8;
				if (mark === "square")
					context.fillRect(x + 8, middle - 4, 8, 8);
				else {
					this.diamond(context, x + 12, middle, 5);
					context[mark]();
				}
				context.fillStyle = colour("--text");
				context.fillText(text, x + 24, middle + 4);
			});
		}

		/* ---- Pointer and keys. */

		listen() {
			const {canvas} = this;
			canvas.addEventListener("pointermove", (event) => this.hover(this.nearest(event)));
			canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; });
			canvas.addEventListener("click", (event) => {
				const i = this.nearest(event);
				if (i >= 0)
					this.open(i);
			});
			canvas.addEventListener("keydown", (event) => this.press(event));
			canvas.addEventListener("focus", () => this.draw());
			canvas.addEventListener("blur", () => {
				this.tip.hidden = true;
				this.draw();
			});
		}
		nearest(event) {
			const {left, top} = this.canvas.getBoundingClientRect(), x = event.clientX - left, y = event.clientY - top, {filters, data} = this;
			let found = -1, least = NEAR * NEAR;
			for (let i = 0; i < data.n; i++) {
				const dx = this.pixelX(i) - x, dy = this.pixelY(i) - y, distance = dx * dx + dy * dy;
				/* of points at one place those of the front are found */
				if (distance <= least && filters.left[i] && (distance < least || found < 0 || data.flags[i] & ON_FRONT))
					[found, least] = [i, distance];
			}
			return found;
		}
		hover(i) {
			this.canvas.style.cursor = i >= 0 ? "pointer" : "default";
			this.tip.hidden = i < 0;
			if (i < 0)
				return;
			this.tip.textContent = this.describe(i).join("\n");
			const x = this.pixelX(i), y = this.pixelY(i);
			this.tip.style.left = `${Math.max(0, Math.min(x + 12, this.width - this.tip.offsetWidth - 4))}px`;
			this.tip.style.top = `${y > this.height / 2 ? y - this.tip.offsetHeight - 10 : y + 12}px`;
		}
		describe(i) {
			const {data, x, y} = this, varied = data.columns.filter((column) => column.kind === "parameter" && !column.isConstant);
			return [`point ${data.idOf(i)}`, ...new Set([x, y, ...varied])].map((one) => (typeof one === "string" ? one : `${one.name}: ${one.textAt(i)}`));
		}
		press(event) {
			const to = this.keyed(event.key);
			if (to === null || event.ctrlKey || event.altKey || event.metaKey)
				return;
			event.preventDefault();
			if (event.key === "Enter" || event.key === " ") {
				if (to >= 0)
					this.open(to);
				return;
			}
			if (to < 0)
				return;
			this.cursor = to;
			this.draw();
			this.hover(to);
			this.said.textContent = this.describe(to).slice(0, 3).join(", ");
		}
		/* Returns where a key goes; null: it is none of this chart; -1: nowhere. */
		keyed(key) {
			const {cursor, front, knee} = this, start = knee >= 0 ? knee : front[0] ?? this.filters.best.indexOf(1), steps = {PageDown: 1, PageUp: -1};
			const ways = {ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};
			if (key === "Home")
				return start;
			if (key === "Enter" || key === " ")
				return cursor;
			if (key in steps) {
				const at = front.indexOf(cursor);
				return at < 0 ? start : front[Math.max(0, Math.min(front.length - 1, at + steps[key]))];
			}
			return key in ways ? (cursor < 0 ? start : this.next(cursor, ways[key])) : null;
		}
		/* The nearest point in a direction, within 45 degrees of it. */
		next(from, [wayX, wayY]) {
			const x = this.pixelX(from), y = this.pixelY(from), {filters, data} = this;
			let found = from, least = Infinity;
			for (let i = 0; i < data.n; i++) {
				const dx = this.pixelX(i) - x, dy = this.pixelY(i) - y, along = dx * wayX + dy * wayY, across = Math.abs(dx * wayY) + Math.abs(dy * wayX);
				if (filters.left[i] && along > 0.5 && across <= along && along + 2 * across < least)
					[found, least] = [i, along + 2 * across];
			}
			return found;
		}
	}

	npulabSweep.views.Scatter = Scatter;
})();
