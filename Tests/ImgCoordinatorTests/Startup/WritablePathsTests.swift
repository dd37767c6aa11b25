import ImgSettings
import Testing

@testable import ImgCoordinator

@Suite struct WritablePathsTests {
  private func paths(of socketPath: String) -> [String] {
    WritablePaths.all(Settings(socketPath: socketPath, dataDirectory: "/data"))
  }

  @Test(arguments: [
    ("/srv/imgctl/control.sock", "/srv"), ("/imgctl/control.sock", "/"), ("/control.sock", "/"),
    ("/run/imgctl/control.sock", "/run"), ("/run/user/1000/imgctl/control.sock", "/run/user"),
  ])
  func `the directory of the socket can be made again`(socketPath: String, root: String) {
    #expect(paths(of: socketPath) == ["/data", root, "/tmp"])
  }
}
