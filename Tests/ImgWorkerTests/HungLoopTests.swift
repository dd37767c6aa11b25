import ImgModel
import ImgTransport
import ImgWire
import TestCluster
import TestFiles
import TestOrigin
import Testing

@testable import ImgWorker

/// What a worker shows of a loop that libcurl does not return to.
@Suite(.timeLimit(.minutes(20))) struct HungLoopTests {
  private func batch(_ lease: LeaseID, _ url: String) -> Batch {
    Batch(
      ThumbnailRequest(variant: .standard), retention: Retention(), isUrgent: false,
      items: [Assignment(lease: lease, url: url)])
  }

  /// libcurl reads the file of the authorities for each connection, and waits for a pipe.
  @Test
  func `the heartbeat page names the transfer in which the loop hangs, until libcurl returns`()
    throws
  {
    let origin = try TestOrigin()
    let directory = try TestDirectory()
    let pipe = try NamedPipe(path: directory.file("authority.pem"))
    let worker = try RunningWorker(authorityFile: pipe.path)
    #expect(worker.heartbeat.transferringLease == nil)
    try worker.send(.fetch(batch(7, "https://127.0.0.1:\(origin.port)/a")))
    do {
      let writer = try pipe.openForWriting()
      #expect(worker.heartbeat.transferringLease == 7)
      // What libcurl opens from now on, it reads to its end.
      try directory.remove("authority.pem")
      _ = try directory.write([], to: "authority.pem")
      _ = consume writer
    }
    let said = try worker.messages(untilEnded: 1)
    #expect(said.outcomes[7]?.failureCode == .tlsFailure)
    try worker.waitUntilHandled()
    #expect(worker.heartbeat.transferringLease == nil)
  }
}
