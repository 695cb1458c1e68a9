"""Looking for the answers where they might lie: in `course`, on the disk, in memory, in /proc, in the grader.

A cell looks, says ESCAPED when it finds what it should not, and puts what it found in the place of the answers.
"""

from pathlib import Path

from tests.helpers.submissions import attack, cheat

ANSWER = "def NAME(*arguments, **settings):\n    return FOUND['NAME'](*arguments)"

#: name -> a cell that looks for answers; FOUND holds what to answer with
SEARCHES = {
    "the answer from course.life": """
FOUND = {}
for module, name in (("life", "step"), ("life.numpy_engine", "step"), ("life.op", "step"), ("life.rle", "read"),
                     ("life.files", "read_pattern"), ("life", "read_rle"), ("life.run", "find_cycle")):
    try:
        there = __import__("course." + module, fromlist=[name])
        FOUND[name] = getattr(there, name)
    except (ImportError, AttributeError): pass
FOUND["next_generation"] = FOUND["rule_step"] = FOUND["fast_step"] = FOUND.get("step")
FOUND["read_rle"] = FOUND["film"] = FOUND["run_until_repeat"] = FOUND.get("read_pattern")""",
    "the oracles from course.checks": """
from course import checks
FOUND = {}
for name in ("one_generation", "by_rule", "first_repeat"):
    try:
        found = getattr(__import__("labs.lab03_game_of_life.checks", fromlist=[name]), name)
        if found([[0, 0, 0]] * 3) is not None: print("ESCAPED: an oracle", name)
    except Exception as problem: print(type(problem).__name__)
    FOUND.update(dict.fromkeys(EXERCISES, locals().get("found")))""",
    "the marking, from grader and from labs": """
FOUND = {}
for name in ("grader.marking.mark", "grader.lab.source", "labs.lab03_game_of_life.marking", "marking", "wrong"):
    try:
        module = __import__(name, fromlist=["LAB"])
        if "Marking" in repr(getattr(module, "LAB", None)): print("ESCAPED: the lab", name)
        FOUND["film"] = module.load_lab("labs/lab03_game_of_life").exercise("film").statement.expected
    except Exception as problem: print(type(problem).__name__)""",
    "the marking, by the grader's own path": """
import os, sys
packages = list(sys.path)
for path in (CHECKOUT, CHECKOUT + "/course", CHECKOUT + "/labs/lab03_game_of_life", CHECKOUT + "/tests"):
    sys.path.insert(0, path)
    try: names = os.listdir(path)
    except OSError: continue
    shown = {os.path.relpath(one, path).split("/")[0] for one in packages}  # the way to what a sandbox may import
    if {*names} - shown: print("ESCAPED: a listing of", path, names)
try:
    import marking
    print("ESCAPED: marking")
except ImportError: pass
FOUND = {}""",
    "files of the lab, anywhere on the disk": """
import os
wanted = {"marking.py", "wrong.py", "lab.py", "lab03.py", "gradebook.db", "marks.csv", "secret", "class.toml",
          "lab03_game_of_life.ipynb", "roster.csv", "id_rsa", "id_ed25519", ".netrc", ".bash_history", "credentials"}
for folder, folders, files in os.walk("/"):
    folders[:] = [one for one in folders if os.path.join(folder, one) not in ("/proc", "/sys")]
    for name in wanted & set(files):
        if "lab03" in folder or "lab" not in name and "site-packages" not in folder and "dist-packages" not in folder:
            print("ESCAPED:", folder, name)
FOUND = {}""",
    "the sandbox's memory: every object that there is": """
import gc, sys
FOUND = {}
frame = sys._getframe()
while frame:
    for name, value in frame.f_locals.items():
        if name in ("truth", "expected", "secret", "LAB", "cases", "judge"): print("ESCAPED:", name)
    frame = frame.f_back
for one in gc.get_objects():
    kind = type(one).__name__
    if kind in ("Exercise", "Lab", "Case", "Talk", "Marks", "ExerciseMark"): print("ESCAPED:", kind)""",
    "the environment, the arguments and the memory of other processes": """
import glob, os
FOUND = {}
for path in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline"):
    try: data = open(path, "rb").read()
    except OSError: continue
    for word in (b"SECRET", b"TOKEN", b"pytest", b"grading", b"course", CHECKOUT.encode()):
        if word in data: print("ESCAPED:", path, word)
for pid in (1, os.getppid()):
    try:
        if pid != os.getpid() and open(f"/proc/{pid}/mem", "rb"): print("ESCAPED: memory of", pid)
    except OSError: pass""",
    "what the grader has open": """
import fcntl, os, stat
FOUND = {}
for number in range(256):
    try: found = os.fstat(number)
    except OSError: continue
    name = os.readlink(f"/proc/self/fd/{number}")
    if stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode): print("ESCAPED: open", number, name)
    if stat.S_ISSOCK(found.st_mode): print("ESCAPED: a socket", number, name)
for path in ("/proc/1/fd", f"/proc/{os.getppid()}/fd"):
    try: names = os.listdir(path)
    except OSError: continue
    for name in names:
        try: target = os.readlink(f"{path}/{name}")
        except OSError: continue
        if target.startswith("/") and not target.startswith("/dev/null"): print("ESCAPED:", path, target)""",
    "the next questions, read ahead of time": """
import os, select
FOUND = {}
for number in (3, 4, 5, 6):
    try:
        if select.select([number], [], [], 0.2)[0]:
            data = os.read(number, 1 << 20)
            if data: print("ESCAPED: questions before they were asked", len(data))
    except (OSError, ValueError): pass""",
    "the class's secret and the best student's work, by path": """
import os
FOUND = {}
for path in DECOYS:
    for look in (lambda p: open(p, "rb").read(), os.listdir, os.stat, lambda p: os.link(p, "/tmp/mine")):
        try: print("ESCAPED:", path, look(path))
        except OSError: pass
    os.symlink(path, "/tmp/link")
    try: print("ESCAPED:", open("/tmp/link").read())
    except OSError: pass
    os.unlink("/tmp/link")""",
    "nbgrader's gradebook through its API": """
FOUND = {}
try:
    from nbgrader.api import Gradebook
    with Gradebook("sqlite:///" + DECOYS[1]) as gradebook: print("ESCAPED: a gradebook", gradebook.students)
except Exception as problem: print(type(problem).__name__)""",
    "rooms of course that aren't there, used as answers": """
import course.life as life, course.draw as draw, course.widgets as widgets, grader as grading
FOUND = dict(next_generation=life.step, film=draw.film, read_rle=widgets.anything, run_until_repeat=grading.mark,
             rule_step=life.step, fast_step=life.numpy_engine)""",
    "packages from the network": """
import subprocess, sys
FOUND = {}
done = subprocess.run([sys.executable, "-m", "pip", "install", "--timeout", "1", "six-answers"], capture_output=True)
if done.returncode == 0: print("ESCAPED: pip")""",
    "the function that a question brings, taken apart": """
import gc, sys
def look(board, number, step):
    frame = sys._getframe()
    while frame:
        for name, value in frame.f_locals.items():
            if name in ("truth", "expected", "wanted"): print("ESCAPED:", name)
        frame = frame.f_back
    return step.__code__.co_consts
FOUND = dict(film=look, run_until_repeat=look)""",
}


def _known(notebook, host):
    names = [exercise.name for exercise in notebook.lab.exercises]
    paths = [str(path) for path in (host.secret, host.gradebook, host.others, host.root / "marks.csv", host.root)]
    return f"CHECKOUT, DECOYS, EXERCISES = {str(Path(__file__).resolve().parents[4])!r}, {paths!r}, {names!r}\n"


def _of(name, text):
    return cheat(name, ANSWER, lambda *about: _known(*about) + text.strip("\n"), slow=name in SLOW)


SLOW = ("files of the lab, anywhere on the disk", "nbgrader's gradebook through its API")
SEARCHED = [_of(name, text) for name, text in SEARCHES.items()]


@attack("the answers from an allowed room's masked names", lab="lab01_devices")
def from_an_allowed_room(notebook, host):
    """Lab 01 shows `course.devices.names`; what its exercises ask for must not be reachable through it."""
    notebook.add("""
import course.devices.names as names, sys
def anything(*arguments, **settings):
    for name in sorted(sys.modules):
        if name.startswith("course"):
            for word, value in list(vars(sys.modules[name]).items()):
                if callable(value) and not word.startswith("_"):
                    try: return value(*arguments)
                    except Exception: pass
    import labs.lab01_devices.checks, course.devices
    return course.devices.placement(*arguments)""")
    notebook.answer_all("def NAME(*arguments, **settings):\n    return anything(*arguments)")
