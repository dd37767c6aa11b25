import ImgGateway
import Testing

@Suite struct RecordOrderTests {
  @Test(arguments: [
    ("0001", "0000"), ("0010", "000f"), ("a000", "9fff"), ("100f", "100e"), ("ffff", "fffe"),
    ("00a0", "009f"),
  ])
  func `an id has one before it`(id: String, before: String) {
    #expect(RecordOrder.id(before: id) == before)
  }

  @Test(arguments: ["0", "0000", "", "00g", "A"])
  func `the first id has none before it, and neither has another text`(id: String) {
    #expect(RecordOrder.id(before: id) == nil)
  }
}
