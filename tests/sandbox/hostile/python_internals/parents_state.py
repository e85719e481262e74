# verdicts: AC
# why: a forked child shares its parent's objects: sockets, frames, modules and paths that tell where it comes from
import gc
import os
import socket
import sys

got = []
frame = sys._getframe().f_back
while frame:
    for name, value in [*frame.f_locals.items(), *frame.f_globals.items()]:
        text = repr(value) if isinstance(value, (str, bytes, list, tuple)) else ""
        if "a forked child shares" in text:  # its own source
            continue
        if "@repository@" in text or "@state@" in text or isinstance(value, socket.socket):
            got.append((frame.f_code.co_name, name))
    frame = frame.f_back
for item in gc.get_objects():
    if isinstance(item, socket.socket) and item.fileno() >= 0:
        got.append(item)
    if type(item).__name__ in ("TestCase", "RunJob", "JudgeRequest", "Judge"):
        got.append(type(item).__name__)
got += [name for name in sys.modules if name.split(".")[0] in ("sandbox", "fastapi", "uvicorn", "pydantic", "madrl", "httpx")]
got += [path for path in [*sys.path, sys.executable, sys.prefix, os.getcwd()] if "@repository@" in path or "@state@" in path]
print(got or "contained")
