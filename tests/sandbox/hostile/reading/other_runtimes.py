# verdicts: AC
# why: looks for another language's interpreter, compiler or library, to load it where it cannot be started
import glob
import os

found = [name for name in os.listdir("/usr/bin") if not name.startswith("python3")]
parts = ("python", "jvm", "node", "perl", "lua", "ruby", "tcl", "guile", "mozjs", "javascriptcore", "gccjit", "LLVM", "go-")
libraries = [path for folder in ("/usr/lib", "/usr/lib64", "/usr/lib/*-linux-gnu*") for path in glob.glob(f"{folder}/*")]
own = {"/usr/lib/python3", "/usr/lib/" + os.path.basename(os.path.dirname(os.__file__))}
found += [path for path in libraries if path not in own and any(part in os.path.basename(path) for part in parts)]
found += [path for path in ("/usr/libexec", "/usr/share", "/usr/local", "/usr/sbin", "/opt") if os.path.exists(path)]
print(found or "contained")
