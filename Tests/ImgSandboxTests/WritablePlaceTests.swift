import Testing

@testable import ImgSandbox

struct WritablePlaceTests {
  @Test(arguments: [
    ("/srv/imgctl/store", "/srv/imgctl"), ("/srv/imgctl", "/srv"), ("/srv", "/srv"),
    ("/usr/../control.sock", "/usr/../control.sock"), ("/usr/../usr", "/usr/../usr"),
  ])
  func `a process writes beside what it replaces, and never below the root`(
    path: String, place: String
  ) {
    #expect(WritablePlace.around(path) == place)
  }

  @Test(arguments: ["/", "//", "/usr/..", "/."])
  func `there is no place around the root`(path: String) {
    #expect(WritablePlace.around(path) == nil)
  }
}
