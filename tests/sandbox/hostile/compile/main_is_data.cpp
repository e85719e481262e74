// verdicts: RE CE
// why: data that is executed
extern "C" {
int main = 195;
}
