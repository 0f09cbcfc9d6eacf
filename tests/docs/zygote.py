"""The command `assay` for the blocks of pages, without seconds of imports each time.

One process has imported the program. The `assay` on a block's PATH (`CLIENT`) hands it the words,
the folder, the environment and the three streams; the process forks, and the child is the
program: it runs `assay.cli.main`, as the installed command does. A server would never end: it is
stopped, as by Ctrl-C, when its page has been seen. All goes when standard input ends, so nothing
outlives the tests.

Usage: python -m tests.docs.zygote SOCKET
"""

import json
import os
import re
import select
import signal
import socket
import sys
import urllib.request
from importlib import import_module

CLIENT = """\
#!{python} -IS
import json, os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect({socket!r})
asked = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(server, [len(asked).to_bytes(4, "big")], [0, 1, 2])
server.sendall(asked)
code = server.recv(1)
sys.exit(code[0] if code else 70)  # 70: it has crashed
"""
_IMPORTED = ("tests.preloaded", "matplotlib.figure", "pandas")
_LINK = re.compile(r"http://[^/\s]+:(?P<port>\d+)")


def main(address: str) -> None:
    """Wait for commands, and run each in a child."""
    for module in _IMPORTED:
        import_module(module)
    os.cpu_count = lambda: 1  # as in tests/conftest.py
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen()
        os.write(1, b"ready\n")
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children are not waited for
        while True:
            ready, _, _ = select.select([listening, sys.stdin], [], [])
            if sys.stdin in ready:
                return
            client, _ = listening.accept()
            if os.fork() == 0:
                listening.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                client.send(bytes([_answer(client)]))
                os._exit(0)
            client.close()


def _answer(client: socket.socket) -> int:
    """Become the command that is asked for; return its exit code."""
    length, streams, _, _ = socket.recv_fds(client, 4, 3)
    asked = b""
    while len(asked) < int.from_bytes(length, "big"):
        asked += client.recv(65536)
    words, folder, environment = json.loads(asked)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    # As Python makes them when it starts: what these streams were before says nothing now.
    sys.stdin = os.fdopen(0, encoding="utf-8")
    sys.stdout = os.fdopen(1, "w", encoding="utf-8")
    sys.stderr = os.fdopen(2, "w", encoding="utf-8")
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    return _served(words) if words[:1] and words[0] in _SERVING else _ran(words)


_SERVING = {"serve": ["--port", "0"], "open": ["--no-browser"]}


def _ran(words: list[str]) -> int:
    from assay.cli import main as assay

    sys.argv = ["assay", *words]
    try:
        assay()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


def _served(words: list[str]) -> int:
    """Serve until the page has been seen."""
    reading, writing = os.pipe()
    server = os.fork()
    if server == 0:
        os.dup2(writing, 1)
        os._exit(_ran([*words, *_SERVING[words[0]]]))
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as printed:
        for line in printed:
            os.write(1, line.encode())
            if link := _LINK.search(line):
                with urllib.request.urlopen(f"http://127.0.0.1:{link['port']}/login") as page:
                    assert b"<html" in page.read()
                os.kill(server, signal.SIGINT)
    return os.waitstatus_to_exitcode(os.waitpid(server, 0)[1])


if __name__ == "__main__":
    main(sys.argv[1])
