/* The filters of a sweep's points: ranges of figures, values of parameters. A point that one of them does not let pass is in no chart. */
(function () {
	"use strict";
	const {FEASIBLE, ON_FRONT, element, parseQuantity, quantity, choice} = npulabSweep;
	const CHOSEN_SINGLY = 12; /* values of a parameter, each with a box; more are chosen by a range */

	/* A filter of a column: a range, {from, until}, or the codes that pass, {passes: [true, false]}. */
	class Filters {
		constructor(data) {
			this.data = data;
			this.of = new Map();
			this.isFeasibleOnly = false;
			this.isFrontOnly = false;
			this.left = new Uint8Array(data.n); /* 1: the point passes */
			this.best = new Uint8Array(data.n); /* 1: it passes and meets the constraints */
			this.listeners = [];
			this.waits = false;
			this.run();
		}
		set(column, filter) {
			if (filter)
				this.of.set(column, filter);
			else
				this.of.delete(column);
			this.change();
		}
		clear() {
			this.of.clear();
			this.isFeasibleOnly = this.isFrontOnly = false;
			this.change();
		}
		/* Several changes before the next frame are drawn once. */
		change() {
			if (this.waits)
				return;
			this.waits = true;
			requestAnimationFrame(() => {
				this.waits = false;
				this.run();
				this.listeners.forEach((listener) => listener());
			});
		}
		run() {
			const {data, left, best} = this, mask = (this.isFeasibleOnly ? FEASIBLE : 0) | (this.isFrontOnly ? ON_FRONT : 0);
			left.fill(1);
			if (mask)
				for (let i = 0; i < data.n; i++)
					left[i] = (data.flags[i] & mask) === mask ? 1 : 0;
			for (const [column, filter] of this.of)
				this.take(column, filter);
			let count = 0, nBest = 0, nFront = 0;
			for (let i = 0; i < data.n; i++) {
				best[i] = left[i] & data.feasible[i];
				count += left[i];
				nBest += best[i];
				nFront += left[i] && data.flags[i] & ON_FRONT ? 1 : 0;
			}
			Object.assign(this, {count, nBest, nFront});
		}
		/* What has no value passes no filter of it. */
		take(column, filter) {
			const {left} = this, {codes} = column, numbers = codes ? column.table : column.numbers(), {from = -Infinity, until = Infinity} = filter;
			if (codes) {
				const passes = Uint8Array.from(numbers, (value, code) => (filter.passes ? filter.passes[code] : value >= from && value <= until));
				for (let i = 0; i < left.length; i++)
					left[i] &= passes[codes[i]];
			} else
				for (let i = 0; i < left.length; i++)
					left[i] &= numbers[i] >= from && numbers[i] <= until ? 1 : 0;
		}
		/* Says which part of a column passes, as a brush: by values from `least` to `most`. */
		brush(column, least, most) {
			if (isSingly(column))
				this.set(column, {passes: Array.from(column.table, (value) => value >= least && value <= most)});
			else
				this.set(column, {from: least, until: most});
		}
		get isActive() {
			return this.of.size > 0 || this.isFeasibleOnly || this.isFrontOnly;
		}
	}
	function isSingly(column) {
		return Boolean(column.codes) && column.kind === "parameter" && (column.isText || column.values.length <= CHOSEN_SINGLY);
	}

	/* ---- Controls of a filter; sync() shows what a brush has set. */

	function boxes(filters, column) {
		const list = column.places.map((code) => {
			const box = element("input", {type: "checkbox", checked: true, onchange: () => take()});
			return {code, box, label: element("label", {}, box, ` ${column.text(column.table[code])}`)};
		});
		function take() {
			const passes = column.table.length ? Array.from(column.table, () => false) : [];
			list.forEach(({code, box}) => { passes[code] = box.checked; });
			filters.set(column, list.every(({box}) => box.checked) ? null : {passes});
		}
		const sync = () => list.forEach(({code, box}) => { box.checked = filters.of.get(column)?.passes[code] ?? true; });
		return {parts: list.map(({label}) => label), sync};
	}
	function bounds(filters, column) {
		const shown = (value) => quantity(value, column.unit, 6);
		const field = (word, value) => element("input", {type: "text", placeholder: shown(value), "aria-label": `${column.name} ${word}`, autocomplete: "off", oninput: () => take()});
		const least = field("from", column.range.least), most = field("to", column.range.most), fields = [least, most];
		function take() {
			const [from, until] = fields.map((one) => parseQuantity(one.value, column.unit));
			least.setAttribute("aria-invalid", String(Number.isNaN(from)));
			most.setAttribute("aria-invalid", String(Number.isNaN(until)));
			if (!Number.isNaN(from) && !Number.isNaN(until))
				filters.set(column, from === null && until === null ? null : {from: from ?? -Infinity, until: until ?? Infinity});
		}
		function sync() {
			const {from, until} = filters.of.get(column) ?? {};
			[from, until].forEach((value, k) => {
				if (document.activeElement === fields[k])
					return;
				fields[k].value = Number.isFinite(value) ? quantity(value, column.unit, 6) : "";
				fields[k].setAttribute("aria-invalid", "false");
			});
		}
		return {parts: [element("label", {}, "from ", least), element("label", {}, "to ", most)], sync};
	}
	function rowOf(filters, column) {
		const {parts, sync} = isSingly(column) ? boxes(filters, column) : bounds(filters, column);
		const row = element("fieldset", {class: "filter"}, element("legend", {}, [column.label, ...column.twins].join(" = ")), ...parts);
		const show = () => {
			row.classList.toggle("active", filters.of.has(column));
			sync();
		};
		filters.listeners.push(show);
		return row;
	}

	/* The points that are left as a file for a spreadsheet, which the browser saves. */
	function save(filters) {
		const {data} = filters, columns = data.columns, field = (value) => (/[",\r\n]/.test(value) ? `"${value.replace(/"/g, '""')}"` : value);
		const lines = [["id", "feasible", "front", ...columns.map(({name}) => name)].map(field).join(",")];
		for (let i = 0; i < data.n; i++)
			if (filters.left[i])
				lines.push([data.idOf(i), Boolean(data.feasible[i]), Boolean(data.flags[i] & ON_FRONT), ...columns.map((column) => column.valueAt(i))]
					.map((value) => (value === null || Number.isNaN(value) ? "" : field(typeof value === "number" ? String(Number(value.toPrecision(9))) : String(value)))).join(","));
		const link = element("a", {download: "points.csv", href: URL.createObjectURL(new Blob([`${lines.join("\r\n")}\r\n`], {type: "text/csv"}))});
		link.click();
		setTimeout(() => URL.revokeObjectURL(link.href), 10000);
	}

	/* The filters as a part of the page: those of the parameters and objectives, and of what a reader adds. */
	function panel(filters) {
		const {data} = filters, shown = new Set(), rows = element("div", {style: "display: contents"});
		const all = data.columns.filter((column) => !column.isConstant);
		for (const column of all)
			column.places = column.codes ? new npulabSweep.Scale(column, "places").places : null;
		const add = (column) => {
			if (!column || shown.has(column))
				return;
			shown.add(column);
			rows.append(rowOf(filters, column));
		};
		all.filter((column) => column.kind === "parameter" && !column.isDerived && !column.twin).forEach(add);
		data.objectives.forEach(({column}) => !column.isConstant && add(column));
		const box = (text, key) => {
			const input = element("input", {type: "checkbox", onchange: () => {
				filters[key] = input.checked;
				filters.change();
			}});
			filters.listeners.push(() => { input.checked = filters[key]; });
			return element("label", {}, input, ` ${text}`);
		};
		const rest = all.filter((column) => !shown.has(column));
		const more = choice("Filter by", [["", "another figure..."], ...rest.map((column) => [column.name, column.name])], "", (name) => {
			add(data.byName.get(name));
			more.querySelector("select").value = "";
			rows.lastElementChild.querySelector("input").focus();
		});
		const clear = element("button", {type: "button", onclick: () => filters.clear()}, "Clear all filters");
		const saved = element("button", {type: "button", onclick: () => save(filters)}, "Save the points left as CSV");
		filters.listeners.push(() => { [...filters.of.keys()].forEach(add); });
		return element("fieldset", {class: "filters"}, element("legend", {}, "Filters"), rows,
			element("fieldset", {class: "filter"}, element("legend", {}, "only points"), box("that meet the constraints", "isFeasibleOnly"), box("of the Pareto front", "isFrontOnly")),
			element("div", {class: "filter"}, ...(rest.length > 0 ? [more] : []), clear, saved));
	}
	function countOf(filters) {
		const text = element("div", {class: "count", role: "status"}), {data} = filters;
		const show = () => {
			const whole = (n) => n.toLocaleString("en");
			text.textContent = filters.isActive ? `${whole(filters.count)} of ${whole(data.n)} points left, ${whole(filters.nBest)} of them meet the constraints`
				: `${whole(data.n)} points, ${whole(filters.nBest)} meet the constraints`;
		};
		filters.listeners.push(show);
		show();
		return text;
	}

	Object.assign(npulabSweep, {Filters, filterPanel: panel, filterCount: countOf, isSingly});
})();
