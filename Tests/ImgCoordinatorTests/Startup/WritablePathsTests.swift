import Glibc
import ImgSettings
import ImgSystem
import TestFiles
import Testing

@testable import ImgCoordinator

@Suite struct WritablePathsTests {
  private func settings(socketPath: String) -> Settings {
    Settings(socketPath: socketPath, dataDirectory: "/data")
  }

  @Test(arguments: [
    ("/srv/imgctl/control.sock", "/srv"), ("/run/imgctl/control.sock", "/run"),
    ("/run/user/1000/imgctl/control.sock", "/run/user"),
  ])
  func `the directory of the socket can be made again`(socketPath: String, root: String) {
    let settings = settings(socketPath: socketPath)
    #expect(WritablePaths.all(settings) == ["/data", root, "/tmp"])
    #expect(WritablePaths.remark(on: settings) == nil)
  }

  @Test func `a store that is a link is written where it lies`() throws {
    let directory = try TestDirectory()
    try Directory.create(directory.file("disk/store"))
    let disk = try Directory.resolve(directory.file("disk"))
    try Directory.create(directory.file("data"))
    try #require(unsafe symlink("\(disk)/store", directory.file("data/store")) == 0)
    let settings = Settings(
      socketPath: "/srv/imgctl/control.sock", dataDirectory: directory.file("data"))
    #expect(WritablePaths.all(settings) == [directory.file("data"), "/srv", "/tmp", disk])
  }

  @Test(arguments: [
    ("/imgctl/control.sock", "/imgctl"), ("/tmp/control.sock", "/tmp"),
    ("/control.sock", "/control.sock"),
  ])
  func `a directory in the root cannot, and the log says so`(socketPath: String, root: String) {
    let settings = settings(socketPath: socketPath)
    #expect(WritablePaths.all(settings) == ["/data", root, "/tmp"])
    #expect(WritablePaths.remark(on: settings)?.hasPrefix("\(root) lies in /, ") == true)
  }
}
