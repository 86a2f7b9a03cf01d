/* All points of a sweep in charts that react to filters. The data is in an element `script` of the page (pareto_data.c). Nothing of it
 * is an element of the page: points are drawn on canvases. This file reads the data and has what the charts share; the others are
 * pareto_filters.js, pareto_scatter.js, pareto_parallel.js, pareto_map.js, pareto_point.js, and pareto_start.js, which begins. */
const npulabSweep = {};
(function () {
	"use strict";
	const FEASIBLE = 1, EXCLUDED = 2, FAILED = 4, ON_FRONT = 8;
	/* Units before which a prefix may stand; others follow a plain number. */
	const SCALED = new Set(["s", "J", "W", "Hz", "B", "B/s", "/s", "J s", "V", "F", "OP/s"]);
	const PREFIXES = ["p", "n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
	const BINARY = ["", "Ki", "Mi", "Gi", "Ti"];

	function bytesOf(text) {
		const decoded = atob(text), bytes = new Uint8Array(decoded.length);
		for (let i = 0; i < bytes.length; i++)
			bytes[i] = decoded.charCodeAt(i);
		return bytes;
	}
	function shortUnit(unit) {
		return unit === "1/s" ? "/s" : unit.replace(/^bytes/, "B");
	}
	function digits(value, most) {
		return String(Number(value.toPrecision(most)));
	}
	/* A figure as a reader takes it in: "52.1 us", "8 MiB", "103360 cells". */
	function quantity(value, unit, most = 4) {
		const short = shortUnit(unit), size = Math.abs(value);
		if (!Number.isFinite(value))
			return "-";
		if (short === "B" && size >= 1024 && Number.isInteger(value / 1024)) {
			let k = 0;
			for (; k + 1 < BINARY.length && Number.isInteger(value / 1024 ** (k + 1)); k++);
			return `${value / 1024 ** k} ${BINARY[k]}B`;
		}
		if (!SCALED.has(short))
			return `${Number.isInteger(value) && size < 1e15 ? value : digits(value, most)}${short && " "}${short}`;
		const k = size === 0 ? 0 : Math.max(-4, Math.min(6, Math.floor(Math.log10(size) / 3 + 1e-12)));
		const text = digits(value / 1000 ** k, most);
		return Math.abs(Number(text)) >= 1000 && k < 6 ? `${digits(value / 1000 ** (k + 1), most)} ${PREFIXES[k + 5]}${short}`
			: `${text} ${PREFIXES[k + 4]}${short}`;
	}
	/* What a reader typed: "50 us", "1.2G", "8 MiB". NaN: it is no figure; null: nothing. */
	function parseQuantity(text, unit) {
		const words = text.trim().replace(/\u00b5|\u03bc/g, "u"), short = shortUnit(unit);
		if (words === "")
			return null;
		const match = /^([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*(.*)$/i.exec(words);
		if (!match)
			return NaN;
		let rest = match[2].trim();
		if (short && rest.endsWith(short))
			rest = rest.slice(0, -short.length).trim();
		if (rest === "")
			return Number(match[1]);
		const binary = BINARY.indexOf(rest), k = PREFIXES.indexOf(rest);
		return binary > 0 ? Number(match[1]) * 1024 ** binary : k >= 0 && SCALED.has(short) ? Number(match[1]) * 1000 ** (k - 4) : NaN;
	}

	/* A column of the data with its values as numbers: figures, or places among the texts of a parameter. */
	class Column {
		constructor(data, n) {
			Object.assign(this, {name: data.name, unit: data.unit ?? "", kind: data.kind, meaning: data.meaning ?? "", better: data.better ?? 0, n});
			this.twins = []; /* the names of parameters that move with it */
			this.values = data.values ?? null;
			this.isText = Boolean(this.values?.some((value) => typeof value === "string"));
			if (data.codes) {
				const bytes = bytesOf(data.codes);
				this.codes = this.values.length > 256 ? new Uint16Array(bytes.buffer) : bytes;
			} else if (data.floats)
				this.all = new Float32Array(bytesOf(data.floats).buffer);
			else if (data.doubles)
				this.all = new Float64Array(bytesOf(data.doubles).buffer);
			this.isConstant = !this.codes && !this.all;
			this.isFew = Boolean(this.codes) && this.values.length <= 32;
			this.isDerived = this.kind === "parameter" && this.meaning === "derived";
		}
		/* The value of each code as a number: of a text its place. */
		get table() {
			this.kept ??= Float64Array.from(this.values, (value, i) => (value === null ? NaN : this.isText ? i : value));
			return this.kept;
		}
		numbers() {
			if (!this.all) {
				const {table, codes} = this, all = this.all = new Float64Array(this.n);
				for (let i = 0; i < this.n; i++)
					all[i] = table[codes ? codes[i] : 0];
			}
			return this.all;
		}
		get range() {
			if (!this.keptRange) {
				const from = this.codes || this.isConstant ? this.table : this.numbers();
				let least = Infinity, most = -Infinity;
				for (let i = 0; i < from.length; i++) {
					least = from[i] < least ? from[i] : least;
					most = from[i] > most ? from[i] : most;
				}
				this.keptRange = {least, most};
			}
			return this.keptRange;
		}
		/* The range of some of the points; that of all where none of these has a value. */
		rangeOf(isIn) {
			const numbers = this.numbers();
			let least = Infinity, most = -Infinity;
			for (let i = 0; i < numbers.length; i++)
				if (isIn[i]) {
					least = numbers[i] < least ? numbers[i] : least;
					most = numbers[i] > most ? numbers[i] : most;
				}
			return least <= most ? {least, most} : this.range;
		}
		get isWide() {
			return !this.isText && this.range.least > 0 && this.range.most > 10 * this.range.least;
		}
		valueAt(i) {
			return this.values ? this.values[this.codes ? this.codes[i] : 0] : this.all[i];
		}
		/* A value at an axis or a box, whose name has a unit that takes no prefix (label). */
		text(value) {
			return this.isText ? this.values[Math.round(value)] ?? "-" : quantity(value, SCALED.has(shortUnit(this.unit)) ? this.unit : "");
		}
		textAt(i) {
			const value = this.valueAt(i);
			return typeof value === "string" ? value : value === null ? "-" : quantity(value, this.unit, this.values ? 6 : 4);
		}
		get label() {
			return this.unit && !SCALED.has(shortUnit(this.unit)) ? `${this.name}, ${this.unit}` : this.name;
		}
	}

	/* How a column lies along an axis, from 0 to 1. */
	class Scale {
		constructor(column, kind, {least, most} = column.range) {
			this.column = column;
			this.kind = column.isText ? "places" : kind;
			if (this.kind === "places") {
				this.table = column.table;
				this.places = Array.from(this.table.keys()).filter((code) => !Number.isNaN(this.table[code]))
					.sort((a, b) => this.table[a] - this.table[b]);
				this.ofCode = new Float64Array(this.table.length).fill(NaN);
				this.places.forEach((code, i) => { this.ofCode[code] = (i + 0.5) / this.places.length; });
				return;
			}
			this.isLog = this.kind === "log" && least > 0;
			this.from = this.isLog ? Math.log10(least) : least;
			this.until = this.isLog ? Math.log10(most) : most;
			const margin = this.until > this.from ? 0.03 * (this.until - this.from) : 0.1 * Math.abs(this.until) + 1e-12;
			this.from -= margin;
			this.until += margin;
		}
		at(value) {
			if (this.kind === "places") {
				const code = this.table.indexOf(value);
				return code < 0 ? NaN : this.ofCode[code];
			}
			return ((this.isLog ? Math.log10(value) : value) - this.from) / (this.until - this.from);
		}
		/* The places of all points. */
		all() {
			const {column} = this, out = new Float32Array(column.n);
			if (column.codes) {
				const table = this.kind === "places" ? this.ofCode : column.table.map((value) => this.at(value));
				for (let i = 0; i < out.length; i++)
					out[i] = table[column.codes[i]];
				return out;
			}
			const numbers = column.numbers(), {from, isLog} = this, size = this.until - from;
			for (let i = 0; i < out.length; i++)
				out[i] = ((isLog ? Math.log10(numbers[i]) : numbers[i]) - from) / size;
			return out;
		}
		value(place) {
			const at = this.from + place * (this.until - this.from);
			return this.isLog ? 10 ** at : at;
		}
		/* Ticks as [place, text], at most about `most` of them. */
		ticks(most) {
			if (this.kind === "places") {
				const step = Math.ceil(this.places.length / most);
				return this.places.filter((_, i) => i % step === 0).map((code) => [this.ofCode[code], this.column.text(this.table[code])]);
			}
			return (this.isLog ? this.logTicks(most) : this.evenTicks(most)).map((value) => [this.at(value), this.column.text(value)]);
		}
		logTicks(most) {
			const list = [], decades = this.until - this.from;
			const wanted = decades < 0.35 * most ? [1, 2, 5] : [1], step = Math.max(1, Math.ceil(decades / most));
			for (let e = Math.floor(this.from); e <= this.until; e++)
				for (const digit of wanted)
					if (e % step === 0 && e + Math.log10(digit) >= this.from && e + Math.log10(digit) <= this.until)
						list.push(Number(`${digit}e${e}`));
			return list.length > 1 ? list : this.evenTicks(most, 10 ** this.from, 10 ** this.until);
		}
		evenTicks(most, from = this.from, until = this.until) {
			const power = 10 ** Math.floor(Math.log10((until - from) / most)), step = [1, 2, 5, 10].map((k) => k * power).find((one) => (until - from) / one <= most);
			const list = [];
			for (let i = Math.ceil(from / step); i * step <= until; i++)
				list.push(Number((i * step).toPrecision(12)));
			return list;
		}
	}

	/* The points of the smallest x and y that no other point beats in both; signs -1 turn what is to be great. Equal points: the first. */
	function paretoFront(x, signX, y, signY, isIn, n) {
		const BUCKETS = 1024, best = new Float64Array(BUCKETS).fill(Infinity), found = [];
		let least = Infinity, most = -Infinity;
		for (let i = 0; i < n; i++)
			if (isIn[i] && !Number.isNaN(x[i] + y[i])) {
				least = Math.min(least, signX * x[i]);
				most = Math.max(most, signX * x[i]);
			}
		const scale = most > least ? (BUCKETS - 1) / (most - least) : 0;
		const bucket = (i) => Math.floor((signX * x[i] - least) * scale);
		for (let i = 0; i < n; i++)
			if (isIn[i] && !Number.isNaN(x[i] + y[i])) {
				const b = bucket(i);
				best[b] = Math.min(best[b], signY * y[i]);
			}
		/* best[b] becomes the least y of all buckets before b. */
		for (let b = 0, before = Infinity; b < BUCKETS; b++) {
			const own = best[b];
			best[b] = before;
			before = Math.min(before, own);
		}
		for (let i = 0; i < n; i++)
			if (isIn[i] && !Number.isNaN(x[i] + y[i]) && signY * y[i] < best[bucket(i)])
				found.push(i);
		found.sort((a, b) => signX * (x[a] - x[b]) || signY * (y[a] - y[b]) || a - b);
		let before = Infinity;
		return found.filter((i) => signY * y[i] < before && (before = signY * y[i], true));
	}
	/* The point of a front that is nearest to the best of both figures, as sweep_front in C finds it: each from 0, its best on the front,
	 * to 1, on a logarithmic scale where all values are above 0. -1: there is none. */
	function kneeOf(front, columns) {
		let knee = -1, least = Infinity;
		const shares = columns.map(({values, sign}) => {
			const own = front.map((i) => values[i]), low = Math.min(...own), high = Math.max(...own), isLog = low > 0;
			const best = sign > 0 ? low : high, worst = sign > 0 ? high : low;
			return (i) => (best === worst ? 0 : isLog ? Math.log(values[i] / best) / Math.log(worst / best) : (values[i] - best) / (worst - best));
		});
		for (const i of front) {
			const distance = shares.reduce((sum, share) => sum + share(i) ** 2, 0);
			if (distance < least)
				[least, knee] = [distance, i];
		}
		return knee;
	}

	/* Whether a value of one parameter always comes with the same value of the other: they move together. */
	function goTogether(a, b) {
		if (!a.codes || !b.codes || a.values.length !== b.values.length)
			return false;
		const other = new Int32Array(a.values.length).fill(-1);
		return a.codes.every((code, i) => {
			if (other[code] < 0)
				other[code] = b.codes[i];
			return other[code] === b.codes[i];
		});
	}
	/* Of parameters that move together the first stands for all of them. */
	function findTwins(columns) {
		const parameters = columns.filter((column) => column.kind === "parameter" && !column.isConstant);
		for (const [k, column] of parameters.entries()) {
			column.twin = parameters.slice(0, k).find((before) => !before.twin && goTogether(column, before)) ?? null;
			column.twin?.twins.push(column.name);
		}
	}

	/* The words of a command for a shell. */
	function quoted(word) {
		return /^[\w./=:,@%+-]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`;
	}
	/* The command that runs a point again, as sweep_recorded_command in C has it. */
	function commandOf(data, i) {
		const {sweep} = data, own = (name) => data.byName.get(name)?.valueAt(i) ?? null;
		const name = own("device") ?? sweep.devices[0].name, machine = sweep.devices.find((device) => device.name === name)?.machine ?? name;
		const model = own("model") ?? sweep.models[0], batch = own("batch") ?? sweep.batches[0] ?? "", ofMachine = [], ofHost = [];
		const add = (key, value) => (key.startsWith("host.") ? ofHost.push(`${key}=${value}`) : ofMachine.push(`${machine}.${key}=${value}`));
		for (const {key, value, device} of sweep.settings)
			if (device === null || device === name)
				add(key, value);
		for (const isDerived of [false, true])
			for (const column of data.columns)
				if (column.kind === "parameter" && column.isDerived === isDerived && !["model", "device", "batch", "label"].includes(column.name) && column.valueAt(i) !== null)
					add(column.name, column.valueAt(i));
		return ["npulab", "compare", model, "--devices", name, ...(batch === "" ? [] : ["--batch", String(batch)]),
			...[...ofMachine, ...ofHost].flatMap((setting) => ["--set", setting]), ...sweep.options].map(quoted).join(" ");
	}

	function read(script) {
		const raw = JSON.parse(script.textContent), {n, sweep} = raw;
		const columns = raw.columns.map((column) => new Column(column, n));
		findTwins(columns);
		const byName = new Map(columns.map((column) => [column.name, column]));
		const ids = raw.ids.doubles ? new Float64Array(bytesOf(raw.ids.doubles).buffer) : null;
		const objectives = raw.objectives.map(({name, maximise}) => ({column: byName.get(name), sign: maximise ? -1 : 1})).filter(({column}) => column);
		const reasons = raw.reasons.values ? new Column({...raw.reasons, name: "reason"}, n) : null;
		const flags = bytesOf(raw.flags), feasible = Uint8Array.from(flags, (flag) => flag & FEASIBLE);
		/* What is to be great of an objective need not be what is better of the figure. */
		for (const {column, sign} of objectives)
			column.better = -sign;
		return {n, sweep, columns, byName, objectives, flags, feasible, reasons, ids, knee: raw.knee, idOf: (i) => (ids ? ids[i] : i),
			placeOf: (id) => (ids ? ids.indexOf(id) : id < n ? id : -1)};
	}

	/* An element with attributes, listeners ("onclick") and children. */
	function element(tag, attributes = {}, ...children) {
		const made = document.createElement(tag);
		for (const [name, value] of Object.entries(attributes))
			if (name.startsWith("on"))
				made.addEventListener(name.slice(2), value);
			else if (value !== false && value !== null)
				made.setAttribute(name, value === true ? "" : value);
		made.append(...children);
		return made;
	}
	function colour(name) {
		return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
	}
	/* The parts of a colour of the styles, "#rgb" or "#rrggbb". */
	function parts(name) {
		const text = colour(name).slice(1), wide = text.length === 3 ? text.replace(/./g, "$&$&") : text;
		return [0, 2, 4].map((at) => parseInt(wide.slice(at, at + 2), 16));
	}
	/* Fits a canvas to its box; returns its context, scaled to pixels of CSS, and its size. */
	function fit(canvas) {
		const {width, height} = canvas.getBoundingClientRect(), ratio = Math.min(2, devicePixelRatio || 1), context = canvas.getContext("2d");
		canvas.width = Math.max(1, Math.round(width * ratio));
		canvas.height = Math.max(1, Math.round(height * ratio));
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		context.font = "12px system-ui, sans-serif";
		return {context, width, height, ratio};
	}
	function choice(label, options, chosen, onchange) {
		const select = element("select", {onchange: () => onchange(select.value)});
		for (const [value, text] of options)
			select.append(element("option", {value, selected: value === chosen}, text));
		return element("label", {}, `${label} `, select);
	}

	Object.assign(npulabSweep, {FEASIBLE, EXCLUDED, FAILED, ON_FRONT, Scale, choice, colour, commandOf, element, fit, kneeOf, paretoFront, parseQuantity, parts,
		quantity, read, views: {}});
})();
