// Go's crypto/tls as a client or as a server of one page. The folder in which it runs has cert.pem,
// which the client trusts, and key.pem.
//
//	peer client GROUPS PORT   fetches the page from localhost
//	peer server GROUPS        prints its port and serves until it is ended
//
// GROUPS are code points between commas: 0x11ec,0x001d. Both print the group of each connection:
// group 0x11ec.
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// The timeout of one connection.
const timeout = 10 * time.Second

func main() {
	arguments := os.Args[1:]
	var err error
	switch {
	case len(arguments) == 3 && arguments[0] == "client":
		err = client(arguments[1], arguments[2])
	case len(arguments) == 2 && arguments[0] == "server":
		err = server(arguments[1])
	default:
		err = errors.New("usage: peer client GROUPS PORT | peer server GROUPS")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(2)
	}
}

func config(groups string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS13}
	for _, group := range strings.Split(groups, ",") {
		id, err := strconv.ParseUint(group, 0, 16)
		if err != nil {
			return nil, err
		}
		config.CurvePreferences = append(config.CurvePreferences, tls.CurveID(id))
	}
	return config, nil
}

func client(groups, port string) error {
	config, err := config(groups)
	if err != nil {
		return err
	}
	certificate, err := os.ReadFile("cert.pem")
	if err != nil {
		return err
	}
	config.RootCAs = x509.NewCertPool()
	if !config.RootCAs.AppendCertsFromPEM(certificate) {
		return errors.New("cert.pem: no certificate")
	}
	config.ServerName = "localhost"
	connection, err := tls.Dial("tcp", "127.0.0.1:"+port, config)
	if err != nil {
		return err
	}
	defer connection.Close()
	if err := report(connection); err != nil {
		return err
	}
	if _, err := io.WriteString(connection, "GET / HTTP/1.0\r\n\r\n"); err != nil {
		return err
	}
	page, err := io.ReadAll(connection)
	// Some servers end TCP without a close_notify alert.
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	fmt.Println(string(page))
	return nil
}

func server(groups string) error {
	config, err := config(groups)
	if err != nil {
		return err
	}
	certificate, err := tls.LoadX509KeyPair("cert.pem", "key.pem")
	if err != nil {
		return err
	}
	config.Certificates = []tls.Certificate{certificate}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		return err
	}
	fmt.Println("port", listener.Addr().(*net.TCPAddr).Port)
	for {
		connection, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer connection.Close()
			if err := serve(connection.(*tls.Conn)); err != nil {
				fmt.Fprintln(os.Stderr, "peer:", err)
			}
		}()
	}
}

func serve(connection *tls.Conn) error {
	connection.SetDeadline(time.Now().Add(timeout))
	if err := report(connection); err != nil {
		return err
	}
	var request []byte
	buffer := make([]byte, 1000)
	for !bytes.HasSuffix(request, []byte("\r\n\r\n")) {
		length, err := connection.Read(buffer)
		if err != nil {
			return err
		}
		request = append(request, buffer[:length]...)
	}
	page := "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nserved"
	if _, err := io.WriteString(connection, page); err != nil {
		return err
	}
	// The client closes the connection.
	connection.Read(buffer)
	return nil
}

// report finishes the handshake and prints the group.
func report(connection *tls.Conn) error {
	connection.SetDeadline(time.Now().Add(timeout))
	if err := connection.Handshake(); err != nil {
		return err
	}
	state := reflect.ValueOf(connection.ConnectionState())
	group := state.FieldByName("CurveID")
	if !group.IsValid() {
		// Go 1.24 has the group, but no name for others.
		group = state.FieldByName("testingOnlyCurveID")
	}
	fmt.Printf("group 0x%04x\n", group.Uint())
	return nil
}
