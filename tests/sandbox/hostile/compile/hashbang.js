#!/bin/sh -c 'cat /etc/passwd'
// verdicts: AC CE
// why: a first line for an operating system, and HTML comments
// time_limit_s: 2
<!-- this is a comment
console.log('contained');
--> and so is this
