import FoundationEssentials
import Glibc
import ImgModel
import ImgSettings
import ImgSystem
import ImgWire
import TestCluster
import TestFiles
import Testing

@testable import ImgCoordinator

@Suite struct DataDirectoryTests {
  private let directory = TestDirectory()

  private static func take(_ path: String) throws(DataDirectoryError) -> DataDirectory {
    try DataDirectory(taking: Settings(socketPath: "/socket", dataDirectory: path))
  }

  /// In a process of its own: children of this one, which other tests start, hold its locks from
  /// their fork to their exec.
  @Test func `one coordinator owns a directory, and its end frees it`() async {
    await #expect(processExitsWith: .success) { [path = directory.file("data") as String] in
      do {
        let first = try Self.take(path)
        #expect(try first.restore() == nil)
        let error = #expect(throws: DataDirectoryError.self) { _ = try Self.take(path) }
        let text = error?.description ?? ""
        #expect(text.hasPrefix("another coordinator (process \(ThisProcess.processID)) owns"))
        #expect(text.contains("--socket /socket"))
      }
      #expect(try Self.take(path).restore() == nil)
    }
  }

  @Test(arguments: ["data", "data/coordinator.lock"])
  func `a directory that was removed belongs to whom takes it first`(part: String) throws {
    let path = directory.file("data")
    let owner = try Self.take(path)
    try directory.remove(part)
    #expect(try owner.restore()?.contains("\(path), or a part of it, had been removed") == true)
    #expect(throws: DataDirectoryError.self) { _ = try Self.take(path) }

    try directory.remove(part)
    let other = try Self.take(path)
    let error = #expect(throws: DataDirectoryError.self) { _ = try owner.restore() }
    #expect(error?.isLackOfSpace == false)
    #expect(try other.restore() == nil)
  }

  @Test func `a directory that cannot be made is named with the reason`() {
    let error = #expect(throws: DataDirectoryError.self) {
      _ = try Self.take("/dev/null/data")
    }
    #expect(
      error?.description.hasPrefix("the data directory /dev/null/data cannot be used") == true)
  }
}

/// What a low hard limit of descriptors (RLIMIT_NOFILE) permits.
@Suite struct DescriptorLimitsTests {
  private func settings(transfers: Int = 64) -> Settings {
    var settings = Settings(socketPath: "/s", dataDirectory: "/d")
    settings.limits.transfers = transfers
    settings.limits.workers = 2
    return settings
  }

  @Test func `more transfers than fit are refused, with the number that does`() throws {
    let low = DescriptorLimits(maximum: 1_024)
    var many = settings(transfers: 16_383)
    let error = #expect(throws: StartError.self) { try low.limitTransfers(of: &many) }
    #expect(
      error?.description
        == "--transfers: 16383 transfers need 50429 open files, but a process may have 1024 here; raise "
        + "the hard limit (ulimit -H -n, LimitNOFILE=), or use at most 109 transfers")
    var unlimited = settings(transfers: LimitChange.unlimitedTransfers)
    #expect(try low.limitTransfers(of: &unlimited)?.contains("at most 109 transfers") == true)
    #expect(unlimited.limits.transfers == 109)
    #expect(low.reasonForRefusing(transfers: 109) == nil)
    #expect(low.reasonForRefusing(transfers: 110) != nil)
    #expect(DescriptorLimits(maximum: 1 << 20).reasonForRefusing(transfers: 16_384) == nil)
  }

  @Test func `the default number of transfers and of clients shrinks to what fits`() throws {
    let tight = DescriptorLimits(maximum: 358)
    var settings = settings()
    #expect(try tight.limitTransfers(of: &settings)?.contains("use at most 14 transfers") == true)
    #expect(settings.limits.transfers == 14)
    #expect(tight.limitClients(of: &settings)?.contains("clients may connect, not 512") == true)
    #expect(settings.limits.clients < 358)
    #expect(try tight.limitTransfers(of: &settings) == nil)
    #expect(tight.limitClients(of: &settings) == nil)
  }
}

/// What the processes that wait for a coordinator are sent.
@Suite struct NotificationTests {
  /// The text on a readiness connection, read to its end.
  private func text(
    _ send: (ReadinessNotification) -> Void, in name: String = ReadinessMessage.variable
  ) throws -> String {
    var pair = try UnixSocket.pair()
    let ours = pair.takeFirst()
    let theirs = pair.takeSecond()
    let descriptor = try theirs.duplicate().release()
    send(ReadinessNotification(environment: [name: String(descriptor)]))
    var bytes: [UInt8] = []
    _ = try UnixSocket.receive(ours.rawValue, into: &bytes, upTo: 4_096)
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test func `the command that waits is told once that the coordinator listens`() throws {
    let text = try text {
      $0.sendReady()
      $0.sendFailure("too late")
    }
    #expect(text == "ready")
  }

  @Test func `the command that waits is told why the coordinator does not listen`() throws {
    #expect(try text { $0.sendFailure("no room") } == "no room")
  }

  @Test(arguments: [nil, "", "2", "three"])
  func `without a connection of its own there is no command to tell`(value: String?) {
    let environment = value.map { [ReadinessMessage.variable: $0] } ?? [:]
    ReadinessNotification(environment: environment).sendReady()
  }

  @Test func `the service manager receives states with a status for people`() throws {
    let directory = TestDirectory()
    let manager = try DatagramReceiver(address: directory.file("notify"))
    let client = ServiceManager(environment: [ServiceManager.variable: directory.file("notify")])
    client.notify(.ready, status: "listening")
    #expect(try manager.next() == "READY=1\nSTATUS=listening")
    client.notify(.stopping, status: "finishing")
    #expect(try manager.next() == "STOPPING=1\nSTATUS=finishing")
  }

  @Test func `without a manager, or with one that has gone, a state is dropped`() throws {
    for address in [nil, "", "/nowhere"] {
      let environment = address.map { [ServiceManager.variable: $0] } ?? [:]
      ServiceManager(environment: environment).notify(.ready, status: "listening")
    }
  }
}

@Suite struct LogTests {
  private let directory = TestDirectory()

  private func log(_ body: (CInt) throws -> Void) throws -> String {
    let file = try FileIO.create(directory.file("log"))
    try body(file.rawValue)
    return try String(contentsOfFile: directory.file("log"), encoding: .utf8)
  }

  @Test func `the commands in it carry the place of a coordinator that has one of its own`() throws
  {
    let text = try log {
      Log(descriptor: $0, place: "--data-dir /a").note(
        "imgctl 1.0: imgctl export JOB DIR or imgctl stop && imgctl start")
    }
    #expect(
      text.hasSuffix(
        " imgctl 1.0: imgctl --data-dir /a export JOB DIR or imgctl --data-dir /a stop && imgctl "
          + "--data-dir /a start\n"))
  }

  @Test func `the line after one that a full disk has cut is a line of its own`() throws {
    let full = try FileIO.open(appendingTo: "/dev/full")
    let text = try log {
      let descriptor = dup(full.rawValue)
      defer { close(descriptor) }
      let log = Log(descriptor: descriptor)
      log.write("cut")
      dup2($0, descriptor)
      log.write("first")
      log.write("second")
    }
    #expect(text == "\nfirst\nsecond\n")
  }
}
