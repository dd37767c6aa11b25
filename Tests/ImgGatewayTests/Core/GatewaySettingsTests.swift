import Glibc
import ImgSettings
import ImgSystem
import TestFiles
import Testing

@testable import ImgGateway

struct GatewaySettingsTests {
  private func settings(
    _ arguments: [String], _ environment: [String: String] = [:]
  ) throws -> GatewaySettings {
    let reader = try ArgumentReader(arguments, for: GatewayInvocation.description)
    return try GatewaySettings(reader, environment: environment)
  }

  @Test func `a flag overrides its variable, and a variable the default`() throws {
    #expect(try settings([]).listen == .standard)
    let environment = ["IMGCTL_LISTEN": "[::1]:90", "IMGCTL_GALLERY": "no", "IMGCTL_HOST": "a,b"]
    let fromVariables = try settings([], environment)
    #expect(fromVariables.listen.place == .internet(host: "::1", port: 90))
    #expect(fromVariables.hasGallery == false)
    #expect(fromVariables.hosts == ["a", "b"])
    let fromFlags = try settings(["--listen", "unix:/run/g", "--gallery=yes"], environment)
    #expect(fromFlags.listen.place == .unix(path: "/run/g"))
    #expect(fromFlags.hasGallery == true)
  }

  @Test(arguments: [
    ["--listen", "8080"], ["--listen", "::1:8080"], ["--listen", "a:65536"], ["--listen", ":80"],
    ["--listen", "unix:relative"], ["--signature-size", "7"], ["--requests", "0"],
    ["--maximum-side", "16384"], ["--maximum-side", "0"], ["--host", "https://img.example.org/"],
    ["--host", "img.example.org:8443"], ["--host", "a b"], ["--host", "*.example.org"],
    ["--gallery", "maybe"], ["--request-timeout", "0"],
  ])
  func `a value that makes no sense is refused with the name of its flag`(
    arguments: [String]
  ) throws {
    let error = #expect(throws: UsageError.self) { try settings(arguments) }
    #expect(error?.description.hasPrefix(arguments[0]) == true)
  }

  @Test(
    arguments: [([], 4_096), (["300"], 300), (["none"], nil)] as [([String], Int?)])
  func `sides have a limit that can be switched off`(values: [String], limit: Int?) throws {
    #expect(try settings(values.flatMap { ["--maximum-side", $0] }).maximumSide == limit)
  }

  @Test func `a host name is read as a browser sends it`() throws {
    #expect(try settings(["--host", "B\u{FC}cher.Example"]).hosts == ["xn--bcher-kva.example"])
  }

  @Test func `no gateway is an open proxy by accident`() throws {
    #expect(throws: UsageError.self) { try settings([]).requireSafety(isLocal: false) }
    try settings([]).requireSafety(isLocal: true)
    try settings(["--allow-unsigned"]).requireSafety(isLocal: false)
    try settings(["--key-file", "keys"]).requireSafety(isLocal: false)
  }

  @Test func `a key of imgproxy that is not obeyed starts no gateway`() throws {
    for variable in ["IMGPROXY_KEY", "IMGPROXY_SALT", "IMGPROXY_SECRET"] {
      let error = #expect(throws: UsageError.self) { try settings([], [variable: "5ec2e7"]) }
      #expect(error?.description.contains(variable) == true)
      #expect(error?.description.contains("--key-file") == true)
      #expect(error?.description.contains("5ec2e7") == false)
    }
    let obeyed = try settings(["--key-file", "keys"], ["IMGPROXY_KEY": "5ec2e7"])
    #expect(obeyed.unreadVariables == ["IMGPROXY_KEY"])
  }

  @Test func `other variables of imgproxy are named`() throws {
    let environment = [
      "IMGPROXY_TTL": "60", "IMGPROXY_BIND": ":80", "IMGPROXY_QUALITY": "", "A": "b",
    ]
    #expect(try settings([], environment).unreadVariables == ["IMGPROXY_BIND", "IMGPROXY_TTL"])
  }

  @Test(
    arguments: [
      ([], true, false), ([], false, true), (["--key-file", "k"], true, true),
      (["--host", "a.example"], true, true), (["--cross-site", "yes"], true, true),
      (["--cross-site", "no"], false, false),
    ] as [([String], Bool, Bool)])
  func `pages of other sites get pictures where the gateway is there for others`(
    arguments: [String], isLocal: Bool, isServed: Bool
  ) throws {
    #expect(try settings(arguments).servesOtherSites(isLocal: isLocal) == isServed)
  }

  @Test func `a key file has keys with their salts, and comments`() throws {
    let directory = try TestDirectory()
    let path = try directory.write(
      Array("# new\n00112233445566ff 0a0b\r\n\n cafecafecafecafe\n".utf8), to: "keys", mode: 0o640)
    let keys = try KeyFile.keys(in: path) { _ in }
    #expect(
      keys == [
        SigningKey(key: [0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0xFF], salt: [0x0A, 0x0B]),
        SigningKey(key: [0xCA, 0xFE, 0xCA, 0xFE, 0xCA, 0xFE, 0xCA, 0xFE], salt: []),
      ])
  }

  @Test(arguments: ["", "# nothing\n", "not-a-key\n", "0011 2233 4455\n", "abcdef0123456\n"])
  func `a key file without a valid key is refused, and its content is not shown`(
    content: String
  ) throws {
    let directory = try TestDirectory()
    let path = try directory.write(Array(content.utf8), to: "keys", mode: 0o600)
    let error = #expect(throws: UsageError.self) { try KeyFile.keys(in: path) { _ in } }
    let secret = content.split(separator: "\n").first.map(String.init) ?? "none"
    #expect(error?.description.contains(secret) == false)
  }

  @Test(arguments: [0o602, 0o646, 0o666] as [UInt32])
  func `a key file that all users can change is refused`(mode: UInt32) throws {
    let directory = try TestDirectory()
    let path = try directory.write(Array("00112233445566ff 0a0b\n".utf8), to: "keys", mode: mode)
    let error = #expect(throws: UsageError.self) { try KeyFile.keys(in: path) { _ in } }
    #expect(error?.description.contains("chmod 600 \(path)") == true)
  }

  @Test(.enabled(if: ThisProcess.userID == 0, "only root can give a file away"))
  func `a key file of another user is refused`() throws {
    let directory = try TestDirectory()
    let path = try directory.write(Array("00ff 0a0b\n".utf8), to: "keys", mode: 0o600)
    #expect(unsafe chown(path, 65_534, 65_534) == 0)
    let error = #expect(throws: UsageError.self) { try KeyFile.keys(in: path) { _ in } }
    #expect(error?.description.contains("\(path) belongs to user 65534") == true)
  }

  @Test(arguments: [(0o400, 0), (0o440, 0), (0o660, 0), (0o444, 1), (0o604, 1)] as [(UInt32, Int)])
  func `a key file that all users can read is noted`(mode: UInt32, count: Int) throws {
    let directory = try TestDirectory()
    let path = try directory.write(Array("00112233445566ff 0a0b\n".utf8), to: "keys", mode: mode)
    var notes: [String] = []
    #expect(try KeyFile.keys(in: path) { notes.append($0) }.count == 1)
    #expect(notes.count == count)
    #expect(notes.allSatisfy { $0.contains(path) && !$0.contains("66ff") })
  }
}
