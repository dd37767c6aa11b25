/// Answers as they come over a connection, by what they fail with.
enum HostileResponse {
  private static let ok = "HTTP/1.1 200 OK\r\n"
  private static let sized = "Content-Length: 1\r\n\r\nx"
  private static let chunked = "\(ok)Transfer-Encoding: chunked\r\n\r\n"
  private static let last = "1\r\nx\r\n0\r\n"

  // MARK: - Invalid

  static let notHTTP: [String] = [
    "SSH-2.0-server\r\n", String(repeating: "x", count: 5_000), "HTTP/1.1 \r\n\r\n",
    "HTTP/1.1 abc OK\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n",
    "HTTP/1.1 000 OK\r\n\r\n", "HTTP/1.1 099 OK\r\n\r\n", "HTTP/1.1 -20 OK\r\n\r\n",
    "HTTP/9.9 200 OK\r\n\(sized)", "HTTP/3 200\r\n\(sized)", "HTTP/1.2 200 OK\r\n\(sized)",
    "HTTP/11.1 200 OK\r\n\(sized)", "http/1.1 200 OK\r\n\(sized)", "ICY 200 OK\r\n\(sized)",
    "RTSP/1.0 200 OK\r\n\(sized)", "\r\n\r\n\(ok)\(sized)", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "\0\0\0\u{4}\0\0\0\0\0", "HTTP/1.1 200 O\0K\r\n\(sized)",
    "HTTP/1.1 100 Continue\r\n\r\nSSH-2.0-server\r\n",
  ]

  static let brokenFields: [String] = [
    "\(ok)garbage\r\n\(sized)", "\(ok)X: a\0b\r\n\(sized)", "\(ok) folded\r\n\(sized)",
    "\(ok)Content-Length: 2\r\n\(sized)", "\(ok)Content-Length: 1, 2\r\n\(sized)",
    "\(ok)Content-Length: -1\r\n\(sized)", "\(ok)Content-Length: +1\r\n\(sized)",
    "\(ok)Content-Length: 0x1\r\n\(sized)", "\(ok)Content-Length: abc\r\n\(sized)",
    "\(ok)Content-Length: 1abc\r\n\(sized)", "\(ok)Content-Length:\r\n\(sized)",
  ]

  static let brokenChunks: [String] = [
    "\(chunked)zz\r\nx\r\n0\r\n\r\n", "\(chunked)-1\r\nx\r\n0\r\n\r\n",
    "\(chunked)ffffffffffffffffff\r\nx", "\(chunked)1\r\nxx0\r\n\r\n",
    "\(chunked)\r\nx\r\n0\r\n\r\n", "\(chunked)00000000000000000000000001\r\nx\r\n0\r\n\r\n",
    "\(chunked)\(last)garbage\r\n\r\n", "\(chunked)\(last)X: a\0b\r\n\r\n",
    "\(chunked)\(last)X: y\rz\r\n\r\n", "\(chunked)\(last)HTTP/1.1 500 Error\r\n\r\n",
    "\(chunked)\(last)X: \(String(repeating: "y", count: 110_000))\r\n\r\n",
  ]

  static let transferCodings: [String] = [
    "gzip, chunked", "chunked, chunked", "gzip", "br", "bogus", "chunked, gzip",
    "x-gzip, identity", Array(repeating: "gzip", count: 20).joined(separator: ", "),
  ]

  static func coded(_ coding: String) -> String {
    "\(ok)Transfer-Encoding: \(coding)\r\n\r\n\(last)\r\n"
  }

  // MARK: - Others

  /// What the connection ended in the middle of.
  static let brokenOff: [String] = [
    ok, "\(ok)Content-Length: 5\r\n", "\(ok)Content-Length: 5\r\nContent-", "\(ok)\r\n",
    "HTTP/1.0 200 OK\r\n\r\n", "\(ok)Content-Length: 5\r\n\r\nx", "\(chunked)5\r\nxx",
    "\(chunked)1\r\nx\r\n", "\(chunked)7fffffffffffffff\r\nx", "\(chunked)\(last)",
    "\(chunked)\(last)X: y\r\n", "HTTP/1.1 100 Continue\r\n\r\n",
  ]

  static let neverBegun: [String] = [
    "", "HTTP/1.1", "HTTP/1.1 200", "HTTP/1.1 200 OK\rContent-Length: 1\r\rx",
  ]

  static let tooLong = "\(ok)Content-Length: 99999999999999999999999\r\n\r\nx"

  static let empty: [String] = ["\(ok)Content-Length: 0\r\n\r\n", "\(chunked)0\r\n\r\n"]

  static let withoutPicture: [String] = [
    "HTTP/1.1 101 Switching\r\n\r\nx", "HTTP/1.1 999 No\r\n\(sized)",
    "HTTP/1.1 204 Empty\r\n\(sized)", "HTTP/1.1 302 Found\r\nLocation: \r\n\(sized)",
    "HTTP/1.1 404 No\r\nTransfer-Encoding: gzip\r\n\r\nx",
    "HTTP/1.1 404 No\r\nContent-Length: 2\r\n\(sized)",
  ]

  /// What is odd and means one thing only: the body `x`.
  static let taken: [String] = [
    "HTTP/2 200\r\n\(sized)", "HTTP/1.1 200 OK\nContent-Length: 1\n\nx",
    "HTTP/1.0 200 OK\r\n\r\nx", "\(ok)X: a\r\n b\r\n\(sized)",
    "\(ok)Content-Length : 9\r\n\(sized)", "\(ok)Content-Length: 1\r\n\(sized)",
    "\(ok): x\r\n\(sized)", "\(ok)\(sized)yz", "\(ok)Content-Encoding: none\r\n\(sized)",
    "\(ok)Transfer-Encoding: identity\r\n\(sized)", "\(ok)HTTP/1.1 500: odd\r\n\(sized)",
    "\(ok)Content-Range: bytes 5-9/10\r\n\(sized)",
    "\(ok)Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n\(last)\r\n",
    "\(ok)Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n\(last)\r\n",
    "\(chunked)1;\(String(repeating: "a", count: 30_000))\r\nx\r\n0\r\n\r\n",
    "\(chunked)\(last)X: y\n\n", "\(chunked)\(last)Content-Length: 9\r\n\r\n",
    "\(chunked)\(last)HTTP/1.1 500: a trailer\r\n\r\n",
    "\(String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 200))\(ok)\(sized)",
    "HTTP/1.1 102 Wait\r\nContent-Length: 3\r\n\r\n\(ok)\(sized)",
  ]
}
