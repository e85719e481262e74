// verdicts: CE RE
// why: a syntax error after code that has side effects
console.log('contained');
require('fs').writeFileSync('/tmp/x', '');
}{
