import Testing

@testable import ImgFetch

/// The rules of curl(1) for NO_PROXY.
@Suite struct DirectHostsTests {
  @Test(arguments: [
    (["*"], "any.example", true),
    // Not alone, it is a name like any other.
    (["*", "a.example"], "any.example", false),
    (["a.example"], "a.example", true), (["a.example"], "www.a.example", true),
    (["A.Example."], "a.example", true), ([".a.example"], "a.example", true),
    (["a.example"], "other-a.example", false), (["a.example"], "example", false),
    (["10.1.2.3"], "10.1.2.3", true), (["10.1.2.3"], "10.1.2.4", false),
    (["10.0.0.0/8"], "10.1.2.3", true), (["10.0.0.0/8"], "11.1.2.3", false),
    (["10.0.0.0/33"], "10.1.2.3", false), (["2.3"], "10.1.2.3", false),
    (["[::1]"], "[::1]", true), (["::1"], "[::1]", true), (["fd00::/8"], "[fd01::2]", true),
    (["10.0.0.0/8"], "a10.0.0.0", false), ([], "a.example", false), (["."], "a.example", false),
  ])
  func `NO_PROXY names hosts as curl reads it`(entries: [String], host: String, isDirect: Bool) {
    #expect(DirectHosts(entries).contains(host) == isDirect)
  }
}
