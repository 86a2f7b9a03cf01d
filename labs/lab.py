#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# The course labs, which `npulab lab` runs: lists them, copies what a student begins with, and checks what the student has made of it.
#
#     lab.py list [--json]
#     lab.py start N FOLDER [--student ID] [--salt TEXT]
#     lab.py check N FOLDER [--student ID] [--salt TEXT] [--json]
#
# A lab is a folder N-NAME with a handout, a folder `starter` and `tasks.py`:
#
#     TITLE, ABOUT         texts
#     parameters(lab)      the numbers of a student, by name: they stand for {name} in the starter's files
#     start(lab)           optional: writes further files into lab.folder
#     TASKS                a list of (name, function): the function returns, or raises lab.Open or lab.Differs
#
# Expected answers are never kept: the tasks compute them, from the student's numbers and from runs of npulab. Python's standard
# library is enough.
import argparse
import difflib
import hashlib
import hmac
import importlib.util
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import textwrap

PLACE = os.path.dirname(os.path.realpath(__file__))
SECONDS = 20  # that a program of the student or a run of npulab may take
MOST_BYTES = 1 << 20  # of a file of the student
STUDENT_FILE = "student.txt"


class Open(Exception):
    """A task that the student has not begun."""


class Differs(Exception):
    """A task whose answer is not right: what is seen, and a hint that does not give it away."""

    def __init__(self, message, hint=""):
        super().__init__(message)
        self.hint = hint


class Wrong(Exception):
    """What the command line asks for cannot be done."""

    def __init__(self, message, status=2):
        super().__init__(message)
        self.status = status


class Lab:
    """A lab of a student, in a folder."""

    Open, Differs = Open, Differs

    def __init__(self, number, folder, student, salt):
        self.number, self.folder, self.student = number, folder, student
        self.key = f"npulab lab {salt}".encode()
        self.place = os.path.join(PLACE, folder_of(number))
        self.tasks = load(os.path.join(self.place, "tasks.py"))
        self.parameters = self.tasks.parameters(self)
        self.answers_read = None

    # ---- The student's numbers.

    def draw(self, name, low, high):
        """A whole number from low to high that follows from the student, the lab and the name."""
        text = f"{self.student}\0{self.number}\0{name}".encode()
        return low + int.from_bytes(hmac.new(self.key, text, hashlib.sha256).digest()[:8], "big") % (high - low + 1)

    def choose(self, name, values):
        return values[self.draw(name, 0, len(values) - 1)]

    def matrix(self, name, rows, columns, least=-9, most=9):
        return [[self.draw(f"{name} {r} {c}", least, most) for c in range(columns)] for r in range(rows)]

    # ---- The student's files.

    def path(self, name):
        return os.path.join(self.folder, name)

    def read(self, name):
        """The text of a file of the student."""
        try:
            with open(self.path(name), "rb") as file:
                data = file.read(MOST_BYTES + 1)
        except OSError as error:
            names = {other.lower(): other for other in os.listdir(self.folder)}
            near = difflib.get_close_matches(name.lower(), names, 1, 0.8)
            raise Differs(f"{name}: {error.strerror}", f"the folder has {names[near[0]]}: is that the file?" if near else
                          "`npulab lab start` in another folder makes it again") from None
        if len(data) > MOST_BYTES:
            raise Differs(f"{name}: more than {MOST_BYTES} bytes")
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise Differs(f"{name}: it is UTF-16, expected plain text in UTF-8")
        return data.decode("utf-8", "replace").removeprefix("\ufeff")

    def answers(self):
        """The answers of answers.txt, lines of `name: value`."""
        if self.answers_read is None:
            answers = {}
            for number, line in enumerate(self.read("answers.txt").splitlines(), 1):
                line = line.split("#")[0].strip()
                if not line:
                    continue
                name, colon, value = line.partition(":")
                if not colon:
                    raise Differs(f"answers.txt:{number}: expected `name: value`")
                answers[name.strip()] = value.strip()
            self.answers_read = answers
        return self.answers_read

    def answer(self, name, kind=int):
        """An answer as a whole number, a number, a word or several of them (kind: int, float, str, list)."""
        answers = self.answers()
        if name not in answers:
            near = difflib.get_close_matches(name, answers, 1)
            raise Differs(f"answers.txt has no line `{name}:`", f"is `{near[0]}` it?" if near else "")
        text = answers[name]
        if not text or text == "?":
            raise Open(name)
        if kind is str:
            return text
        if kind is list:
            words = text.strip("[]()").replace(",", " ").replace(";", " ").split()
            return [number_of(word, name, True) for word in words]
        return number_of(text, name, kind is int)

    def expect_number(self, name, expected, hint, within=0.0):
        """Checks an answer that is a number. What is expected may be a function, which then runs only for an answer."""
        answer = self.answer(name, float if within else int)
        expected = expected() if callable(expected) else expected
        if not abs(answer - expected) <= within * abs(expected):
            raise Differs(f"{name}: {answer:.10g} is not it", hint)

    def expect_numbers(self, name, expected, hint):
        answer = self.answer(name, list)
        expected = expected() if callable(expected) else expected
        if len(answer) != len(expected):
            raise Differs(f"{name}: {len(answer)} numbers, expected {len(expected)}", hint)
        for place, (a, b) in enumerate(zip(answer, expected), 1):
            if a != b:
                raise Differs(f"{name}: number {place}, {a}, is not it", hint)

    def expect_word(self, name, expected, choices, hint):
        answer = self.answer(name, str).lower()
        expected = expected() if callable(expected) else expected
        if answer not in choices:
            raise Differs(f"{name}: '{answer[:40]}', expected one of {', '.join(choices)}")
        if answer != expected:
            raise Differs(f"{name}: {answer} is not it", hint)

    # ---- Runs.

    def npulab(self, *arguments):
        """Runs npulab in the student's folder; returns its status, output and messages."""
        def limit():
            resource.setrlimit(resource.RLIMIT_CPU, (3 * SECONDS, 3 * SECONDS))
        try:
            run = subprocess.run([NPULAB, *arguments], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True,
                                 timeout=SECONDS, preexec_fn=limit, check=False)
        except subprocess.TimeoutExpired:
            raise Differs(f"npulab {' '.join(arguments[:2])} did not end within {SECONDS} s") from None
        return run.returncode, run.stdout.decode("utf-8", "replace"), run.stderr.decode("utf-8", "replace").strip()

    def json(self, *arguments):
        """Runs npulab for its JSON; what npulab refuses is what differs."""
        status, out, messages = self.npulab(*arguments, "--json", "-")
        if status:
            raise Differs(messages.splitlines()[-1].replace("npulab: ", "", 1) if messages else f"npulab ended with {status}")
        return json.loads(out)


def number_of(text, name, is_whole):
    """Reads a number as npulab or a student writes it: `~12.5`, `1,344`, `53.8 %`."""
    plain = text.strip().lstrip("~").rstrip("%").strip().replace("\u2212", "-")
    if re.fullmatch(r"-?\d{1,3}(,\d{3})+(\.\d+)?", plain):
        plain = plain.replace(",", "")
    if not re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", plain):
        hint = "write the number alone, without its unit, and with a point, not a comma"
        raise Differs(f"{name}: '{text[:40]}' is no answer, expected {'a whole number' if is_whole else 'a number'}", hint)
    value = float(plain)
    if is_whole and value != int(value):
        raise Differs(f"{name}: {text[:40]} is no whole number")
    return int(value) if is_whole else value


def load(path):
    spec = importlib.util.spec_from_file_location(os.path.basename(os.path.dirname(path)).replace("-", "_"), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def folders():
    names = [name for name in os.listdir(PLACE) if re.fullmatch(r"[1-9]\d*-[a-z0-9-]+", name)]
    return sorted(names, key=lambda name: int(name.split("-")[0]))


def folder_of(number):
    for name in folders():
        if name.split("-")[0] == str(number):
            return name
    raise Wrong(f"there is no lab {number}, expected one of {', '.join(name.split('-')[0] for name in folders())}")


def list_labs(options):
    labs = []
    for name in folders():
        tasks = load(os.path.join(PLACE, name, "tasks.py"))
        labs.append({"lab": int(name.split("-")[0]), "title": tasks.TITLE, "about": tasks.ABOUT, "tasks": len(tasks.TASKS),
                     "handout": os.path.join(PLACE, name, "handout.md")})
    if options.json:
        json.dump({"schema": "npulab.labs/1", "labs": labs}, sys.stdout)
        print()
        return 0
    for lab in labs:
        print(f"{lab['lab']}  {lab['title']} ({lab['tasks']} tasks)")
        print(textwrap.fill(lab["about"], 76, initial_indent="   ", subsequent_indent="   "))
    print("\n`npulab lab start N FOLDER` copies what a lab begins with, its handout among it.")
    return 0


def start(options):
    folder = options.folder
    if os.path.lexists(folder) and (not os.path.isdir(folder) or os.listdir(folder)):
        raise Wrong(f"{folder}: it is there already, expected a new or empty folder")
    lab = Lab(options.number, folder, options.student or "", options.salt)
    os.makedirs(folder, exist_ok=True)
    shutil.copy(os.path.join(lab.place, "handout.md"), folder)
    starter = os.path.join(lab.place, "starter")
    for name in sorted(os.listdir(starter)):
        with open(os.path.join(starter, name), encoding="utf-8") as file:
            text = file.read()
        with open(lab.path(name), "w", encoding="utf-8") as file:
            file.write(re.sub(r"\{(\w+)\}", lambda m: str(lab.parameters.get(m[1], m[0])), text))
    if hasattr(lab.tasks, "start"):
        lab.tasks.start(lab)
    with open(lab.path(STUDENT_FILE), "w", encoding="utf-8") as file:
        file.write(f"student: {lab.student}\nlab: {options.number}\nsalt: {digest(options.salt)}\n")
    print(f"{folder}: lab {options.number}, {lab.tasks.TITLE}. Read handout.md, then `npulab lab check {options.number} {folder}`.")
    return 0


def digest(salt):
    """What a folder remembers of a salt, from which it cannot be found."""
    return hashlib.sha256(f"npulab salt {salt}".encode()).hexdigest()[:16] if salt else ""


def student_of(options):
    """The student with whose numbers the folder was made. Refuses a folder of another student, lab or salt."""
    path = os.path.join(options.folder, STUDENT_FILE)
    try:
        with open(path, encoding="utf-8") as file:
            parts = [line.partition(":") for line in file]
        kept = {key.strip(): value.strip() for key, _, value in parts}
    except (OSError, ValueError):
        kept = {}
    if not {"student", "lab", "salt"} <= kept.keys():
        raise Wrong(f"{path}: it does not say who began the folder, and which lab: expected a folder of `npulab lab start`", 3)
    if kept["lab"] != str(options.number):
        raise Wrong(f"{options.folder}: it is of lab {kept['lab']}, not of lab {options.number}", 3)
    if options.student is not None and options.student != kept["student"]:
        raise Wrong(f"{options.folder}: it was begun by the student '{kept['student']}', not by '{options.student}'", 3)
    if kept["salt"] != digest(options.salt):
        raise Wrong(f"{options.folder}: it was begun with another salt, or none: --salt gives the course's", 3)
    return kept["student"]


def run_task(task, lab):
    try:
        task(lab)
    except Open as error:
        return {"status": "open", "message": f"{error}: no answer yet", "hint": ""}
    except Differs as error:
        return {"status": "differs", "message": str(error), "hint": error.hint}
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        return {"status": "differs", "message": f"the check could not use what is in the folder ({type(error).__name__}: {error})",
                "hint": "are all files there that the lab began with? `npulab lab start` makes them anew in another folder"}
    return {"status": "passed", "message": "", "hint": ""}


def show(lab, results):
    student = f", student {lab.student}" if lab.student else ""
    print(f"lab {lab.number}: {lab.tasks.TITLE}{student}")
    for result in results:
        print(f"{result['status']:8} {result['name']}")
        for text in filter(None, [result["message"], result["hint"] and f"Hint: {result['hint']}"]):
            print(textwrap.fill(text, 78, initial_indent=" " * 9, subsequent_indent=" " * 9))
    passed = sum(result["status"] == "passed" for result in results)
    print(f"{passed} of {len(results)} tasks passed")


def check(options):
    if not os.path.isdir(options.folder):
        raise Wrong(f"{options.folder}: expected a folder that `npulab lab start {options.number}` has made", 3)
    folder_of(options.number)
    lab = Lab(options.number, options.folder, student_of(options), options.salt)
    results = [{"name": name, **run_task(task, lab)} for name, task in lab.tasks.TASKS]
    if options.json:
        json.dump({"schema": "npulab.lab/1", "lab": lab.number, "title": lab.tasks.TITLE, "student": lab.student,
                   "passed": sum(result["status"] == "passed" for result in results), "tasks": results}, sys.stdout)
        print()
    else:
        show(lab, results)
    return 0 if all(result["status"] == "passed" for result in results) else 1


def arguments():
    parser = argparse.ArgumentParser(prog="npulab lab", description="Course labs that check themselves.")
    commands = parser.add_subparsers(dest="command")
    one = commands.add_parser("list", help="the labs there are")
    one.add_argument("--json", action="store_true", help="as JSON")
    for name, text in ("start", "copies what a lab begins with into a new folder"), ("check", "checks a folder, task by task"):
        one = commands.add_parser(name, help=text)
        one.add_argument("number", type=int, metavar="N", help="the number of the lab")
        one.add_argument("folder", metavar="FOLDER")
        one.add_argument("--student", metavar="ID", help="whose numbers the tasks have")
        one.add_argument("--salt", default="", metavar="TEXT", help="of the course: other numbers for the same student")
        if name == "check":
            one.add_argument("--json", action="store_true", help="for graders")
    return parser.parse_args()


def flushed(status):
    sys.stdout.flush()
    return status


def main():
    options = arguments()
    try:
        if options.command == "start":
            return start(options)
        if options.command == "check":
            return flushed(check(options))
        if options.command is None:
            options.json = False
        return list_labs(options)
    except Wrong as error:
        print(f"npulab: lab: {error}", file=sys.stderr)
        return error.status
    except BrokenPipeError:  # who reads the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except OSError as error:
        print(f"npulab: lab: {error.filename}: {error.strerror}", file=sys.stderr)
        return 5


NPULAB = os.environ.get("NPULAB_PROGRAM", "npulab")
if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.exit(main())
