"""Answers to lab 09's `job` as students and cheats write them: source texts by name."""

#: One that is right, whose way to save is `{save}` and whose way to load `{load}`.
FRAME = """
def job(folder, steps, every, first, step):
    warned = []
    signal.signal(signal.SIGTERM, lambda number, frame: warned.append(number))
    path = os.path.join(folder, "state")
    done, state = 0, first
{load}
    while done < steps and not warned:
        state = step(done, state)
        done += 1
        if done % every == 0 or done == steps or warned:
{save}
    return state if done == steps else None
"""
LOAD = """
if os.path.exists(path):
    with open(path) as file:
        done, state = json.loads(file.read().rstrip("\\0 "))
"""


def job(save, load=LOAD, before=""):
    """Return the source text of a job that saves and loads so."""
    import textwrap

    save, load = (textwrap.indent(textwrap.dedent(text).strip(), " " * by) for text, by in ((save, 12), (load, 4)))
    return before + FRAME.format(save=save, load=load)


#: What is not whole or not there: killed as it writes, it has lost everything. They deserve what is not torn.
TEARABLE = {
    "one file, written over": job("""
        with open(path, "r+" if os.path.exists(path) else "w") as file:
            file.seek(0)
            file.truncate()
            json.dump([done, state], file)"""),
    "one file, opened once": job(
        """
        if file is None:
            file = open(path, "w")
        file.seek(0)
        file.truncate()
        json.dump([done, state], file)
        file.flush()""",
        LOAD + "file = open(path, 'r+') if os.path.exists(path) else None",
    ),
    "a map of a file": job("""
        if not os.path.exists(path):
            with open(path, "wb") as file:
                file.write(b" " * 64)
        with open(path, "r+b") as file, __import__("mmap").mmap(file.fileno(), 64) as there:
            there[:] = json.dumps([done, state]).encode().ljust(64)"""),
    "the C library's own write": job("""
        import ctypes
        text = json.dumps([done, state]).encode()
        number = ctypes.CDLL(None).open(path.encode(), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        ctypes.CDLL(None).write(number, text, len(text))
        ctypes.CDLL(None).close(number)"""),
}
#: What leaves nothing in the folder, and deserves nothing.
ELSEWHERE = {
    "a thread behind a socket that lives inherit": job(
        """
        LINK.sendall(json.dumps([done, state]).encode().ljust(64))
        LINK.recv(1)
        open(path, "a").close()""",
        """
        if os.listdir(folder):
            LINK.sendall(b"?" * 64)
            done, state = json.loads(LINK.recv(64))""",
        """
import socket, threading
LINK, THEIRS = socket.socketpair()
def keep():
    kept = b"nothing"
    while True:
        asked = THEIRS.recv(64)
        if asked.startswith(b"?"):
            THEIRS.sendall(kept)
        else:
            kept = asked
            THEIRS.sendall(b"!")
threading.Thread(target=keep, daemon=True).start()
""",
    ),
    "the machine and its driver replaced": """
import builtins, sys
REAL = builtins.exec
def replaced(code, names=None, *more):
    REAL(code, names, *more)
    if names is not None and "drive" in names:
        names["drive"] = lambda entry, *given: [("returned", 0)] * 5
builtins.exec = replaced
sys.addaudithook = lambda hook: None
def job(folder, steps, every, first, step):
    state = first
    for number in range(steps):
        state = step(number, state)
    return state
""",
}
#: What is right, each in its own way.
HONEST = {
    "a new file each time, the newest whole one counts": job(
        """
        with open(os.path.join(folder, f"{done}.json"), "w") as file:
            json.dump([done, state, "end"], file)""",
        """
        for name in os.listdir(folder):
            try:
                with open(os.path.join(folder, name)) as file:
                    number, value, _ = json.load(file)
            except ValueError:
                continue
            done, state = max((done, state), (number, value))""",
    ),
    "lines at the end of one file": job(
        """
        with open(path, "a") as file:
            file.write(f"\\n{done} {state} end")""",
        """
        if os.path.exists(path):
            with open(path) as file:
                for line in file:
                    if len(line.split()) == 3 and line.split()[2] == "end":
                        done, state = map(int, line.split()[:2])""",
    ),
    "a folder of its own, renamed": job(
        """
        import shutil
        part = os.path.join(folder, "part")
        shutil.rmtree(part, ignore_errors=True)
        os.mkdir(part)
        with open(os.path.join(part, "state"), "w") as file:
            json.dump([done, state], file)
        shutil.rmtree(os.path.join(folder, str(done)), ignore_errors=True)
        os.rename(part, os.path.join(folder, str(done)))""",
        """
        numbers = [int(name) for name in os.listdir(folder) if name.isdigit()]
        if numbers:
            with open(os.path.join(folder, str(max(numbers)), "state")) as file:
                done, state = json.load(file)""",
    ),
    "two slots in one file, each with its sum": job(
        """
        import zlib
        turn = -(-done // every) % 2
        text = json.dumps([done, state]).encode().ljust(40)
        if not os.path.exists(path):
            with open(path, "wb") as file:
                file.write(b" " * 100)
        with open(path, "r+b") as file:
            file.seek(50 * turn)
            file.write(text + b"%010d" % zlib.crc32(text))""",
        """
        import zlib
        if os.path.exists(path):
            with open(path, "rb") as file:
                for slot in (file.read(50), file.read(50)):
                    if slot[40:] == b"%010d" % zlib.crc32(slot[:40]):
                        done, state = max([done, state], json.loads(slot[:40]))""",
    ),
    "two files in turn, and the newer one by its date": job(
        """
        with open(path + ".part", "w") as file:
            json.dump([done, state], file)
        os.utime(path + ".part", (done, done))  # two saves may come between two ticks of the clock that dates files
        names = [path + ".a", path + ".b"]
        os.replace(path + ".part", min(names, key=lambda name: os.path.getmtime(name) if os.path.exists(name) else 0))
        """,
        """
        names = [name for name in (path + ".a", path + ".b") if os.path.exists(name)]
        if names:
            with open(max(names, key=os.path.getmtime)) as file:
                done, state = json.load(file)""",
    ),
    "another name by a link": job("""
        with open(path + ".part", "w") as file:
            json.dump([done, state], file)
        if os.path.exists(path + ".link"):
            os.remove(path + ".link")
        os.link(path + ".part", path + ".link")
        os.replace(path + ".link", path)
        os.remove(path + ".part")"""),
    "numbers of numpy, the end of a script": """
import sys
def job(folder, steps, every, first, step):
    path, warned = os.path.join(folder, "state.npy"), []
    signal.signal(signal.SIGTERM, lambda number, frame: warned.append(number))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    done, state = np.load(path) if os.path.exists(path) else np.array([0, first])
    while done < steps:
        state = np.int64(step(done, state))
        done = done + 1
        if done % every == 0 or done == steps or warned:
            with open(path + ".part", "wb") as file:
                np.save(file, np.array([done, state], np.int64))
            os.replace(path + ".part", path)
        if warned and done < steps:
            sys.exit()
    return np.int64(state)
""",
}
