import Testing

@testable import ImgFetch

struct NameServicesTests {
  @Test(arguments: [
    ("hosts: files dns\n", ["files", "dns"]),
    (
      "passwd: files\nhosts:\tfiles mdns4_minimal [NOTFOUND=return] dns # last\n",
      ["files", "mdns4_minimal", "dns"]
    ),
    (
      "hosts: mymachines resolve [!UNAVAIL = return] files myhostname",
      ["mymachines", "resolve", "files", "myhostname"]
    ),
    ("hosts: ../evil files", ["files"]), ("#hosts: dns\nnetworks: files", []), ("", []),
  ])
  func `the services of host names are named without what follows them in brackets`(
    configuration: String, names: [String]
  ) {
    #expect(NameServices.names(in: configuration) == names)
  }
}
