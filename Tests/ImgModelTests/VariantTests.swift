import ImgModel
import Testing

@Suite struct VariantTests {
  @Test func `different variants have different canonical texts`() throws {
    let variants = [
      Variant.standard, try Variant(width: 257, height: 256),
      try Variant(width: 256, height: 257), try Variant(width: 256, height: 256, mode: .fill),
      try Variant(width: 256, height: 256, mode: .fill, isCropped: true),
      try Variant(width: 256, height: 256, mode: .stretch),
      try Variant(width: 256, height: 256, format: .png),
      try Variant(width: 256, height: 256, quality: 81),
    ]
    #expect(Set(variants.map(\.canonicalText)).count == variants.count)
    #expect(Variant.standard.canonicalText == "256x256,fit,whole,auto,q80")
  }

  @Test func `numbers out of range are refused`() {
    #expect(throws: VariantError.sideOutOfRange) { try Variant(width: 0, height: 1) }
    #expect(throws: VariantError.sideOutOfRange) { try Variant(width: 1, height: 16_384) }
    #expect(throws: VariantError.qualityOutOfRange) {
      try Variant(width: 1, height: 1, quality: 101)
    }
    #expect(throws: VariantError.cropWithoutFill) {
      try Variant(width: 1, height: 1, mode: .fit, isCropped: true)
    }
  }
}
