# SPDX-License-Identifier: MIT
"""npulab as a child process, in a folder of the case's own."""
import os
import re
import shutil
import subprocess
import tempfile

import numpy

from graph import stored

SECONDS = 60 # far more than any of these small cases takes, under the sanitizers too

WAITING = re.compile(r"^npulab: .*, (\d+:)?\d\d:\d\d\n", re.MULTILINE)


class Refused(Exception):
    """An exit status that is not 0."""

    def __init__(self, result):
        super().__init__(f"exit status {result.status}: {result.err.strip()[:300]}")
        self.result = result


class Result:
    def __init__(self, args, status, out, err):
        self.args, self.status, self.out, self.err = args, status, out, err


class Program:
    """The program, through NPULAB_TEST_RUNNER where that is set, and a folder for the files of one case after the other."""

    def __init__(self, path, cuda=None):
        self.command = [*os.environ.get("NPULAB_TEST_RUNNER", "").split(), os.path.abspath(path)]
        self.cuda = cuda and os.path.abspath(cuda)
        self.folder = tempfile.mkdtemp(prefix="npulab-soak-")
        self.last = []

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def file(self, name):
        return os.path.join(self.folder, name)

    def empty(self):
        for name in os.listdir(self.folder):
            path = self.file(name)
            shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)

    def run(self, *args, seconds=SECONDS):
        """Status minus the number of the signal that killed it; -999 when it did not end in time."""
        self.last = [str(a) for a in args]
        environment = dict(os.environ)
        if self.cuda:
            environment["LD_LIBRARY_PATH"] = self.cuda
        try:
            done = subprocess.run([*self.command, *self.last], cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
                                  capture_output=True, timeout=seconds, check=False)
        except subprocess.TimeoutExpired as late:
            return Result(self.last, -999, "", f"no end within {seconds} s; {late.stderr or b''!r}")
        # What is being done is told to whoever waits for two seconds; how many such lines come depends on the computer.
        errors = WAITING.sub("", done.stderr.decode("utf-8", "replace"))
        return Result(self.last, done.returncode, done.stdout.decode("utf-8", "replace"), errors)

    def must(self, *args):
        result = self.run(*args)
        if result.status != 0:
            raise Refused(result)
        return result

    def write(self, graph, outputs=None, shapes=None, inputs=None):
        """model.onnx and NAME.npy of each input; the arguments that name them."""
        with open(self.file("model.onnx"), "wb") as file:
            file.write(graph.model(outputs, shapes).SerializeToString())
        args = ["model.onnx"]
        for name, array in (inputs or graph.inputs).items():
            numpy.save(self.file(name + ".npy"), stored(array))
            args += ["--input", f"{name}={name}.npy"]
        return args

    def values(self, graph, output, *args, shapes=None, inputs=None):
        """One output as npulab run computes it."""
        order = [output] + [name for name in graph.outputs if name != output]
        model = self.write(graph, order, shapes, inputs)
        self.must("run", *model, "--quiet", "--no-accuracy", "--output", "y.npy", *args)
        return numpy.load(self.file("y.npy"))
