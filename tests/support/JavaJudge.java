import com.sun.source.util.JavacTask;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/**
 * Asks javac's parser, and nothing behind it, of texts that come in over standard input.
 *
 * Texts and answers are UTF-8 with their length in bytes before them, a big-endian 32-bit integer.
 * An answer has a line for each error: its key, a space, and what javac says.
 */
final class JavaJudge {
    public static void main(String[] arguments) throws IOException {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        JavaFileManager files = compiler.getStandardFileManager(null, null, StandardCharsets.UTF_8);
        DataInputStream in = new DataInputStream(System.in);
        DataOutputStream out = new DataOutputStream(System.out);
        while (true) {
            int length;
            try {
                length = in.readInt();
            } catch (EOFException noMore) {
                return;
            }
            byte[] answer = errors(compiler, files, new String(in.readNBytes(length), StandardCharsets.UTF_8))
                    .getBytes(StandardCharsets.UTF_8);
            out.writeInt(answer.length);
            out.write(answer);
            out.flush();
        }
    }

    private static String errors(JavaCompiler compiler, JavaFileManager files, String text) {
        DiagnosticCollector<JavaFileObject> said = new DiagnosticCollector<>();
        JavacTask task = (JavacTask) compiler.getTask(
                null, files, said, List.of("-proc:none", "-Xmaxerrs", "100000"), null, List.of(new Text(text)));
        try {
            task.parse();
        } catch (IOException | RuntimeException | StackOverflowError failure) {
            return "crash " + failure;
        }
        StringBuilder errors = new StringBuilder();
        for (Diagnostic<?> each : said.getDiagnostics()) {
            if (each.getKind() == Diagnostic.Kind.ERROR) {
                String key = each.getCode();
                if (key.equals("compiler.err.enum.constant.not.expected")
                        && text.substring((int) each.getPosition()).matches("(?s)[\\w$]+\\s*\\(.*")) {
                    key += ".constructor";
                }
                errors.append(key).append(" line ").append(each.getLineNumber()).append(": ")
                        .append(each.getMessage(null).replace('\n', ' ')).append('\n');
            }
        }
        return errors.toString();
    }

    private static final class Text extends SimpleJavaFileObject {
        private final String text;

        Text(String text) {
            super(URI.create("string:///Text.java"), JavaFileObject.Kind.SOURCE);
            this.text = text;
        }

        @Override
        public CharSequence getCharContent(boolean ignoreEncodingErrors) {
            return text;
        }
    }
}
