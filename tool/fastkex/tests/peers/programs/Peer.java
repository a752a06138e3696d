import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManagerFactory;

/**
 * Java's TLS as a client or as a server of one page. The folder in which it runs has cert.pem,
 * which the client trusts, and key.pem. Java has no function that returns the group, so the log of
 * -Djavax.net.debug=ssl:handshake has to report it.
 *
 * Peer client GROUPS PORT fetches the page from localhost. Peer server GROUPS prints its port and
 * serves until it is ended. GROUPS are ignored: Java's own defaults decide.
 */
public class Peer {
    private static final int TIMEOUT = 10_000;
    private static final char[] PASSWORD = "password".toCharArray();

    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals("client")) {
            client(Integer.parseInt(arguments[2]));
        } else {
            server();
        }
    }

    private static SSLContext context() throws Exception {
        byte[] pem = Files.readAllBytes(Path.of("cert.pem"));
        Certificate certificate = CertificateFactory.getInstance("X.509")
            .generateCertificate(new ByteArrayInputStream(pem));
        String key = Files.readString(Path.of("key.pem")).replaceAll("-----[A-Z ]*-----|\\s", "");
        PrivateKey secret = KeyFactory.getInstance("EC")
            .generatePrivate(new PKCS8EncodedKeySpec(Base64.getDecoder().decode(key)));
        KeyStore keys = KeyStore.getInstance("PKCS12");
        keys.load(null, PASSWORD);
        keys.setKeyEntry("own", secret, PASSWORD, new Certificate[] {certificate});
        KeyStore trusted = KeyStore.getInstance("PKCS12");
        trusted.load(null, PASSWORD);
        trusted.setCertificateEntry("authority", certificate);
        KeyManagerFactory own = KeyManagerFactory.getInstance("PKIX");
        own.init(keys, PASSWORD);
        TrustManagerFactory trust = TrustManagerFactory.getInstance("PKIX");
        trust.init(trusted);
        SSLContext context = SSLContext.getInstance("TLSv1.3");
        context.init(own.getKeyManagers(), trust.getTrustManagers(), null);
        return context;
    }

    private static void client(int port) throws Exception {
        SSLSocketFactory factory = context().getSocketFactory();
        try (SSLSocket socket = (SSLSocket) factory.createSocket("localhost", port)) {
            socket.setSoTimeout(TIMEOUT);
            socket.getOutputStream().write(ascii("GET / HTTP/1.0\r\n\r\n"));
            byte[] page = socket.getInputStream().readAllBytes();
            System.out.println(new String(page, StandardCharsets.UTF_8));
        }
    }

    private static void server() throws Exception {
        SSLServerSocket listener = (SSLServerSocket) context().getServerSocketFactory()
            .createServerSocket(0, 10, InetAddress.getLoopbackAddress());
        System.out.println("port " + listener.getLocalPort());
        while (true) {
            try (SSLSocket socket = (SSLSocket) listener.accept()) {
                socket.setSoTimeout(TIMEOUT);
                InputStream input = socket.getInputStream();
                String request = "";
                while (!request.endsWith("\r\n\r\n")) {
                    int next = input.read();
                    if (next < 0) {
                        break;
                    }
                    request += (char) next;
                }
                byte[] page = ascii("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nserved");
                socket.getOutputStream().write(page);
                // The client closes the connection.
                input.read();
            } catch (IOException error) {
                System.err.println(error);
            }
        }
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }
}
