// Node's tls as a client or as a server of one page. The folder in which it runs has cert.pem,
// which the client trusts, and key.pem. Both print OpenSSL's trace of the handshake.
//
//   peer.js version               prints the versions of Node and of its OpenSSL
//   peer.js client GROUPS PORT    fetches the page from localhost
//   peer.js server GROUPS         prints its port and serves until it is ended
//
// GROUPS are ignored, so that OpenSSL's configuration decides.
'use strict';
const fs = require('fs');
const tls = require('tls');

const [command, , port] = process.argv.slice(2);
const options = { minVersion: 'TLSv1.3' };
const fail = (error) => {
  console.error(`peer.js: ${error.message}`);
  process.exit(2);
};

if (command === 'version') {
  console.log(process.versions.node, process.versions.openssl);
} else if (command === 'client') {
  const ca = fs.readFileSync('cert.pem');
  const to = { ...options, ca, host: '127.0.0.1', port: Number(port), servername: 'localhost' };
  const stream = tls.connect(to, () => {
    // Node 20 returns an empty object for groups that it has no name for.
    console.log('ephemeral key', JSON.stringify(stream.getEphemeralKeyInfo()));
    stream.write('GET / HTTP/1.0\r\n\r\n');
  });
  stream.enableTrace();
  stream.setTimeout(10000, () => fail(new Error('timeout')));
  stream.on('data', (page) => console.log(page.toString()));
  stream.on('error', fail);
} else {
  const [cert, key] = [fs.readFileSync('cert.pem'), fs.readFileSync('key.pem')];
  const server = tls.createServer({ ...options, cert, key, enableTrace: true }, (stream) => {
    stream.on('error', (error) => console.error(error.message));
    // The client closes the connection.
    stream.once('data', () => stream.write('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nserved'));
  });
  server.on('tlsClientError', (error) => console.error(error.message));
  server.listen(0, '127.0.0.1', () => console.log('port', server.address().port));
}
