// verdicts: AC CE
// why: a megabyte of source
// time_limit_s: 3
@repeat(9000, "// a line of one hundred characters, which says nothing at all and goes on until it has all of them\n")@
console.log('contained');
