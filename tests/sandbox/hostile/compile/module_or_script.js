// verdicts: AC CE RE
// why: an import in a template string, top-level await and import(): is it a module?
// time_limit_s: 2
const text = `
import x from "nowhere";
export default 1;
`;
import('fs').then((fs) => console.log(fs.existsSync('/etc/passwd') ? 'a file of the host is there' : 'contained'));
