import Glibc
import ImgSystem
import TestFiles
import Testing

@testable import ImgClient

/// The place and the listener are checked before a byte is sent.
@Suite struct CoordinatorSocketTests {
  private let directory: TestDirectory

  init() throws {
    directory = try TestDirectory()
  }

  private func error(at path: String) -> ClientError? {
    do throws(ClientError) {
      _ = try CoordinatorSocket.connect(path: path)
    } catch {
      return error
    }
    return nil
  }

  @Test func `a listener of this user in a directory of this user is trusted`() throws {
    let path = directory.file("socket")
    let listener = try UnixListener(path: path)
    #expect(error(at: path) == nil)
    #expect(try listener.accept() != nil)
  }

  @Test(arguments: ["socket", "missing/socket"])
  func `without a listener the coordinator is unreachable`(name: String) {
    guard case .unreachable(directory.file(name), _) = error(at: directory.file(name)) else {
      Issue.record("the place has no listener")
      return
    }
  }

  @Test func `a directory that other users may write is refused before the client connects`()
    throws
  {
    let open = directory.file("open")
    try Directory.create(open)
    #expect(unsafe chmod(open, 0o777) == 0)
    let listener = try UnixListener(path: open + "/socket")
    guard case .untrusted = error(at: open + "/socket") else {
      Issue.record("other users may replace the socket")
      return
    }
    let connection = try listener.accept()
    let isConnected = connection != nil
    #expect(!isConnected)
  }
}
