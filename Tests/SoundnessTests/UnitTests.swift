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
    for unit in ["imgcoordinator.service", "imgctl-remove.service", "imgctl-remove.timer"] {
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
