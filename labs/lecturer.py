#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# For lecturers: writes the solution of a lab with a student's numbers into a folder that `npulab lab start` has made.
#
#     NPULAB_PROGRAM=/usr/local/bin/npulab labs/lecturer.py solve N FOLDER [--student ID] [--salt TEXT]
#
# The files of the lab's lecturer/solution are copied, with {name} replaced by the student's numbers, and those that its tasks make
# (SOLUTIONS) are written. In answers.txt each answer that the tasks compute (EXPECTED) is written behind its colon.
import argparse
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import lab as labs  # noqa: E402


def text_of(value):
    return " ".join(map(str, value)) if isinstance(value, list) else f"{value:.6g}" if isinstance(value, float) else str(value)


def solve(lab):
    solution = os.path.join(lab.place, "lecturer", "solution")
    for name in sorted(os.listdir(solution)) if os.path.isdir(solution) else []:
        with open(os.path.join(solution, name), encoding="utf-8") as file:
            text = file.read()
        with open(lab.path(name), "w", encoding="utf-8") as file:
            file.write(re.sub(r"\{(\w+)\}", lambda m: str(lab.parameters.get(m[1], m[0])), text))
    for name, text_for in getattr(lab.tasks, "SOLUTIONS", {}).items():
        with open(lab.path(name), "w", encoding="utf-8") as file:
            file.write(text_for(lab))
    expected = getattr(lab.tasks, "EXPECTED", {})
    text = re.sub(r"(?m)^(\w+): *\?$", lambda m: f"{m[1]}: {text_of(expected[m[1]](lab))}", lab.read("answers.txt"))
    with open(lab.path("answers.txt"), "w", encoding="utf-8") as file:
        file.write(text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["solve"])
    parser.add_argument("number", type=int)
    parser.add_argument("folder")
    parser.add_argument("--student")
    parser.add_argument("--salt", default="")
    options = parser.parse_args()
    try:
        solve(labs.Lab(options.number, options.folder, labs.student_of(options), options.salt))
    except labs.Wrong as error:
        sys.exit(f"lecturer.py: {error}")


if __name__ == "__main__":
    main()
