import FoundationEssentials
import Testing

@testable import ImgGateway

/// The guide for those who move from other servers names every option.
struct MovingGuideTests {
  /// In the checkout that these tests were compiled from.
  private static let guide =
    #filePath.split(separator: "/").dropLast(4).map { "/\($0)" }.joined()
    + "/Sources/imgctl/imgctl.docc/Moving.md"

  @Test(arguments: [
    ("imgproxy's options", ImgproxyName.names),
    ("weserv's options", WeservOption.names + WeservOption.unsupportedNames.sorted()),
  ])
  func `the options of a server are in its section`(title: String, names: [String]) throws {
    let text = try String(contentsOfFile: Self.guide, encoding: .utf8)
    let sections = text.components(separatedBy: "\n### ")
    let section = try #require(sections.first { $0.hasPrefix(title) })
    for name in names { #expect(section.contains("`\(name)`"), "\(name)") }
  }
}
