import ImgModel
import Testing

@Suite struct HostGroupTests {
  @Test(arguments: [
    ("a.b.example.org", "example.org"), ("example.org", "example.org"), ("localhost", "localhost"),
    ("img.example.co.uk", "example.co.uk"), ("example.co.uk", "example.co.uk"),
    ("img.example.de", "example.de"), ("127.0.0.1", "127.0.0.1"),
    ("[2001:db8::1]", "[2001:db8::1]"),
  ])
  func `a group is what is below a registrable domain, or an address`(host: String, group: String) {
    #expect(HostGroup.name(of: host) == group)
  }
}
