# SPDX-License-Identifier: MIT
#
# Reads a page: which of its blocks, tables and figures name the command that produces them (docs_check.py has the forms of the comments).
import re
import shlex
from dataclasses import dataclass, field

import docs_value

FENCE = re.compile(r"\s*(```+|~~~+)\s*(\S*)")
COMMENT = re.compile(r"<!--(.*?)-->")
STATUS = r"(?:\s*\(exit (\d+)\))?"
BLOCK_FORMS = {
    "run": re.compile(rf"run{STATUS}(?::\s*(.+))?$", re.DOTALL),
    "setup": re.compile(r"setup(?::\s*(.+))?$", re.DOTALL),
    "file": re.compile(r"file:\s*([\w.-]+)$"),
    "command": re.compile(rf"command\s+([\w-]+){STATUS}:\s*(.+)$", re.DOTALL),
    "column": re.compile(r'column\s+"([^"]+)"\s*=\s*([\w-]+):\s*(.+)$', re.DOTALL),
}
FIGURE = re.compile(r"(measured\s+)?([\w-]+):\s*(.+)$")


@dataclass(frozen=True)
class Command:
    text: str
    status: int = 0


@dataclass
class Block:
    """A fenced block, or a table, that is a command's output; of a block the lines are those between the fences, without a `$ command` at
    their head."""

    line: int  # of the page, counted from 0: the first of `lines`
    lines: list
    command: Command


@dataclass
class Figure:
    """Text of a page that a command gives: characters start to end of a line."""

    line: int
    start: int
    end: int
    command: Command
    expression: str
    form: str
    measured: bool


@dataclass
class Page:
    path: str
    lines: list
    files: list = field(default_factory=list)  # (name, lines)
    setups: list = field(default_factory=list)  # (line, script)
    commands: dict = field(default_factory=dict)  # name: Command
    blocks: list = field(default_factory=list)
    figures: list = field(default_factory=list)
    unnamed: list = field(default_factory=list)  # (line, language, lines) of the blocks that no comment names
    problems: list = field(default_factory=list)  # (line, text)
    used: set = field(default_factory=set)
    directives: int = 0

    def wrong(self, line, text):
        self.problems.append((line, text))


def one_line(text):
    return re.sub(r"\s*\\?\n\s*", " ", text.strip())


def code_spans(line):
    return [m.span() for m in re.finditer(r"(`+)(?!`).*?(?<!`)\1(?!`)", line)]


def plain(cell):
    """A cell's text without marks."""
    return re.sub(r"`|\*\*", "", COMMENT.sub("", cell)).strip()


def cells_of(line):
    """(start, end) of the cells of a table's row, between its bars."""
    bars = [m.start() for m in re.finditer(r"(?<!\\)\|", line) if not any(a <= m.start() < b for a, b in code_spans(line))]
    return [(a + 1, b) for a, b in zip(bars, bars[1:])]


class Reader:
    def __init__(self, path, text):
        self.page = Page(path, text.split("\n"))
        self.pending = []  # (line, kind, match) of comments that speak of the block or the table that follows

    def read(self):
        lines, at = self.page.lines, 0
        self.define()
        while at < len(lines):
            line = lines[at]
            fence = FENCE.match(line)
            if fence:
                at = self.fence(at, fence)
            elif line.lstrip().startswith("<!--"):
                at = self.comment(at)
            elif line.startswith("|"):
                at = self.table(at)
            else:
                if line.strip():
                    self.nothing_follows(("run", "setup", "file", "column"))
                self.inline(at)
                at += 1
        self.nothing_follows(("run", "setup", "file", "column"))
        for name in self.page.commands.keys() - self.page.used:
            self.page.wrong(self.page.commands[name][0], f"the command '{name}' is used nowhere")
        return self.page

    def define(self):
        """The commands first: a figure may stand before the comment that names its command."""
        text = "\n".join(self.page.lines)
        for match in re.finditer(r"^[ \t]*<!--\s*(command\b.*?)-->", text, re.DOTALL | re.MULTILINE):
            form = BLOCK_FORMS["command"].match(match[1].strip())
            if form:
                line = text.count("\n", 0, match.start())
                if form[1] in self.page.commands or form[1] in BLOCK_FORMS:
                    self.page.wrong(line, f"the name '{form[1]}' is taken")
                self.page.commands[form[1]] = (line, Command(one_line(form[3]), int(form[2] or 0)))

    def nothing_follows(self, kinds):
        for line, kind, _ in [p for p in self.pending if p[1] in kinds]:
            self.page.wrong(line, f"no {'table' if kind == 'column' else 'block'} follows this comment '{kind}'")
        self.pending = [p for p in self.pending if p[1] not in kinds]

    def comment(self, at):
        """A comment that begins a line: of the block or table behind it, or a definition."""
        lines, end = self.page.lines, at
        while "-->" not in lines[end]:
            end += 1
            if end == len(lines):
                self.page.wrong(at, "this comment does not end")
                return end
        text = "\n".join(lines[at : end + 1]).strip()
        if text.count("<!--", 0, text.index("-->")) > 1:
            self.page.wrong(at, "this comment does not end")
            return at + 1
        body, behind = text[4:].split("-->", 1)
        body = body.strip()
        kind = re.match(r"\w*", body)[0]
        match = BLOCK_FORMS[kind].match(body) if kind in BLOCK_FORMS else None
        if not match:
            known = ", ".join(BLOCK_FORMS)
            self.page.wrong(at, f"'<!-- {one_line(body)} -->' is none of the comments that there are ({known}), or malformed")
        elif behind.strip():
            self.page.wrong(at, "text behind a comment that begins a line")
        self.page.directives += 1
        if match and kind == "setup" and match[1]:
            self.page.setups.append((at, one_line(match[1])))
        elif match and kind != "command":
            self.pending.append((at, kind, match))
        return end + 1

    def fence(self, at, fence):
        lines, end = self.page.lines, at + 1
        while end < len(lines) and lines[end].strip() != fence[1]:
            end += 1
        if end == len(lines):
            self.page.wrong(at, "this block does not end")
            return end
        body = lines[at + 1 : end]
        self.nothing_follows(("column",))
        for line, kind, match in self.pending:
            if kind == "file":
                self.page.files.append((match[1], body))
            elif kind == "setup":
                self.page.setups.append((line, "\n".join(body)))
            else:
                self.block(line, match, at + 1, body)
        if not self.pending:
            self.page.unnamed.append((at, fence[2], body))
        self.pending = []
        return end + 1

    def block(self, line, match, first, body):
        text = match[2] and one_line(match[2])
        if body and body[0].startswith("$ "):
            if text and text != body[0][2:]:
                self.page.wrong(line, f"the comment's command is not that of the block, '{body[0][2:]}'")
            text, first, body = body[0][2:], first + 1, body[1:]
        if not text:
            self.page.wrong(line, "no command: expected 'run: COMMAND', or a block that begins with '$ COMMAND'")
            return
        self.page.blocks.append(Block(first, body, Command(text, int(match[1] or 0))))

    def table(self, at):
        lines, end = self.page.lines, at
        while end < len(lines) and lines[end].startswith("|"):
            end += 1
        self.nothing_follows(("setup", "file"))
        for line, _, match in [p for p in self.pending if p[1] == "run"]:
            self.block(line, match, at, lines[at:end])
        self.pending = [p for p in self.pending if p[1] == "column"]
        header = [plain(lines[at][a:b]) for a, b in cells_of(lines[at])]
        for line, _, match in self.pending:
            if header.count(match[1]) != 1:
                self.page.wrong(line, f"the table has no column '{match[1]}', only: {', '.join(filter(None, header))}")
                continue
            for row in range(at + 2, end):
                self.cell(line, match, row, header.index(match[1]))
        self.pending = []
        for row in range(at, end):
            self.inline(row)
        return end

    def cell(self, line, match, row, column):
        """One cell of a column that a comment speaks of; an empty one, and one with a comment of its own, is left alone."""
        text = self.page.lines[row]
        spans = cells_of(text)
        if column >= len(spans):
            self.page.wrong(row, f"this row has no column '{match[1]}'")
            return
        start, end = spans[column]
        inner = text[start:end]
        if not inner.strip() or COMMENT.search(inner):
            return
        command = self.command_named(line, match[2])
        if not command:
            return
        cells = [plain(text[a:b]) for a, b in spans]

        def fill(template, quote):
            def cell(m):
                k = int(m[1]) - 1
                return quote(cells[k]) if k < len(cells) else m[0]

            return re.sub(r"\$([1-9])", cell, template)

        expression, form = docs_value.split_format(one_line(match[3]))
        start += len(inner) - len(inner.lstrip())
        self.page.figures.append(
            Figure(
                row,
                start,
                start + len(inner.strip()),
                Command(fill(command.text, shlex.quote), command.status),
                fill(expression, str),
                form,
                False,
            )
        )

    def command_named(self, line, name):
        if name not in self.page.commands:
            known = ", ".join(sorted(self.page.commands)) or "none"
            self.page.wrong(line, f"there is no command '{name}' in this page; there are: {known}")
            return None
        self.page.used.add(name)
        return self.page.commands[name][1]

    def inline(self, at):
        """The figures of a line, each with its comment right behind it."""
        line = self.page.lines[at]
        spans = code_spans(line)
        for match in COMMENT.finditer(line):
            if any(a <= match.start() < b for a, b in spans):
                continue
            self.page.directives += 1
            form = FIGURE.match(match[1].strip())
            if not form or "--" in match[1]:
                self.page.wrong(at, f"'<!--{match[1]}-->' is no comment of a figure: expected NAME: EXPRESSION FORMAT, without --")
                continue
            command = self.command_named(at, form[2])
            if not command:
                continue
            expression, shown = docs_value.split_format(form[3])
            before = line[: match.start()].rstrip()
            figure = docs_value.pattern(shown).search(before)
            if not figure:
                self.page.wrong(at, f"no figure like '{shown}' stands before '<!--{match[1]}-->'")
                continue
            self.page.figures.append(
                Figure(at, figure.start(), figure.end(), command, expression, shown, bool(form[1]))
            )


def read(path, text):
    return Reader(path, text).read()
