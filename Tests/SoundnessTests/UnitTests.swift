import Testing

/// The files that run the programs as a service.
struct UnitTests {
  private static let places = "IMGCTL_SOCKET=%t/imgctl/control.sock IMGCTL_DATA_DIR=%C/imgctl"

  /// The assignments of a unit file, such as `LimitCORE=0`.
  private func assignments(in unit: String) throws -> Set<String> {
    let lines = try Repository.text("deploy/\(unit)").split(separator: "\n").map(String.init)
    return Set(lines.filter { !$0.hasPrefix("#") && $0.contains("=") })
  }

  @Test(arguments: [
    "Type=notify", "NotifyAccess=main", "LimitCORE=0", "PrivateUsers=true", "TasksMax=1024",
    "RestrictNamespaces=user net ipc", "NoNewPrivileges=true", "RuntimeDirectoryMode=0700",
    "CacheDirectoryMode=0700", "UMask=0077", "Environment=\(Self.places)",
  ])
  func `the coordinator's service is sandboxed and notifies readiness`(
    assignment: String
  ) throws {
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

  @Test func `reverse proxies connect to the socket that systemd opens, and show no metrics`()
    throws
  {
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
    let (install, remove) = try #require(guide.parts(around: "\nTo remove the service:\n"))
    let units = [
      "imgcoordinator.service", "imggateway.service", "imggateway.socket", "imgctl-remove.service",
      "imgctl-remove.timer",
    ]
    for unit in units {
      #expect(install.contains("deploy/\(unit) /etc/systemd/system/\(unit)"))
      #expect(remove.contains("/etc/systemd/system/\(unit)"))
    }
  }
}

extension String {
  fileprivate func parts(around separator: String) -> (String, String)? {
    guard let range = firstRange(of: separator) else { return nil }
    return (String(self[..<range.lowerBound]), String(self[range.upperBound...]))
  }
}
