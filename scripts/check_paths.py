#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Holds the files that README.md, ARCHITECTURE.md, CONTRIBUTING.md and docs/ name in `code` against the tree. A name with a folder must be
# the path of a file or folder from the root, or from include/ for `npulab/...`; `*` stands for any text. A bare name
# of a source file must be one file's alone, or that of a file in a folder that its paragraph or table row
# names. A name with a folder that is not from the root (`isa/isa.h`) must be below such a folder. Names with a placeholder in capitals (`machines/NAME.yaml`) and those of build outputs are not looked at.
#
# A source file that a comment of the code names must exist, too, by its path or its bare name.
#
#     scripts/check_paths.py     prints each name that leads nowhere; ends with 0 if there is none
import fnmatch
import os
import re
import sys

os.chdir(os.environ.get("ROOT") or os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

SOURCE = re.compile(r"[\w*.-]+\.(c|h|def|py|sh|v|cu|cuh)")
# Folders of the tree in which a documented path can lie; other words with a slash (units, shapes) are no paths.
ROOTS = "include|npulab|cli|cluster|examples|tests|scripts|bench|docs|labs|schemas"
for _list in ("code-folders.txt", "data-folders.txt"):
    with open(os.path.join(os.path.dirname(__file__), _list), encoding="utf-8") as _file:
        ROOTS += "|" + "|".join(_file.read().split())
PATH = re.compile(rf"({ROOTS})/[\w*./-]*")
PLACEHOLDER = re.compile(r"(^|[/_-])(NAME|MACHINE)")


def tree():
    files, folders = [], set()
    for path, names, found in os.walk("."):
        names[:] = [n for n in names if n != "build" and not n.startswith(".")]
        folders.add(os.path.normpath(path))
        files += [os.path.normpath(os.path.join(path, f)) for f in found]
    return files, folders


def matches(path, files, folders):
    path = path.rstrip("/")
    return [f for f in [*files, *folders] if fnmatch.fnmatchcase(f, path)] or [
        f for f in files if fnmatch.fnmatchcase(f, "include/" + path)
    ]


def folders_of(words, files, folders):
    """The folders that the words of a paragraph name, or of whose files they name the path."""
    found = [f for word in words if PATH.fullmatch(word) for f in matches(word, files, folders)]
    return {f if f in folders else os.path.dirname(f) for f in found}


def problem(word, near, files, folders):
    """Why a word of a document names no file, or None; near: the folders that its paragraph names."""
    if PLACEHOLDER.search(word):
        return None
    if PATH.fullmatch(word):
        return None if matches(word, files, folders) else "there is no such file or folder"
    if "/" in word and SOURCE.fullmatch(os.path.basename(word)):
        found = [f for f in files if fnmatch.fnmatchcase(f, "*/" + word)]
        below = [f for f in found if not near or any(f.startswith(folder + "/") for folder in near)]
        return None if below else "there is no such file in the folders named beside it" if found else "there is no such file"
    if not SOURCE.fullmatch(word):
        return None
    found = [f for f in files if fnmatch.fnmatchcase(os.path.basename(f), word)]
    if not found:
        return "there is no such file"
    if len(found) == 1 or "*" in word or any(os.path.dirname(f) in near for f in found):
        return None
    return "several files have this name: " + ", ".join(found)


def paragraphs(text):
    """(line, words in `code`) of each paragraph, table row or list item outside of fenced blocks."""
    fenced, words, start = False, [], 1
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
            continue
        if fenced:
            continue
        if not line.strip() or re.match(r"\s*([|*-]|\d+\.)", line):
            yield start, words
            words, start = [], number
        for code in re.findall(r"`([^`]+)`", line):
            words += [(number, w.strip(",;()")) for w in code.split()]
    yield start, words


COMMENT = re.compile(r"/\*.*?\*/", re.S)
NAMED = re.compile(r"[\w./-]*\w\.(?:c|h|def|cu|v)\b")
# Files of other projects and of the system, which comments name. tests/test_rooms.c names those of trees that it makes.
FOREIGN = {"sched.h", "string.h", "stdio.h", "stdlib.h", "math.h", "malloc.h", "driver/others/dynamic.c", "cublasLt.h", "nvml.h", "cblas.h",
           "dnnl_types.h", "cudnn.h"}


def in_comments(path, files, names):
    """(line, name) of each source file that a comment names and that is nowhere."""
    with open(path, encoding="utf-8", errors="replace") as f:
        text = f.read()
    for comment in COMMENT.finditer(text):
        for word in NAMED.finditer(comment.group()):
            name = word.group()
            rooted = PATH.fullmatch(name)
            known = (
                matches(name, files, ()) if rooted
                else name in FOREIGN or (any(f.endswith("/" + name.lstrip("./")) for f in files) if "/" in name else name in names)
            )
            if not known and not PLACEHOLDER.search(name):
                yield text.count("\n", 0, comment.start() + word.start()) + 1, name


def main():
    files, folders = tree()
    names = {os.path.basename(f) for f in files}
    documents = sorted(f for f in files if re.fullmatch(r"(README|ARCHITECTURE|CONTRIBUTING)\.md|docs/[\w.-]+\.md", f))
    wrong = 0
    for document in documents:
        with open(document, encoding="utf-8") as f:
            text = f.read()
        for _, words in paragraphs(text):
            near = folders_of([word for _, word in words], files, folders)
            for number, word in words:
                if why := problem(word, near, files, folders):
                    print(f"{document}:{number}: `{word}`: {why}")
                    wrong += 1
    for source in sorted(f for f in files if re.search(r"\.(c|h|def|cu)$", f) and f != "tests/test_rooms.c"):
        for number, name in in_comments(source, files, names):
            print(f"{source}:{number}: {name}: there is no such file")
            wrong += 1
    return wrong > 0


sys.exit(main())
