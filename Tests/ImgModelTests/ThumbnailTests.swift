import FoundationEssentials
import ImgModel
import Testing

@Suite struct ThumbnailTests {
  private let whole = Thumbnail(format: .jpeg, width: 64, height: 48, byteCount: 700)
  private let damaged = Thumbnail(
    format: .jpeg, width: 64, height: 48, byteCount: 700, isDamaged: true)

  @Test func `only the JSON of a damaged one says so`() throws {
    #expect(try json(of: whole) == #"{"bytes":700,"format":"jpeg","height":48,"width":64}"#)
    #expect(
      try json(of: damaged)
        == #"{"bytes":700,"damaged":true,"format":"jpeg","height":48,"width":64}"#)
    for thumbnail in [whole, damaged] {
      let data = Data(try json(of: thumbnail).utf8)
      #expect(try JSONDecoder().decode(Thumbnail.self, from: data) == thumbnail)
    }
  }

  @Test func `a damaged one answers only lenient requests`() {
    #expect(whole.answers(isLenient: false))
    #expect(whole.answers(isLenient: true))
    #expect(!damaged.answers(isLenient: false))
    #expect(damaged.answers(isLenient: true))
  }

  private func json(of thumbnail: Thumbnail) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return String(decoding: try encoder.encode(thumbnail), as: UTF8.self)
  }
}
