import ImgClient
import ImgModel
import TestCluster
import Testing

/// A cluster on kernels that lack a part of its sandbox.
@Suite(.timeLimit(.minutes(20)))
struct LesserKernelTests {
  private static let landlock = "Landlock"
  private static let filters = "system call filters (seccomp)"

  /// What `imgctl status` says of the decoders' sandbox.
  private func decoderSandbox(of cluster: Cluster) throws -> SandboxReport {
    let isKnown = try cluster.waitUntil { $0.sandboxes.decoders != nil }
    try #require(isKnown)
    return try #require(try cluster.client().status().sandboxes.decoders)
  }

  @Test(arguments: [
    (["landlock"], landlock), (["filters"], filters),
    (["landlock", "filters", "namespaces"], "\(filters) and \(landlock)"),
  ])
  func `without a protection pictures are decoded, with a warning in status and log`(
    features: [String], missing: String
  ) throws {
    let cluster = try Cluster(["WORKERS": "1"], isStarted: false)
    try cluster.start(without: features)
    let origin = try ListOrigin()
    let list = origin.mixedList(10)
    try cluster.expect(try cluster.run(list.lines), endedAs: list)
    let report = try decoderSandbox(of: cluster)
    #expect(report.missing.joined(separator: " and ") == missing)
    #expect(try cluster.imgctl("status").output.contains("the kernel lacks \(missing)"))
    let messages = try cluster.runningCoordinator().messages()
    for processes in ["workers", "decoders"] {
      #expect(messages.contains("warning: the \(processes) run without \(missing), which"))
    }
  }

  @Test(arguments: [(["landlock"], landlock), (["filters"], filters)])
  func `a coordinator that requires a missing protection says so and exits`(
    features: [String], missing: String
  ) throws {
    let cluster = try Cluster(isStarted: false)
    let (run, message) = try cluster.launch(["--require-sandbox"], without: features)
    let reason = "the sandbox is required (--require-sandbox), and this kernel lacks \(missing)"
    #expect(message.contains(reason))
    let result = try run.wait()
    #expect(result.exitCode == 1)
    #expect(result.messages.contains(reason))
  }

  @Test func `where users may create no namespaces, the filter refuses sockets`() throws {
    let cluster = try Cluster(["WORKERS": "1"], isStarted: false)
    try cluster.start(["--require-sandbox"], without: ["namespaces"])
    let origin = try ListOrigin()
    let list = origin.mixedList(10)
    try cluster.expect(try cluster.run(list.lines), endedAs: list)
    let report = try decoderSandbox(of: cluster)
    #expect(report.missing.isEmpty && report.hasSystemCallFilter && !report.hasOwnNetwork)
  }

  /// As `RestrictNamespaces=` of the service.
  @Test func `the namespaces that a service may create are enough for a network of its own`()
    throws
  {
    let cluster = try Cluster(["WORKERS": "1"], isStarted: false)
    try cluster.start(without: ["other-namespaces"])
    #expect(try decoderSandbox(of: cluster).hasOwnNetwork)
  }
}
