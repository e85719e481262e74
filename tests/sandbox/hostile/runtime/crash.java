// verdicts: RE
// why: crashes the virtual machine, which writes a report and wants to write a core
// time_limit_s: 3
import java.lang.reflect.Field;

class Main {
  public static void main(String[] arguments) throws Exception {
    Class<?> unsafe = Class.forName("sun.misc.Unsafe");
    Field field = unsafe.getDeclaredField("theUnsafe");
    field.setAccessible(true);
    unsafe.getMethod("putAddress", long.class, long.class).invoke(field.get(null), 0L, 0L);
  }
}
