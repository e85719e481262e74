// verdicts: CE
// why: a module declaration where a class is due, with services and processors provided
module evil {
  requires java.compiler;
  provides javax.annotation.processing.Processor with evil.Processor;
}
