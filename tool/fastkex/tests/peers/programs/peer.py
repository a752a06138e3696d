# Python's ssl as a client or as a server of one page. The folder in which it runs has cert.pem,
# which the client trusts, and key.pem. Both print every message of TLS in hexadecimal, because most
# releases have no function that returns the group.
#
#   peer.py version               prints the versions of Python and of its OpenSSL
#   peer.py client GROUPS PORT    fetches the page from localhost
#   peer.py server GROUPS         prints its port and serves until it is ended
#
# GROUPS are ignored: most releases cannot choose among these groups.
import platform, socket, ssl, sys

TIMEOUT = 10


def context(purpose, **options):
    made = ssl.create_default_context(purpose, **options)
    made.minimum_version = ssl.TLSVersion.TLSv1_3
    made._msg_callback = lambda *message: print("message", message[-1].hex(" "), flush=True)
    return made


def client(port):
    tls = context(ssl.Purpose.SERVER_AUTH, cafile="cert.pem")
    with socket.create_connection(("127.0.0.1", int(port)), TIMEOUT) as connection:
        with tls.wrap_socket(connection, server_hostname="localhost") as stream:
            stream.sendall(b"GET / HTTP/1.0\r\n\r\n")
            while page := stream.recv(1 << 14):
                print(page.decode(errors="replace"))


def server():
    tls = context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain("cert.pem", "key.pem")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print("port", listener.getsockname()[1], flush=True)
        while True:
            connection, _ = listener.accept()
            connection.settimeout(TIMEOUT)
            try:
                with tls.wrap_socket(connection, server_side=True) as stream:
                    request = b""
                    while not request.endswith(b"\r\n\r\n"):
                        request += stream.recv(1) or b"\r\n\r\n"
                    stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nserved")
                    # The client closes the connection.
                    stream.recv(1)
            except OSError as error:
                print(error, file=sys.stderr)


if sys.argv[1] == "version":
    print(platform.python_version(), ssl.OPENSSL_VERSION.split()[1])
elif sys.argv[1] == "client":
    client(sys.argv[3])
else:
    server()
