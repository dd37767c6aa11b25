import ImgFetch
import ImgModel
import ImgSystem
import Testing

@Suite struct AddressPolicyTests {
  @Test(arguments: [
    "0.0.0.0", "0.1.2.3", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255",
    "127.0.0.1", "127.255.255.255", "169.254.0.1", "169.254.169.254", "172.16.0.0",
    "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.0.1", "192.168.255.255",
    "198.18.0.0", "198.19.255.255", "198.51.100.7", "203.0.113.255", "224.0.0.1",
    "239.255.255.255", "240.0.0.1", "255.255.255.255", "192.31.196.0", "192.31.196.255",
    "192.52.193.0", "192.52.193.255", "192.175.48.0", "192.175.48.255",
  ])
  func `an IPv4 address that is not public is refused`(address: String) throws {
    #expect(try !permits(address))
  }

  @Test(arguments: [
    "1.0.0.0", "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0",
    "126.255.255.255", "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255",
    "172.32.0.0", "191.255.255.255", "192.0.1.0", "192.0.3.0", "192.88.98.255", "192.167.255.255",
    "192.169.0.0", "198.17.255.255", "198.20.0.0", "198.51.99.255", "203.0.112.255",
    "203.0.114.0", "223.255.255.255", "192.31.195.255", "192.31.197.0", "192.52.192.255",
    "192.52.194.0", "192.175.47.255", "192.175.49.0",
  ])
  func `an IPv4 address just outside a refused network is permitted`(address: String) throws {
    #expect(try permits(address))
  }

  @Test(arguments: [
    "::", "::1", "::2", "fc00::1", "fdff:ffff::1", "fe80::1", "febf::1", "fec0::1", "feff::1",
    "ff02::1", "2001:db8::1", "2001::1", "2001:0:ffff::1", "2001:2::1", "2001:1ff::1", "3fff::1",
    "3fff:fff::1", "100::1", "64:ff9b:1::1", "5f00::1", "4000::1", "8000::1", "e000::1",
    "200::1", "1fff::1", "::ffff:0:1.1.1.1", "2620:4f:8000::1",
    "2620:4f:8000:ffff::1",
  ])
  func `an IPv6 address that is not public is refused`(address: String) throws {
    #expect(try !permits(address))
  }

  @Test(arguments: [
    "2000::1", "2001:200::1", "2001:db7::1", "2001:db9::1", "2606:4700:4700::1111",
    "2a00:1450:4001:81b::2004", "3ffe::1", "3fff:1000::1",
    "2620:4f:7fff::1", "2620:4f:8001::1",
  ])
  func `an IPv6 address of the public internet is permitted`(address: String) throws {
    #expect(try permits(address))
  }

  @Test(arguments: [
    ("::ffff:127.0.0.1", false), ("::ffff:10.1.2.3", false), ("::ffff:1.1.1.1", true),
    ("::127.0.0.1", false), ("::192.168.1.1", false), ("::1.1.1.1", true),
    ("2002:7f00:1::1", false), ("2002:a9fe:a9fe::", false), ("2002:101:101::1", true),
    ("64:ff9b::127.0.0.1", false), ("64:ff9b::169.254.169.254", false),
    ("64:ff9b::1.1.1.1", true),
  ])
  func `an address that embeds an IPv4 address is checked by it`(
    address: String, isPermitted: Bool
  ) throws {
    #expect(try permits(address) == isPermitted)
  }

  @Test(arguments: [
    ("127.0.0.1", true), ("127.0.0.2", false), ("::ffff:127.0.0.1", true),
    ("::ffff:127.0.0.2", false), ("::1", true), ("fd00::5", true), ("fd01::5", false),
    ("10.0.0.1", false), ("1.1.1.1", true),
  ])
  func `an allowed network is permitted, also in its mapped form, and nothing else changes`(
    address: String, isPermitted: Bool
  ) throws {
    let allowed = ["127.0.0.1/32", "::1", "fd00::/16"]
    #expect(try permits(address, allowing: allowed) == isPermitted)
  }

  @Test(arguments: [0, 3, 5, 15, 17])
  func `bytes that are no address are refused`(count: Int) {
    #expect(!AddressPolicy(allowed: []).permits([UInt8](repeating: 1, count: count)))
  }

  private func permits(_ address: String, allowing networks: [String] = []) throws -> Bool {
    let bytes = try #require(IPAddress.bytes(parsing: address))
    return AddressPolicy(allowed: try networks.map(range)).permits(bytes)
  }
}
