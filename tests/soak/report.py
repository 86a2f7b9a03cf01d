# SPDX-License-Identifier: MIT
"""What is wrong in a case, how it is shrunk, kept and printed."""
import os
import re
import shutil

import numpy

from process import Refused

# A rule of placement whose nodes were folded away. Nothing else that is made without damage may be refused.
FOLDED = re.compile("matches no (node|operator) of this model after folding")


class Finding(Exception):
    """One sentence; found and expected arrays where there are."""

    def __init__(self, text, found=None, expected=None):
        super().__init__(text)
        self.found, self.expected = found, expected


def compare(found, expected, bound, what):
    """Finding when found is not expected within the bound, element by element."""
    expected = numpy.asarray(expected)
    if found.size != expected.size or found.ndim == expected.ndim and found.shape != expected.shape:
        raise Finding(f"{what}: shape {found.shape}, expected {expected.shape}", found, expected)
    found = found.reshape(expected.shape).astype("float64")
    wrong = ~(abs(found - expected.astype("float64")) <= bound)
    if wrong.any():
        at = tuple(int(i) for i in numpy.argwhere(wrong)[0])
        raise Finding(f"{what}: {int(wrong.sum())} of {wrong.size} elements, first at {at}: found {found[at]:.9g}, "
                      f"expected {float(expected[at]):.9g} within {bound:.3g}", found, expected)


def same(found, expected, what):
    """Finding when two arrays are not the same to the bit."""
    if found.shape != expected.shape or found.tobytes() != expected.tobytes():
        differ = int((found != expected).sum()) if found.shape == expected.shape else found.size
        raise Finding(f"{what}: {differ} elements differ", found, expected)


def failure(check, graph):
    """What check says of the graph, or None."""
    try:
        check(graph)
    except (Finding, Refused) as found:
        return found
    return None


def shrink(graph, check, found):
    """The first value that is wrong by itself as the only output, then as few nodes before it as still fail."""
    kind = type(found)
    forms = {array.dtype for array in graph.inputs.values()}

    def fails(part):
        try:
            again = failure(check, part)
        except Exception: # a part that the check cannot be asked about is no smaller case
            return None
        return again if isinstance(again, kind) else None

    for node in graph.nodes:
        tried = graph.kept(node.outputs[:1])
        again = fails(tried)
        if again:
            graph, found = tried, again
            break
    for node in reversed(graph.nodes[:-1]):
        # A model of integers stays one.
        if node not in graph.nodes or graph.values[node.outputs[0]].dtype not in forms:
            continue
        tried = graph.kept(graph.outputs, cut=node.outputs)
        if len(tried.nodes) < len(graph.nodes):
            again = fails(tried)
            if again:
                graph, found = tried, again
    return graph, found


def keep(program, folder, name, found, command):
    """The case's files as they are now, with what was found beside them."""
    path = os.path.join(folder, name)
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(program.folder, path, symlinks=True)
    for label, array in ("found", getattr(found, "found", None)), ("expected", getattr(found, "expected", None)):
        if array is not None:
            numpy.save(os.path.join(path, label + ".npy"), array)
    with open(os.path.join(path, "what.txt"), "w", encoding="utf-8") as file:
        file.write(f"{found}\n{command}\n")
    return path
