// verdicts: RE
// why: an uncaught C++ exception
#include <stdexcept>

int main() { throw std::runtime_error("uncaught"); }
