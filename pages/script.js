"use strict";
/* Tables that can be sorted and searched. Without this script they are whole, in their first order. */
(function () {
	function value(row, heading) {
		const cell = row.cells[heading.cellIndex], text = cell ? cell.textContent.trim() : "";
		if (!cell || !heading.classList.contains("n")) /* a row of a device that could not start is short */
			return text;
		if (cell.dataset.v !== undefined)
			return Number(cell.dataset.v);
		return text === "exact" ? Infinity : ""; /* other words, such as "fused", are no figure */
	}
	function compare(a, b, down) {
		if (a === "" || b === "") /* what has no figure comes last, whatever the direction */
			return (a === "") - (b === "");
		const order = typeof a === "number" ? (a > b) - (a < b) : a.localeCompare(b, "en", {numeric: true});
		return down ? -order : order;
	}
	function sort(table, heading) {
		const down = heading.getAttribute("aria-sort") === "ascending" ||
			(heading.classList.contains("n") && heading.getAttribute("aria-sort") !== "descending");
		const rows = Array.from(table.tBodies[0].rows);
		for (const other of heading.parentNode.cells)
			other.removeAttribute("aria-sort");
		heading.setAttribute("aria-sort", down ? "descending" : "ascending");
		rows.sort((a, b) => compare(value(a, heading), value(b, heading), down));
		table.tBodies[0].append(...rows);
	}
	for (const table of document.querySelectorAll("table.sorted"))
		for (const heading of table.tHead.rows[0].cells) {
			const button = document.createElement("button");
			button.type = "button";
			button.append(...heading.childNodes);
			button.addEventListener("click", () => sort(table, heading));
			heading.append(button);
		}
	for (const part of document.querySelectorAll(".searched")) {
		const label = document.createElement("label"), field = document.createElement("input");
		field.type = "search";
		label.append("Show rows with ", field);
		field.addEventListener("input", () => {
			const text = field.value.toLowerCase();
			for (const row of part.querySelectorAll("tbody tr"))
				row.hidden = !row.textContent.toLowerCase().includes(text);
			part.dispatchEvent(new Event("chosen"));
		});
		part.before(label);
	}
})();
