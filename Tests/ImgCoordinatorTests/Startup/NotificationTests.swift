import ImgSystem
import ImgTransport
import TestCluster
import TestFiles
import Testing

@testable import ImgCoordinator

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
    let directory = try TestDirectory()
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
