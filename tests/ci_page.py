# SPDX-License-Identifier: MIT
#
# The examples of docs/ci.md, run as the services would run them (tests/test_ci_page.c):
#
#     NPULAB_BIN=build/npulab /usr/bin/python3 tests/ci_page.py FOLDER
#
# The folder gets a repository with the page's traces, and a second commit in which a machine has changed. On each commit the shell of the
# jobs is run as it stands in the page. What would take long, or needs a network, is another program of the same name: `apt-get` does
# nothing, and npulab's repository has scripts that only say what they were asked for. They are held against the ones of this repository.
import os
import re
import shlex
import subprocess
import sys
import xml.etree.ElementTree

import yaml

ROOT = os.getcwd()
PAGE = "docs/ci.md"
TOKEN = "https://x-access-token:secret@github.com/"


def blocks():
    """{name: text} of the page's files, and the list of its setups."""
    with open(os.path.join(ROOT, PAGE), encoding="utf-8") as f:
        found = re.findall(r"<!-- (file: (\S+)|setup) -->\n```\S*\n(.*?)\n```\n", f.read(), re.DOTALL)
    return {name: text + "\n" for _, name, text in found if name}, [text for _, name, text in found if not name]


class Place:
    """A folder with the programs of a computer of CI."""

    def __init__(self, folder):
        self.folder, self.origin = folder, os.path.join(folder, "origin")
        self.asked = os.path.join(folder, "asked")
        self.npulab = os.path.join(folder, "npulab-origin")
        programs = os.path.join(folder, "bin")
        os.mkdir(programs)
        words = [*shlex.split(os.environ.get("NPULAB_TEST_RUNNER", "")), os.environ["NPULAB_BIN"]]
        self.program(os.path.join(programs, "npulab"), f'exec {shlex.join(words)} "$@"')
        self.program(os.path.join(programs, "apt-get"), f'echo "apt-get $*" >> {self.asked}')
        self.environment = {
            "PATH": f"{programs}:/usr/bin:/bin",
            "HOME": folder,
            "LC_ALL": "C.UTF-8",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_COUNT": "2",
            "GIT_CONFIG_KEY_0": f"url.file://{self.origin}/.insteadOf",
            "GIT_CONFIG_VALUE_0": TOKEN,
            "GIT_CONFIG_KEY_1": "uploadpack.allowAnySHA1InWant",
            "GIT_CONFIG_VALUE_1": "true",
            **{f"GIT_{who}_{what}": "nobody@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
        }
        self.make_npulab()

    def program(self, path, line):
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"#!/bin/sh\n{line}\n")
        os.chmod(path, 0o755)

    def make_npulab(self):
        os.makedirs(os.path.join(self.npulab, "scripts"))
        self.program(os.path.join(self.npulab, "scripts", "install-deps.sh"), f'echo "install-deps.sh $*" >> {self.asked}')
        with open(os.path.join(self.npulab, "Makefile"), "w", encoding="utf-8") as f:
            f.write(f"install:\n\t@echo make install >> {self.asked}\n")
        self.run("git init -q . && git add . && git commit -qm npulab", self.npulab)

    def run(self, script, folder, status=0, **environment):
        """Runs a script with the shell that a job in a container has."""
        done = subprocess.run(
            ["/bin/sh", "-e", "-c", script],
            cwd=folder,
            env={**self.environment, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != status:
            sys.exit(f"ends with {done.returncode}, expected {status}: {script}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def check_asked(self):
        """The stand-ins were asked for what the README and the scripts have."""
        with open(self.asked, encoding="utf-8") as f:
            asked = f.read().splitlines()
        os.unlink(self.asked)
        with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as f:
            assert "Debian 12 with git, make and ca-certificates" in f.read()
        expected = ["apt-get update", "apt-get install -y --no-install-recommends git make ca-certificates", "install-deps.sh demo", "make install"]
        assert asked == expected, asked
        listed = subprocess.run([os.path.join(ROOT, "scripts/install-deps.sh"), "--list", "demo"], capture_output=True, text=True, check=True)
        assert "gcc" in listed.stdout
        with open(os.path.join(ROOT, "Makefile"), encoding="utf-8") as f:
            assert "\ninstall: all" in f.read()


def github(place, text, commit, moved):
    """Runs the job of the workflow on a commit, step by step."""
    (job,) = yaml.safe_load(text)["jobs"].values()
    temporary = os.path.join(place.folder, f"github-{moved}")
    workspace = os.path.join(temporary, "workspace")
    os.makedirs(workspace)
    summary = os.path.join(temporary, "summary.md")
    variables = {name: value.replace("${{ github.token }}", "secret") for name, value in job["env"].items()}
    assert not any("${{" in value for value in variables.values())
    variables.update(NPULAB=place.npulab, RUNNER_TEMP=temporary, GITHUB_REPOSITORY="", GITHUB_SHA=commit, GITHUB_STEP_SUMMARY=summary)
    output, failed = "", []
    for step in job["steps"]:
        assert set(step) <= {"name", "run", "if", "working-directory"} and step.get("if", "always()") == "always()", step
        if failed and "if" not in step:
            continue
        checks = "trace check" in step["run"]
        status = 1 if moved and checks else 0
        output += place.run(step["run"], os.path.join(workspace, step.get("working-directory", ".")), status, **variables)
        failed += [step["name"]] if status else []
    with open(summary, encoding="utf-8") as f:
        return output, f.read()


def gitlab(place, text, commit, moved):
    """Runs the job on a commit, which GitLab has checked out, and returns its artifacts."""
    (job,) = yaml.safe_load(text).values()
    clone = os.path.join(place.folder, f"gitlab-{moved}")
    place.run(f"git clone -q {place.origin} {clone} && cd {clone} && git checkout -q {commit}", place.folder)
    # The page's folder is one of the whole computer.
    script = "\n".join([*job["before_script"], *job["script"]]).replace("/tmp/npulab", os.path.join(place.folder, f"tmp-{moved}"))
    place.run(script, clone, 1 if moved else 0, NPULAB=place.npulab)
    assert job["artifacts"]["when"] == "always"
    junit = job["artifacts"]["reports"]["junit"]
    (suite,) = xml.etree.ElementTree.parse(os.path.join(clone, junit)).getroot()
    (page,) = job["artifacts"]["paths"]
    with open(os.path.join(clone, page), encoding="utf-8") as f:
        return suite, f.read()


def hook(place, text):
    """Commits a change with the hook: refused until the traces are recorded again."""
    clone = os.path.join(place.folder, "clone")
    place.run(f"git clone -q {place.origin} {clone}", place.folder)
    path = os.path.join(clone, ".git/hooks/pre-commit")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, 0o755)
    place.run("git checkout -q HEAD~1 && echo text > README && git add README && git commit -qm text", clone)
    place.run("sed -i 's/ tiles: .*/ tiles: 2/' chip.yaml && git add chip.yaml", clone)
    said = place.run("git commit -qm tiles", clone, 1)
    assert " of 2 traces differ" in said and "npulab trace bless" in said, said
    moved = re.findall(r"^(traces/\S+): .* moved; first in line ", said, re.MULTILINE)
    assert moved == ["traces/digits.trace.zst"], said
    with open(os.path.join(ROOT, PAGE), encoding="utf-8") as f:
        bless = re.search(r"```sh\n(npulab trace bless .*?)\n```", f.read(), re.DOTALL)[1]
    place.run(bless + "\ngit commit -qm tiles", clone)


def main():
    files, setups = blocks()
    place = Place(os.path.realpath(sys.argv[1]))
    os.mkdir(place.origin)
    place.run("git init -q .", place.origin)
    place.run("\n".join(setups) + "\ngit add . && git commit -qm traces", place.origin)
    place.run("sed -i 's/ tiles: .*/ tiles: 1/' chip.yaml && git commit -qam moved", place.origin)
    moved, same = place.run("git rev-parse HEAD HEAD~1", place.origin).split()

    output, summary = github(place, files["traces.yml"], same, False)
    place.check_asked()
    assert "::error" not in output and summary == "### Run traces: 0 of 2 moved\n\nNothing moved.\n", output + summary
    output, summary = github(place, files["traces.yml"], moved, True)
    place.check_asked()
    assert len(re.findall(r"^::error file=traces/", output, re.MULTILINE)) == 2, output
    assert "| <code>conv2</code> | <code>chip</code> | times and energy |" in summary, summary

    suite, page = gitlab(place, files["gitlab-ci.yml"], same, False)
    place.check_asked()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "0") and "Nothing moved" in page
    suite, page = gitlab(place, files["gitlab-ci.yml"], moved, True)
    place.check_asked()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "2") and "2 of 2 moved" in page

    hook(place, files["pre-commit"])


main()
