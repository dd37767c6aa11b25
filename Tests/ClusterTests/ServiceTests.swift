import FoundationEssentials
import Glibc
import ImgSystem
import ImgTransport
import TestCluster
import TestFiles
import TestOrigin
import Testing

/// A coordinator that a service manager runs, and what commands do while it does not run.
@Suite(.timeLimit(.minutes(20)))
struct ServiceTests {
  @Test(arguments: [false, true])
  func `the service manager is notified of readiness and of the stop`(
    isAbstract: Bool
  ) throws {
    let cluster = try Cluster(isStarted: false)
    let path = cluster.directory.file("notify")
    let address = isAbstract ? "@\(path)" : path
    let manager = try DatagramReceiver(address: address)
    let variables = ["NOTIFY_SOCKET": address]

    // One that cannot listen says nothing.
    try Directory.create(cluster.socketPath)
    let (failed, reason) = try cluster.launch(variables: variables)
    #expect(reason.contains("the control socket \(cluster.socketPath) cannot be opened"))
    #expect(try failed.wait().exitCode == 1)
    #expect(try manager.next(until: .now) == nil)
    try FileManager.default.removeItem(atPath: cluster.socketPath)

    let (coordinator, _) = try cluster.launch(variables: variables)
    #expect(try manager.next() == "READY=1\nSTATUS=listening on \(cluster.socketPath)")
    let isHeard = try UnixSocket.hasListener(path: cluster.socketPath)
    #expect(isHeard)
    coordinator.signal(SIGTERM)
    #expect(try manager.next() == "STOPPING=1\nSTATUS=finishing what runs")
    #expect(try coordinator.wait().exitCode == 0)
    #expect(try manager.next(until: .now) == nil)
  }

  @Test func `a command sends no notification to its service manager`() throws {
    let directory = try TestDirectory()
    let manager = try DatagramReceiver(address: directory.file("notify"))
    let cluster = try Cluster(
      isStarted: false, variables: ["NOTIFY_SOCKET": directory.file("notify")])
    #expect(try cluster.imgctl("remove", "--older-than", "0s").exitCode == 0)
    #expect(try cluster.imgctl("stop").exitCode == 0)
    #expect(try manager.next(until: .now) == nil)
  }

  @Test(arguments: [
    ["list"], ["failures", "1"], ["wait", "1"], ["pause", "1"], ["get", "http://127.0.0.1/"],
  ])
  func `commands start no coordinator at the socket of a service`(command: [String]) throws {
    let places = [
      (socket: "/run/imgctl-test/control.sock", settings: [:]),
      (socket: nil, settings: ["AUTOSTART": "no"]),
    ]
    for place in places {
      let cluster = try Cluster(place.settings, isStarted: false)
      let socket = place.socket ?? cluster.socketPath
      let result = try cluster.begin(command + ["--socket", socket]).wait()
      #expect(result.exitCode == 3)
      #expect(result.messages.contains("no coordinator answers at \(socket)"))
      #expect(result.messages.contains("systemctl start imgcoordinator"))
      #expect(!FileManager.default.fileExists(atPath: cluster.dataDirectory))
      #expect(!FileManager.default.fileExists(atPath: "/run/imgctl-test"))
    }
  }
}
