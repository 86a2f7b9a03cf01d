/* All figures of one point, and the command that runs it again. */
(function () {
	"use strict";
	const {EXCLUDED, FAILED, ON_FRONT, commandOf, element} = npulabSweep;

	class Point {
		constructor(data, onchoose) {
			Object.assign(this, {data, onchoose, chosen: -1});
			this.field = element("input", {type: "text", inputmode: "numeric", size: 8, autocomplete: "off", onchange: () => this.choose(this.field.value)});
			this.body = element("div", {role: "status"});
			this.panel = element("div", {class: "point", role: "group", "aria-label": "One point", tabindex: 0},
				element("label", {class: "title"}, "Point ", this.field), this.body);
		}
		choose(text) {
			const i = /^\s*\d+\s*$/.test(text) ? this.data.placeOf(Number(text)) : -1;
			this.field.setAttribute("aria-invalid", String(i < 0));
			if (i >= 0)
				this.open(i);
		}
		/* What a point is, in words. */
		stateOf(i) {
			const {flags, reasons} = this.data, reason = reasons?.valueAt(i) ?? "";
			if (flags[i] & FAILED)
				return `It could not run: ${reason}`;
			if (flags[i] & EXCLUDED)
				return `It did not run, excluded by ${reason}`;
			if (!this.data.feasible[i])
				return `It breaks the constraint ${reason}`;
			if (i === this.data.knee)
				return "It is the knee of the Pareto front.";
			return flags[i] & ON_FRONT ? "It is on the Pareto front." : "It meets the constraints.";
		}
		list(columns, i) {
			const list = element("dl");
			for (const column of columns)
				if (column.valueAt(i) !== null && !Number.isNaN(column.valueAt(i)))
					list.append(element("dt", {title: column.meaning}, column.name), element("dd", {}, column.textAt(i)));
			return list;
		}
		open(i) {
			const {data} = this, command = commandOf(data, i), of = (isParameter) => data.columns.filter((column) => (column.kind === "parameter") === isParameter);
			this.chosen = i;
			this.field.value = data.idOf(i);
			this.field.setAttribute("aria-invalid", "false");
			const copied = element("span", {class: "hint"});
			const copy = element("button", {type: "button", onclick: () => {
				navigator.clipboard.writeText(command).then(() => { copied.textContent = " copied"; }, () => { copied.textContent = " not copied: mark the text"; });
			}}, "Copy the command");
			this.body.replaceChildren(element("div", {class: "hint"}, this.stateOf(i)), element("div", {class: "title"}, "Parameters"), this.list(of(true), i),
				element("div", {class: "title"}, "Runs it again"), element("code", {}, command), ...(navigator.clipboard ? [copy, copied] : []),
				element("div", {class: "title"}, "Figures"), this.list(of(false), i));
			this.onchoose(i);
		}
	}

	npulabSweep.views.Point = Point;
})();
