// verdicts: AC
// why: a static program needs no library of another language and no tool: it finds none
#include <cstdio>
#include <cstring>
#include <filesystem>

int main() {
  int found = 0;
  for (const char *path : {"/usr/bin", "/usr/libexec", "/usr/share", "/usr/local", "/usr/lib/jvm", "/usr/lib/gcc", "/usr/lib/python3"})
    found += std::filesystem::exists(path);
  for (auto &entry : std::filesystem::recursive_directory_iterator("/usr/lib"))
    for (const char *part : {"python", "jvm", "node", "perl", "gcc-", "LLVM"})
      if (strstr(entry.path().filename().c_str(), part)) found++, puts(entry.path().c_str());
  puts(found ? "found something" : "contained");
}
