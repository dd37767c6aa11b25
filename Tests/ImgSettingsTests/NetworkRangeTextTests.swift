import ImgModel
import ImgSettings
import Testing

@Suite struct NetworkRangeTextTests {
  @Test(
    arguments: [
      ("10.0.0.0/8", [10, 0, 0, 0], 8), ("127.0.0.1", [127, 0, 0, 1], 32),
      ("0.0.0.0/0", [0, 0, 0, 0], 0), ("192.168.1.4/30", [192, 168, 1, 4], 30),
      ("fd00::/8", [0xFD] + [UInt8](repeating: 0, count: 15), 8),
      ("::1", [UInt8](repeating: 0, count: 15) + [1], 128),
    ] as [(String, [UInt8], Int)])
  func `a block is an address and a prefix length`(
    text: String, bytes: [UInt8], prefixLength: Int
  ) throws {
    let range = try NetworkRange(parsing: text)
    #expect(range.bytes == bytes)
    #expect(range.prefixLength == prefixLength)
    #expect(try NetworkRange(parsing: range.text) == range)
  }

  @Test(arguments: [
    "", "10.0.0.0/", "/8", "10.0.0/8", "010.0.0.0/8", "10.0.0.0/8/8", "10.0.0.0/+8", "[::1]",
    "localhost", "10.0.0.0/33", "::/129", "10.0.0.0/99999999999999999999", "fe80::1%eth0",
  ])
  func `invalid blocks are refused`(text: String) {
    #expect(throws: InvalidValue.self) { try NetworkRange(parsing: text) }
  }

  @Test func `bits beyond the prefix are refused, and the block is suggested`() {
    #expect(
      throws: InvalidValue("\"10.1.2.3/8\" has bits beyond its prefix; the block is 10.0.0.0/8")
    ) { try NetworkRange(parsing: "10.1.2.3/8") }
  }

  @Test func `a block of mapped IPv4 addresses is refused`() throws {
    #expect(throws: InvalidValue.self) { try NetworkRange(parsing: "::ffff:10.0.0.0/104") }
    #expect(try NetworkRange(parsing: "::/0").prefixLength == 0)
  }
}
