# SPDX-License-Identifier: MIT
#
# Checks pages of every format by their rules, for tests/pages/:
#
#     /usr/bin/python3 tests/pages/check_pages.py FILE.html|FILE.md|FILE.tex|FILE.svg...
#     /usr/bin/python3 tests/pages/check_pages.py --hostile FROM.json TO.json
#
# With --hostile it copies a document, with names in it that try to leave the text in every format. A page of that document must have them
# as text.
import json
import re
import sys
import xml.etree.ElementTree
from html.parser import HTMLParser

HOSTILE = "[*</td><script>alert(1)</script> | `x` \\input{y} % & _a_ ]\n](http://x) @someone ${z} #1 "
# Keys whose texts are words of the schema, or choose what is done with the others.
WORDS = {
    "schema", "kind", "engine", "role", "from", "lower_roof", "intensity", "part", "verdict", "model", "precision", "max_isa", "sha256",
    "format", "origin", "energy_origin", "unavailable", "unit", "status", "direction", "better"
}
# Elements that have to be closed; others, such as cells, HTML closes itself.
CLOSED = set("html head body main h1 h2 h3 section div table thead tbody caption svg title text ul details summary p footer style script "
             "rect span".split())


def hostile(value, key=""):
    if isinstance(value, dict):
        named = key in ("settings", "sources") or (key == "parameters" and "name" not in value)
        return {(HOSTILE + name if named else name): hostile(one, "" if named else name) for name, one in value.items()}
    if isinstance(value, list):
        return [hostile(one, "" if isinstance(one, dict) else key) for one in value]
    if not isinstance(value, str) or key in WORDS or key.endswith("sha256"):
        return value
    return HOSTILE + value


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.tags, self.cells, self.columns = [], [], 0, 0

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag in CLOSED:
            self.open.append(tag)
        if tag == "table":
            self.columns = 0
        self.columns += tag == "th"
        if tag == "tr":
            self.end_row()
        self.cells += tag == "td"

    def end_row(self):
        assert self.cells in (0, self.columns), f"{self.cells} cells of {self.columns}, line {self.getpos()[0]}"
        self.cells = 0

    def handle_endtag(self, tag):
        if tag in CLOSED:
            assert self.open and self.open.pop() == tag, f"{tag}, line {self.getpos()[0]}"
        if tag == "table":
            self.end_row()


def check_html(text):
    page = Page()
    page.feed(text)
    page.close()
    assert not page.open, page.open
    for tag, attrs in page.tags:
        assert tag not in ("link", "img", "iframe", "base", "object"), tag
        assert attrs.get("href", "#").startswith("#"), attrs
        assert not {"src", "onclick", "onload", "onmouseover"} & set(attrs), attrs
    assert sum(tag == "script" and "type" not in attrs for tag, attrs in page.tags) == 1
    page_without_scripts = re.sub('<script type="application/json" [^<]*</script>', "", text[:text.index("<script>\n")])
    assert not re.search(r"\bnan\b|\binf\b", page_without_scripts), "not a number"
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids)), [one for one in ids if ids.count(one) > 1]


def check_markdown(text):
    columns = 0
    for line in text.split("\n"):
        assert not re.search(r"<script|\\input|`|@someone|(?<!!\[)\]\(http", line), line
        if not line.startswith("|"):
            columns = 0
            continue
        cells = line.count("|") - 1
        assert cells == (columns or cells), f"{cells} cells of {columns}: {line}"
        columns = cells


def check_latex(text):
    environments, columns = [], 0
    for line in text.split("\n"):
        assert not line.startswith("% ") or "\\input" not in line
        if line.startswith("%"):
            continue
        assert not re.search(r"(?<!\\)[%#$_]|(?<!\\)\\input|\]\(http:|<|>", line.replace("](http://x)", "")), line
        for what, name, layout in re.findall(r"\\(begin|end)\{(\w+\*?)\}(?:\{(\w*)\})?", line):
            if what == "begin":
                environments.append(name)
                columns = len(layout)
            else:
                assert environments.pop() == name, line
        if line.endswith(" \\\\") and not line.startswith("\\caption"):
            assert environments and environments[-1] in ("tabular", "longtable"), line
            separators = len(re.findall(r"(?<!\\)&", line))
            assert separators == columns - 1, f"{separators} of {columns}: {line}"
            assert not re.match(r"[\[*]", line), f"would be an argument of the line before: {line}"
        assert not re.match(r"\\item \[", line), line
    assert not environments, environments


def check_svg(text):
    root = xml.etree.ElementTree.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg", root.tag
    for element in root.iter():
        for name, value in element.attrib.items():
            assert not re.search(r"nan|inf", value.lower()), (element.tag, name, value)
        assert "script" not in element.tag


CHECKS = {"html": check_html, "md": check_markdown, "tex": check_latex, "svg": check_svg}


def main():
    if sys.argv[1:2] == ["--hostile"]:
        with open(sys.argv[2], encoding="utf-8") as file:
            document = json.load(file)
        with open(sys.argv[3], "w", encoding="utf-8") as file:
            json.dump(hostile(document), file)
        return
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8", newline="") as file:
            text = file.read()
        try:
            CHECKS[path.rsplit(".", 1)[1]](text)
        except AssertionError as error:
            sys.exit(f"{path}: {error}")


main()
