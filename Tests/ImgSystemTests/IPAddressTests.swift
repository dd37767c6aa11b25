import ImgSystem
import Testing

struct IPAddressTests {
  @Test(
    arguments: [
      ("127.0.0.1", [127, 0, 0, 1]),
      ("0.0.0.0", [0, 0, 0, 0]),
      ("::1", [UInt8](repeating: 0, count: 15) + [1]),
      ("2001:db8::ff", [0x20, 0x01, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [0xFF]),
    ] as [(String, [UInt8])])
  func `an address is read and written back`(text: String, bytes: [UInt8]) {
    #expect(IPAddress.bytes(parsing: text) == bytes)
    #expect(IPAddress.text(bytes) == text)
  }

  @Test(
    arguments: [
      "", "1", "127.1", "0x7f.0.0.1", "0177.0.0.1", "127.0.0.1 ", "127.0.0.1\u{0}", "256.0.0.1",
      "[::1]", "fe80::1%lo", "::1::", "example.com",
    ])
  func `invalid addresses are refused`(text: String) {
    #expect(IPAddress.bytes(parsing: text) == nil)
  }

  @Test(arguments: [0, 3, 5, 15, 17])
  func `only 4 and 16 bytes have a text`(count: Int) {
    #expect(IPAddress.text([UInt8](repeating: 0, count: count)) == nil)
  }
}
