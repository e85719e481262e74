// verdicts: AC
// why: a processor in the source, with annotations that would call it and a static initialiser that prints
// time_limit_s: 2
import java.util.Set;
import javax.annotation.processing.*;
import javax.lang.model.SourceVersion;
import javax.lang.model.element.TypeElement;

@SupportedAnnotationTypes("*")
@SupportedSourceVersion(SourceVersion.RELEASE_17)
class Processor extends AbstractProcessor {
  static {
    System.out.println("a processor ran");
  }

  public boolean process(Set<? extends TypeElement> annotations, RoundEnvironment round) {
    throw new IllegalStateException("a processor ran");
  }
}

@SuppressWarnings("all")
class Main {
  public static void main(String[] arguments) {
    System.out.println("contained");
  }
}
