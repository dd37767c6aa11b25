import FoundationEssentials
import Glibc
import ImgStore
import ImgSystem
import TestCluster
import TestFiles
import TestOrigin
import Testing

/// Listeners and directories that are not the user's own: a client sends them nothing and opens
/// nothing that they name.
@Suite(.timeLimit(.minutes(20)))
struct UnsafeSocketTests {
  private static let foreignUserID: UInt32 = 65_534
  private let origin: ListOrigin

  init() throws {
    origin = try ListOrigin()
  }

  @Test(arguments: [
    ["get", "http://127.0.0.1/secret", "--header", "Authorization: secret"],
    ["submit", "list.txt"], ["status"], ["list"], ["stop"],
  ])
  func `nothing is sent to a socket in a directory that other users may write`(
    command: [String]
  ) throws {
    let cluster = try Cluster(socketName: "open/control.sock", isStarted: false)
    let open = cluster.directory.file("open")
    try Directory.create(open)
    #expect(unsafe chmod(open, 0o777) == 0)
    let listener = try UnixListener(path: cluster.socketPath)
    _ = try cluster.list(["http://127.0.0.1/secret"])
    let run = try cluster.begin(
      command.map { $0.hasSuffix(".txt") ? cluster.directory.file($0) : $0 })
    let isReached = try eventually { try !run.isRunning || listener.accept() != nil }
    #expect(isReached)
    #expect(!run.isRunning, "the client connected")
    let result = try run.wait()
    #expect(result.exitCode == 3)
    #expect(result.messages.contains("\(open)/control.sock is not safe, and nothing was sent"))
    #expect(result.messages.contains("run chmod go-w \(open)"))
  }

  @Test(arguments: ["open/a/control.sock", "own/control.sock"])
  func `a start below a directory that other users may write leaves nothing behind`(
    socket: String
  ) throws {
    let cluster = try Cluster(socketName: socket, isStarted: false)
    let open = cluster.directory.file("open")
    try Directory.create(open)
    #expect(unsafe chmod(open, 0o777) == 0)
    let isSocketOpen = socket.hasPrefix("open")
    let data = isSocketOpen ? cluster.directory.file("data/b") : "\(open)/data/b"
    let result = try cluster.imgctl("start", "--data-dir", data)
    #expect(result.exitCode == 3)
    #expect(result.messages.contains("run chmod go-w \(open)"))
    let run = try cluster.launch(["--data-dir", data])
    #expect(run.message.contains("run chmod go-w \(open)"))
    #expect(try run.run.wait().exitCode == 1)
    let places = try FileManager.default.contentsOfDirectory(atPath: cluster.directory.path)
    #expect(
      !places.contains("own") && (isSocketOpen ? !places.contains("data") : true), "\(places)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: open) == [])
  }

  @Test(arguments: [["status"], ["get", "http://127.0.0.1/"], ["export", "1", "files"]])
  func `a store that an untrusted coordinator names is not opened`(command: [String]) throws {
    let cluster = try Cluster(["DATA_DIR": ""], isStarted: false)
    let store = cluster.directory.file("theirs/store/thumbnails")
    let victim = cluster.directory.file("victim")
    let bytes = Array("a file that is not the store's\n".utf8)
    _ = try SharedStore(directory: store, access: .readWrite(budgetByteCount: 1 << 20))
    try FileIO.replace(path: victim, with: bytes)
    #expect(unsafe unlink("\(store)/lock.mdb") == 0)
    #expect(unsafe symlink(victim, "\(store)/lock.mdb") == 0)
    let fake = try FakeCoordinator(socketPath: cluster.socketPath, store: store)
    let run = try cluster.begin(command)
    #expect(try fake.serve().isEmpty)
    let result = try run.wait()
    if command == ["status"] {
      #expect(result.exitCode == 0)
      #expect(result.output.contains("not read: use --data-dir /theirs"))
    } else {
      #expect(result.exitCode == 2)
      #expect(result.messages.contains("keeps \(store), not "))
    }
    #expect(try FileIO.contents(of: victim, upTo: 1_000) == bytes)
  }

  @Test(
    .enabled("runs as root, with programs that each user can run") {
      try Cluster.canRun(as: Self.foreignUserID)
    })
  func `nothing is sent to another user's coordinator, except a service's`() throws {
    let cluster = try Cluster(isStarted: false)
    #expect(unsafe chmod(cluster.directory.path, 0o755) == 0)
    let (tmp, run) = (cluster.directory.file("theirs"), "/run/imgctl-test-\(UUID())")
    for place in [tmp, run] {
      try Directory.createPrivate(place)
      #expect(unsafe chown(place, Self.foreignUserID, Self.foreignUserID) == 0)
    }
    defer { try? FileManager.default.removeItem(atPath: run) }
    for place in [tmp, run] {
      let places = ["--socket", "\(place)/control.sock", "--data-dir", "\(place)/data"]
      let (coordinator, message) = try cluster.launch(places, as: Self.foreignUserID)
      #expect(message == "ready")
      let status = try cluster.begin(["status"] + places).wait()
      if place == run {
        #expect(status.exitCode == 0, "\(status.messages)")
        #expect(status.output.contains("belongs to user \(Self.foreignUserID)"))
      } else {
        #expect(status.exitCode == 3)
        #expect(
          status.messages.contains("use \(place), which belongs to user \(Self.foreignUserID)"))
      }
      // As if the owner had listened before the directory was root's.
      #expect(unsafe chown(place, 0, 0) == 0)
      let header = ["get", origin.url("/p/1"), "--header", "X: secret", "--autostart", "no"]
      let get = try cluster.begin(header + ["--socket", "\(place)/control.sock"]).wait()
      #expect(get.exitCode == 3)
      #expect(
        get.messages.contains(
          "trust process \(coordinator.processID) of user \(Self.foreignUserID), which listens"))
      // Its data directory is behind the one that it cannot enter any more, so it may have ended.
      coordinator.signal(SIGTERM)
      _ = try coordinator.wait()
    }
    #expect(origin.origin.totals().requests == 0)
  }

  @Test(
    .enabled("runs as root, with programs that each user can run") {
      try Cluster.canRun(as: Self.foreignUserID)
    }, arguments: [["status"], ["remove", "1"], ["start"], ["stop"]])
  func `the socket of another user is reported with its owner`(command: [String]) throws {
    let cluster = try Cluster()
    #expect(unsafe chmod(cluster.directory.path, 0o755) == 0)
    let result = try cluster.begin(command, as: Self.foreignUserID).wait()
    #expect(result.exitCode == 3)
    #expect(
      result.messages.contains(
        "\(cluster.socketPath) belongs to user 0, and no other user may connect"))
    #expect(!result.messages.contains("imgctl start"))
  }

  @Test func `a coordinator does not start where other users may write`() throws {
    for name in ["data", "sockets"] {
      let cluster = try Cluster(isStarted: false)
      let open = cluster.directory.file(name)
      try Directory.create(open)
      #expect(unsafe chmod(open, 0o777) == 0)
      let (run, message) = try cluster.launch([
        "--socket", cluster.directory.file("sockets/control.sock"),
      ])
      #expect(message.contains("run chmod go-w \(open)"))
      #expect(try run.wait().exitCode == 1)
    }
  }

  @Test func `a log that is a symbolic link is not written`() throws {
    let cluster = try Cluster(isStarted: false)
    let victim = try cluster.directory.write([1], to: "victim")
    try Directory.createPrivate(cluster.dataDirectory)
    #expect(unsafe symlink(victim, cluster.logPath) == 0)
    let result = try cluster.imgctl("start")
    #expect(result.exitCode == 3)
    #expect(result.messages.contains("open \(cluster.logPath): Too many levels of symbolic links"))
    #expect(try FileIO.contents(of: victim, upTo: 100) == [1])
  }
}
