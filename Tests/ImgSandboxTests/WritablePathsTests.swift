import Glibc
import ImgSystem
import TestFiles
import Testing

@testable import ImgSandbox

@Suite struct WritablePathsTests {
  private func paths(socketPath: String) -> WritablePaths {
    WritablePaths(dataDirectory: "/data", socketPath: socketPath, storePlace: "/data/store")
  }

  @Test(arguments: [
    ("/srv/imgctl/control.sock", "/srv"), ("/run/imgctl/control.sock", "/run"),
    ("/run/user/1000/imgctl/control.sock", "/run/user"),
  ])
  func `the directory of the socket can be made again`(socketPath: String, root: String) {
    #expect(paths(socketPath: socketPath).all == ["/data", root, "/tmp"])
    #expect(paths(socketPath: socketPath).remark == nil)
  }

  @Test func `a store in a linked directory is written where it lies`() throws {
    let directory = try TestDirectory()
    try Directory.create(directory.file("disk"))
    let disk = try Directory.resolve(directory.file("disk"))
    try Directory.create(directory.file("data"))
    try #require(unsafe symlink(disk, directory.file("data/store")) == 0)
    let paths = WritablePaths(
      dataDirectory: directory.file("data"), socketPath: "/srv/imgctl/control.sock",
      storePlace: directory.file("data/store"))
    #expect(paths.all == [directory.file("data"), "/srv", "/tmp", disk])
  }

  @Test(arguments: [
    ("/imgctl/control.sock", "/imgctl"), ("/tmp/control.sock", "/tmp"),
    ("/control.sock", "/control.sock"),
  ])
  func `a directory in the root cannot, and the log says so`(socketPath: String, root: String) {
    #expect(paths(socketPath: socketPath).all == ["/data", root, "/tmp"])
    #expect(paths(socketPath: socketPath).remark?.hasPrefix("\(root) lies in /, ") == true)
  }
}
