# SPDX-License-Identifier: MIT
#
# Runs the commands of pages (docs_check.py): each once, some side by side, in folders of their own with the program before all others on
# the path.
import concurrent.futures
import os
import subprocess

SECONDS = 120


class Failed(Exception):
    """A command that did not do what its page says; says how."""


class Runner:
    """folder: where the commands of pages without files run. A page with files has a folder of its own."""

    def __init__(self, root, program_folder, scratch, jobs):
        self.root, self.scratch = root, scratch
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("NPULAB_")}
        self.environment.update(PATH=program_folder + ":/usr/bin:" + os.environ.get("PATH", ""), LC_ALL="C.UTF-8")
        self.pool = concurrent.futures.ThreadPoolExecutor(jobs)
        self.futures, self.ready = {}, {}

    def folder(self, name):
        """A folder with what commands may read of the tree."""
        path = os.path.join(self.scratch, name)
        os.makedirs(path, exist_ok=True)
        with open(os.path.join(os.path.dirname(__file__), "data-folders.txt"), encoding="utf-8") as file:
            folders = file.read().split()
        for data in (*folders, "schemas", "scripts"):
            link, target = os.path.join(path, data), os.path.join(self.root, data)
            if os.path.isdir(target) and not os.path.lexists(link):
                os.symlink(target, link)
        return path

    def shell(self, command, folder):
        try:
            done = subprocess.run(
                ["/bin/bash", "-c", "set -eo pipefail\n" + command],
                cwd=folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise Failed(f"takes more than {SECONDS} seconds") from error
        said = done.stderr.decode(errors="replace").strip().split("\n")[-1]
        return done.returncode, done.stdout.decode(errors="replace"), said

    def prepare(self, page):
        """Writes the page's files and runs its setups, in its folder; starts nothing before they are done."""
        if not page.files and not page.setups:
            self.ready[page.path] = (self.folder("shared"), None)
            return
        folder = self.folder(page.path.replace("/", "_"))

        def work():
            for name, lines in page.files:
                with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                    f.write("\n".join(lines) + "\n")
            for line, script in page.setups:
                try:
                    status, _, said = self.shell(script, folder)
                    if status:
                        return line, script, f"ends with {status}: {said}"
                except Failed as why:
                    return line, script, str(why)
            return None

        self.ready[page.path] = (folder, self.pool.submit(work))

    def start(self, page, command):
        """Has a command run, unless it was started already."""
        folder, before = self.ready[page.path]
        key = (folder, command.text, command.status)
        if key in self.futures:
            return

        def work():
            if before and before.result():
                raise Failed("was not run, since the page's setup failed")
            status, out, said = self.shell(command.text, folder)
            if status != command.status:
                raise Failed(f"ends with {status}, expected {command.status}" + (f": {said}" if said else ""))
            return out

        self.futures[key] = self.pool.submit(work)

    def output(self, page, command):
        return self.futures[(self.ready[page.path][0], command.text, command.status)].result()

    def setup_failure(self, page):
        before = self.ready[page.path][1]
        return before.result() if before else None

    def count(self):
        return len(self.futures)
