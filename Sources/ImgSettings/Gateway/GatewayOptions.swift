/// The options of the gateway. Each has an environment variable, too.
package enum GatewayOptions {
  static let listen = OptionDescription(
    "--listen", "ADDRESS",
    help: "Where to listen: HOST:PORT with an IP address or localhost, which is 127.0.0.1, or "
      + "unix:PATH. An IPv6 address is in brackets, and port 0 is any free one. A service manager "
      + "may hand over a socket instead. Default: 127.0.0.1:8080.")
  static let keyFile = OptionDescription(
    "--key-file", "FILE",
    help: "Accept signed requests for pictures alone. Each line of the file has a key and a salt "
      + "in hexadecimal digits, separated by a space; a signature by any of them counts. A key has at least 8 "
      + "bytes. Only its owner and its group may be able to change it. Default: none.")
  static let signatureSize = OptionDescription(
    "--signature-size", "N",
    help: "How many bytes of a signature requests have, from 8 to 32. Default: 32.")
  package static let allowUnsigned = OptionDescription(
    "--allow-unsigned",
    help: "Listen for other machines without a key. Every client that can connect can then have "
      + "every picture fetched. Default: no.")
  package static let allowOrigin = OptionDescription(
    "--allow-origin", "PATTERN",
    help: "Accept pictures from this origin alone, such as https://*.example.org/photos/. "
      + "Repeatable; separated by commas in the variable. Default: all origins.",
    isRepeatable: true)
  package static let preset = OptionDescription(
    "--preset", "NAME=OPTIONS",
    help: "Options of imgproxy's paths under a name, such as small=rs:fit:64:64/q:60. The preset "
      + "named default applies to all of them. Repeatable; separated by commas in the variable.",
    isRepeatable: true)
  static let gallery = OptionDescription(
    "--gallery", "yes|no",
    help: "Show the gallery and the lists of pictures and jobs, which need no signatures. Default: "
      + "yes, but no with --key-file, and no where other machines can connect.")
  static let host = OptionDescription(
    "--host", "NAME",
    help:
      "Also answer requests for this host name. Without it, a gateway that only this machine can "
      + "reach, and one with a gallery, answer to localhost and addresses alone. Repeatable; separated by "
      + "commas in the variable.",
    isRepeatable: true)
  package static let crossSite = OptionDescription(
    "--cross-site", "yes|no",
    help:
      "Answer requests for pictures that pages of other sites make. Default: no where only this "
      + "machine can connect, unless --key-file or --host is given; yes elsewhere.")
  static let maximumSide = OptionDescription(
    "--maximum-side", "N|none",
    help: "The longest side in pixels, after dpr, that requests may ask for. Others get status "
      + "422. A thumbnail with an open side has at most N² pixels, and a picture whose size no request names "
      + "is made to fit N×N. Default: 4096.")
  static let requests = OptionDescription(
    "--requests", "N",
    help: "The maximum number of pictures that load at the same time. Further requests get status "
      + "503. Default: 512.")
  static let requestTimeout = OptionDescription(
    "--request-timeout", "DURATION",
    help: "How long a request waits for its picture. Default: 60s.")
  static let connections = OptionDescription(
    "--connections", "N", help: "The maximum number of connections. Default: 4096.")

  static let mock = OptionDescription(
    "--mock",
    help: "Serve pictures of mock.example from memory, without a coordinator and without a "
      + "network, to try clients and the gallery. They are PNG files of one size, whatever a request "
      + "asks for. Default: no.")

  package static let all = [
    listen, keyFile, signatureSize, allowUnsigned, allowOrigin, preset, gallery, host,
    crossSite, maximumSide, requests, requestTimeout, connections, mock,
  ]

  /// Where the cluster is.
  package static let places = [Setting.socket, .dataDirectory, .autostart].map(\.option)
}
