import FoundationEssentials
import Testing

/// What the README and the guides tell people exists, and what exists is in the guides.
struct DocumentationTests {
  private static let guides = "Sources/imgctl/imgctl.docc"

  private func guide(_ name: String) throws -> String {
    try Repository.text("\(Self.guides)/\(name).md")
  }

  private func pages() throws -> [String] {
    try ["README.md"] + Repository.files(below: Self.guides, suffix: ".md")
  }

  /// What follows `imgctl` on the lines of a page's code blocks that call it, without comments.
  private func calls(on page: String) throws -> [Substring] {
    var isInside = false
    return try Repository.text(page).split(separator: "\n").compactMap { line in
      if line.hasPrefix("```") { isInside.toggle() }
      let typed = line.prefix { $0 != "#" }
      guard isInside, let call = typed.matches(of: /(?:^|[\s\/(])imgctl (?=[a-z-])/).last else {
        return nil
      }
      return typed[call.range.upperBound...]
    }
  }

  /// The text of everything that defines commands and settings.
  private func definitions() throws -> String {
    try ["Sources/ImgCommands", "Sources/ImgSettings"]
      .flatMap { try Repository.swiftSources(below: $0) }
      .flatMap(\.code)
      .joined(separator: "\n")
  }

  /// What the first group of the pattern matches in a file.
  private func names(
    in path: String, _ pattern: Regex<(Substring, Substring)>
  ) throws -> Set<String> {
    Set(try Repository.text(path).matches(of: pattern).map { String($0.1) })
  }

  @Test func `every script on a page exists and is executable`() throws {
    for page in try pages() {
      for script in try Repository.text(page).matches(of: /\b(?:scripts|\.ci)\/[\w.-]+\b/) {
        #expect(Repository.isExecutable(String(script.output)), "\(script.output) on \(page)")
      }
    }
  }

  /// What a page names of `Sources` and `Tests`: Swift files, and whatever stands below these two.
  private func paths(on page: String) throws -> Set<String> {
    let text = try Repository.text(page)
    let files = text.matches(of: /[\w+.\/-]+\.swift\b/)
    let places = text.matches(of: /(?:[\w+.-]+\/)*(?:Sources|Tests)\/[\w+.\/-]*\w/)
    return Set((files + places).map { String($0.output) })
  }

  @Test func `every path on a page leads to one file or directory`() throws {
    let existing = try ["Sources", "Tests"].flatMap { try Repository.files(below: $0, suffix: "") }
    for page in try pages() {
      for path in try paths(on: page) {
        let found = existing.filter { file in
          path.contains("/")
            ? [path, "Sources/\(path)", "Tests/\(path)"].contains(file)
            : file.hasSuffix("/\(path)")
        }
        #expect(found.count == 1, "\(path) on \(page)")
      }
    }
  }

  @Test func `the guide to the architecture names the directory of every target`() throws {
    let names = Set(try guide("Architecture").matches(of: /\w+/).map(\.output))
    for directory in try Manifest.ours().targets.map(\.directory) {
      let name = try #require(directory.split(separator: "/").last)
      // The guide has one row for the tests that stand beside a target.
      #expect(names.contains(name) || name.hasSuffix("Tests"), "\(directory)")
    }
  }

  @Test func `every command on a page exists`() throws {
    let definitions = try definitions()
    for page in try pages() {
      for call in try calls(on: page) {
        guard let command = call.prefixMatch(of: /[a-z]+/)?.output else { continue }
        let isDefined = ["\"\(command)\"", "\"imgctl \(command)"].contains {
          definitions.contains($0)
        }
        #expect(isDefined, "imgctl \(command) on \(page)")
      }
    }
  }

  @Test func `every option on a page exists`() throws {
    let definitions = try definitions()
    for page in try pages() {
      for call in try calls(on: page) {
        for option in call.matches(of: /(?:^|\s)(--[a-z-]+)/).map({ String($0.1) }) {
          let isDefined = definitions.contains("\"\(option)\"")
          #expect(isDefined, "\(option) in: \(call)")
        }
      }
    }
  }

  @Test func `the settings guide names every setting and its variable`() throws {
    let flags = try names(in: "Sources/ImgSettings/Settings/Setting.swift", /"(--[a-z-]+)", "/)
    #expect(flags.count > 20)
    let guide = try guide("Settings")
    for flag in flags {
      let variable = "IMGCTL_" + flag.dropFirst(2).uppercased().replacing("-", with: "_")
      #expect(guide.contains("| `\(flag)` | `\(variable)` |"), "\(flag)")
    }
  }

  @Test func `the settings guide names every option of the gateway and its variable`() throws {
    let flags = try names(
      in: "Sources/ImgSettings/Settings/GatewaySettings.swift", /"(--[a-z-]+)",/)
    #expect(flags.count > 10)
    let guide = try guide("Settings")
    for flag in flags {
      let variable = "IMGCTL_" + flag.dropFirst(2).uppercased().replacing("-", with: "_")
      #expect(guide.contains("| `\(flag)` | `\(variable)` |"), "\(flag)")
    }
  }

  @Test func `the guide to failure codes begins with what the library says of every code`() throws {
    let source = try Repository.text("Sources/ImgModel/Failure.swift")
    let end = try #require(source.firstRange(of: "package let stage")).lowerBound
    let cases = source[..<end].matches(
      of: /((?:\n    \/\/\/ .*)+)\n    case `?(\w+)`?(?: = "(\w+)")?(?=\n)/)
    #expect(cases.count > 20)
    let rows = try guide("FailureCodes").split(separator: "\n")
    for match in cases {
      let code = String(match.3 ?? match.2)
      let comment = match.1.replacing("\n    ///", with: "")
      let sentence = try #require(comment.firstMatch(of: /^ (.+?)\.(?: |$)/)?.1)
      let beginning = "| `\(code)` | \(sentence.prefix(1).lowercased())\(sentence.dropFirst())"
      #expect(rows.count { $0.hasPrefix(beginning) } == 1, "\(beginning)")
    }
  }

  @Test func `the guide to commands explains every command`() throws {
    let commands = try Repository.files(below: "Sources/ImgCommands/Commands", suffix: ".swift")
      .flatMap { try names(in: $0, /name: "imgctl ([a-z ]+)"/) }
    #expect(commands.count > 20)
    let table = try guide("Commands").split(separator: "\n").filter { $0.hasPrefix("| `") }
    for command in commands {
      let words = command.split(separator: " ")
      let isExplained = table.contains { row in
        Set(words).isSubset(of: row.split { !$0.isLetter })
      }
      #expect(isExplained, "\(command)")
    }
  }

  @Test func `the changelog begins with the version of the programs`() throws {
    let hello = try Repository.text("Sources/ImgModel/Build.swift")
    let version = try #require(hello.firstMatch(of: /static let version = "([\d.]+)"/)?.1)
    let changelog = try Repository.text("CHANGELOG.md")
    #expect(changelog.firstMatch(of: /\n## (.+)\n/)?.1 == version)
  }

  @Test func `the wire guide names every type of message`() throws {
    let guide = try guide("WireProtocol")
    let types = try Repository.files(below: "Tests/ImgWireTests/Golden", suffix: ".json")
      .flatMap { try names(in: $0, /"type" ?: ?"(\w+)"/) }
    #expect(types.count > 20)
    for type in types { #expect(guide.contains("`\(type)`"), "\(type)") }
  }

  @Test func `the wire guide names every member of every message`() throws {
    let guide = try guide("WireProtocol")
    for path in try Repository.files(below: "Tests/ImgWireTests/Golden", suffix: ".json") {
      let message = try JSONDecoder().decode(
        JSONObject.self, from: Data(try Repository.text(path).utf8))
      #expect(message.keys.contains("type"))
      for key in message.keys where key != "type" {
        #expect(guide.contains("`\(key)`"), "\(key) in \(path)")
      }
    }
  }
}

/// The keys of a JSON object, without its values.
private struct JSONObject: Decodable {
  let keys: [String]

  init(from decoder: any Decoder) throws {
    keys = try decoder.container(keyedBy: Key.self).allKeys.map(\.stringValue)
  }

  private struct Key: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) {
      self.stringValue = stringValue
    }

    init?(intValue: Int) { nil }
  }
}

/// The files that run the programs as a service.
struct UnitTests {
  private static let places =
    "IMGCTL_SOCKET=%t/imgctl/control.sock IMGCTL_DATA_DIR=%S/imgctl IMGCTL_CACHE_DIR=%C/imgctl"

  /// The assignments of a unit file, such as `LimitCORE=0`.
  private func assignments(in unit: String) throws -> Set<String> {
    let lines = try Repository.text("deploy/\(unit)").split(separator: "\n").map(String.init)
    return Set(lines.filter { !$0.hasPrefix("#") && $0.contains("=") })
  }

  @Test(arguments: [
    "Type=notify", "NotifyAccess=main", "LimitCORE=0", "PrivateUsers=true", "TasksMax=1024",
    "RestrictNamespaces=user net ipc", "NoNewPrivileges=true", "RuntimeDirectoryMode=0700",
    "CacheDirectoryMode=0700", "StateDirectoryMode=0700", "UMask=0077",
    "Environment=\(Self.places)",
  ])
  func `the coordinator's service is sandboxed and notifies readiness`(assignment: String) throws {
    #expect(try assignments(in: "imgcoordinator.service").contains(assignment))
  }

  @Test(arguments: [
    "Type=notify", "NotifyAccess=main", "User=imgctl", "LimitCORE=0", "PrivateUsers=true",
    "PrivateNetwork=true", "RestrictAddressFamilies=AF_UNIX", "RestrictNamespaces=true",
    "NoNewPrivileges=true", "CacheDirectoryMode=0700", "UMask=0077", "Requires=imggateway.socket",
    "Environment=\(Self.places)", "LoadCredential=keys:/etc/imgctl/keys",
    "Environment=IMGCTL_AUTOSTART=no IMGCTL_KEY_FILE=%d/keys IMGCTL_GALLERY=no",
  ])
  func `the gateway's service has no network, needs keys, and starts no coordinator`(
    assignment: String
  ) throws {
    #expect(try assignments(in: "imggateway.service").contains(assignment))
  }

  /// systemd removes a runtime directory with the service that declares it.
  @Test func `only the coordinator's service declares the directory of the socket`() throws {
    let gateway = try assignments(in: "imggateway.service")
    #expect(!gateway.contains { $0.hasPrefix("RuntimeDirectory") })
  }

  @Test func `proxies connect to the socket of systemd, and show no metrics`() throws {
    let socket = try assignments(in: "imggateway.socket")
    #expect(socket.isSuperset(of: ["ListenStream=/run/imggateway.sock", "SocketMode=0660"]))
    let nginx = try Repository.text("deploy/nginx-imgctl.conf")
    #expect(nginx.contains("server unix:/run/imggateway.sock;"))
    #expect(nginx.contains("location = /metrics {"))
    let caddy = try Repository.text("deploy/Caddyfile")
    #expect(caddy.contains("reverse_proxy unix//run/imggateway.sock"))
    #expect(caddy.contains("respond /metrics 404"))
  }

  /// A variable that no flag has would be ignored.
  @Test func `every variable of the services belongs to a flag`() throws {
    let flags = try Repository.swiftSources(below: "Sources/ImgSettings").map(\.text).joined()
    for file in ["imgctl.default", "imgcoordinator.service", "imggateway.service"] {
      for name in try Repository.text("deploy/\(file)").matches(of: /\bIMGCTL_([A-Z_]+)=/) {
        let flag = "--" + name.1.lowercased().replacing("_", with: "-")
        #expect(flags.contains("\"\(flag)\""), "\(flag) in \(file)")
      }
    }
  }

  @Test func `a timer removes old jobs daily, through the service's coordinator`() throws {
    let timer = try assignments(in: "imgctl-remove.timer")
    #expect(timer.isSuperset(of: ["OnCalendar=daily", "WantedBy=timers.target"]))
    let service = try assignments(in: "imgctl-remove.service")
    #expect(
      service.isSuperset(of: [
        "Type=oneshot", "ExecStart=/usr/local/bin/imgctl remove --older-than 30d", "User=imgctl",
        "Environment=\(Self.places)", "LimitCORE=0", "PrivateUsers=true", "SuccessExitStatus=3",
      ]))
  }

  @Test func `the guide installs every file and removes it again`() throws {
    let guide = try Repository.text("Sources/imgctl/imgctl.docc/Operations.md")
    let (install, remove) = try #require(guide.parts(around: "\n### Removal\n"))
    let units = [
      "imgcoordinator.service", "imggateway.service", "imggateway.socket", "imgctl-remove.service",
      "imgctl-remove.timer",
    ]
    for unit in units {
      #expect(install.contains("deploy/\(unit) /etc/systemd/system/\(unit)"))
      #expect(remove.contains("/etc/systemd/system/\(unit){,.d}"))
    }
    for file in ["/etc/nginx/conf.d/imgctl.conf", "/usr/local/bin/imgctl-service"] {
      #expect(install.contains(file))
    }
    for file in ["/etc/nginx/conf.d/imgctl.conf", "imgctl-service,", "/var/cache/nginx-imgctl"] {
      #expect(remove.contains(file))
    }
  }
}

extension String {
  fileprivate func parts(around separator: String) -> (String, String)? {
    guard let range = firstRange(of: separator) else { return nil }
    return (String(self[..<range.lowerBound]), String(self[range.upperBound...]))
  }
}
