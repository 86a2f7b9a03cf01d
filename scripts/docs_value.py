# SPDX-License-Identifier: MIT
#
# The figures that comments of pages ask of a command's output (docs_check.py): an expression over the JSON that it printed, or a regular
# expression over its text, and how the value is printed.
#
#     EXPRESSION  paths, numbers, + - * / between blanks, parentheses, sum() max() min() len() mean() of a path
#     PATH        devices[name=tpu_v1].totals.cycles, layers.0.macs, settings["array.rows"]; a key of a list is that of all its
#                 elements, [key=value] keeps those that have it, and a list of one element is this element
#     /REGEX/     its first group, or all that it matches
#     A; B        several expressions, for as many fields
#     FORMAT      from the first word with a field of Python's str.format on: ~{:.2f}, {:+.1f} %, {:.1f} / {:.1f}; {:si} is three digits and a
#                 prefix, as 416 k; {} when it is left out
import json
import operator
import re

TOKEN = re.compile(
    r"""\s*(?:(?P<number>\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?![\w.\[])
    |(?P<function>sum|max|min|len|mean)\(
    |(?P<path>[A-Za-z_]\w*(?:\.\w+|\[[^\]]*\])*)
    |(?P<operator>(?<=\s)[-+*/](?=\s)|[()]))""",
    re.VERBOSE,
)
STEP = re.compile(r"\.?(\w+)|\[(?:\"([^\"]*)\"|([\w.]+)=([^\]]*))\]")
OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
FUNCTIONS = {"sum": sum, "max": max, "min": min, "len": len, "mean": lambda values: sum(values) / len(values)}


class Wrong(Exception):
    """A figure that cannot be had; says why."""


def text_of(value):
    return value if isinstance(value, str) else json.dumps(value)


def key_of(value, key, path):
    if isinstance(value, list):
        if key.isdigit():
            if int(key) >= len(value):
                raise Wrong(f"{path}: there is no element {key}, only {len(value)}")
            return value[int(key)]
        return [key_of(element, key, path) for element in value]
    if not isinstance(value, dict) or key not in value:
        raise Wrong(f"{path}: there is no '{key}'")
    return value[key]


def alone(value):
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def at(root, path):
    """What stands at the path; a list where that is several values."""
    value, end = root, 0
    for step in STEP.finditer(path):
        if step.start() != end:
            break
        end = step.end()
        key, quoted, name, wanted = step.groups()
        if name is None:
            key = key if quoted is None else quoted
            value = key_of(value if key.isdigit() else alone(value), key, path)
            continue
        if not isinstance(value, list):
            raise Wrong(f"{path}: [{name}={wanted}] chooses from a list, and there is none")
        value = [element for element in value if text_of(key_of(element, name, path)) == wanted]
        if not value:
            raise Wrong(f"{path}: nothing has {name}={wanted}")
    if end != len(path):
        raise Wrong(f"{path}: '{path[end:]}' is no part of a path")
    return alone(value)


class Expression:
    """A recursive-descent parser that computes as it reads."""

    def __init__(self, text, root):
        self.text, self.root, self.tokens, end = text, root, [], 0
        while text[end:].strip():
            match = TOKEN.match(text, end)
            if not match:
                raise Wrong(f"'{text[end:].strip()}' is no expression")
            self.tokens.append((match.lastgroup, match[match.lastgroup]))
            end = match.end()

    def peek(self):
        return self.tokens[0] if self.tokens else (None, None)

    def take(self, what=None):
        kind, text = self.peek()
        if not kind or (what and text != what):
            raise Wrong(f"'{self.text}': expected {what or 'a path or a number'}" + (f" before '{text}'" if kind else " at its end"))
        self.tokens.pop(0)
        return kind, text

    def value(self):
        if not self.tokens:
            raise Wrong("an expression is missing")
        value = self.sum()
        if self.tokens:
            raise Wrong(f"'{self.text}': '{self.peek()[1]}' is not expected")
        return value

    def binary(self, operators, operand):
        value = operand()
        while self.peek()[0] == "operator" and self.peek()[1] in operators:
            sign = self.take()[1]
            other = operand()
            if not all(isinstance(v, (int, float)) for v in (value, other)):
                raise Wrong(f"'{self.text}': {sign} of what is no number")
            if sign == "/" and other == 0:
                raise Wrong(f"'{self.text}' divides by 0")
            value = OPERATORS[sign](value, other)
        return value

    def sum(self):
        return self.binary("+-", self.product)

    def product(self):
        return self.binary("*/", self.factor)

    def factor(self):
        kind, text = self.take()
        if kind == "number":
            return float(text) if re.search(r"[.e]", text) else int(text)
        if kind == "path":
            return at(self.root, text)
        if text != "(" and kind != "function":
            raise Wrong(f"'{self.text}': '{text}' is not expected")
        value = self.sum()
        self.take(")")
        if kind != "function":
            return value
        values = value if isinstance(value, list) else [value]
        if text != "len" and not all(isinstance(v, (int, float)) for v in values):
            raise Wrong(f"'{self.text}': {text}() of what is no number")
        return FUNCTIONS[text](values)


def split_format(text):
    """'EXPRESSION FORMAT' as both."""
    match = re.fullmatch(r"(/.*?/)(?:\s+(\S.*))?", text) or re.fullmatch(r"([^{]*)\s(\S*\{.*)", text)
    return (match[1].strip(), match[2] or "{}") if match else (text.strip(), "{}")


def values_of(expression, output):
    """The values of expressions, or of a regular expression, in a command's output."""
    if expression.startswith("/"):
        if len(expression) < 3 or not expression.endswith("/"):
            raise Wrong(f"'{expression}': a regular expression ends with /")
        try:
            match = re.search(expression[1:-1], output, re.MULTILINE)
        except re.error as error:
            raise Wrong(f"'{expression}' is no regular expression: {error}") from error
        if not match:
            raise Wrong(f"'{expression}' matches nothing")
        return [match[1] if match.re.groups else match[0]]
    try:
        root = json.loads(output)
    except ValueError as error:
        raise Wrong(f"what the command printed is not JSON: {error}") from error
    return [Expression(part, root).value() for part in expression.split(";")]


def si(value):
    """Three digits and a prefix, as npulab's tables have them."""
    step = 0
    while abs(value) >= 999.5 and step < 4:
        value, step = value / 1000, step + 1
    decimals = 0 if abs(value) >= 99.95 else 1 if abs(value) >= 9.995 else 2
    return f"{value:.{decimals}f} {' kMGT'[step]}".strip()


def shown(value, form):
    """One value in its field: '-' for null."""
    if value is None:
        return "-"
    if isinstance(value, (list, dict)):
        raise Wrong(f"there are {len(value)} values, expected one")
    try:
        if isinstance(value, str) and form != "{}":
            value = float(value.replace(",", "")) if re.search(r"[.e]", value) else int(value.replace(",", ""))
        return si(value) if form == "{:si}" else form.format(value)
    except (ValueError, IndexError, KeyError) as error:
        raise Wrong(f"'{form}' does not print {value!r}: {error}") from error


def printed(values, form):
    """The values as a page shows them."""
    parts = re.split(FIELD, form)
    if len(parts) != 2 * len(values) + 1:
        raise Wrong(f"'{form}' has {len(parts) // 2} fields for {len(values)} values")
    parts[1::2] = [shown(value, field) for value, field in zip(values, parts[1::2])]
    return "".join(parts)


FIELD = r"(\{[^{}]*\})"
NUMBER = r"(?:[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+| [kMGT])?|[-+]?inf|nan|-)"


def pattern(form):
    """What a figure of this format looks like where it ends."""
    parts = [re.escape(part) for part in re.split(FIELD, form)]
    parts[1::2] = [r"[^\s|*()]+" if field == "{}" else NUMBER for field in re.split(FIELD, form)[1::2]]
    return re.compile("".join(parts) + "$")
