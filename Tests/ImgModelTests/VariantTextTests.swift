import ImgModel
import Testing

/// The texts of a variant's parts, which people write and keys of the store contain.
@Suite struct VariantTextTests {
  @Test(arguments: [
    ("0", 0, "0"), ("2", 2_000, "2"), ("0.25", 250, "0.25"), (".5", 500, "0.5"), ("1.", 1_000, "1"),
    ("1.050", 1_050, "1.05"), ("999999.999", 999_999_999, "999999.999"),
  ])
  func `a number has up to three decimals, and one text`(
    text: String, count: Int, canonical: String
  ) throws {
    let number = try #require(Thousandths(text))
    #expect(number.count == count)
    #expect(number.description == canonical)
    #expect(Thousandths(canonical) == number)
  }

  @Test(arguments: ["", ".", "-1", "+1", "1e3", "0.1234", "1.2.3", " 1", "1000000", "nan", "١"])
  func `what is no such number is refused`(text: String) {
    #expect(Thousandths(text) == nil)
  }

  @Test(arguments: [
    ("ff8800", "ff8800"), ("#FF8800", "ff8800"), ("f80", "ff8800"), ("white", "ffffff"),
    ("black", "000000"), ("#00f", "0000ff"),
  ])
  func `a colour is a name or hexadecimal digits`(text: String, canonical: String) throws {
    let colour = try #require(RGBColour(text))
    #expect(colour.description == canonical)
    #expect(RGBColour(canonical) == colour)
  }

  @Test(arguments: ["", "#", "ff88", "ff88000", "gg8800", "white ", "#white", "+f8800"])
  func `what is no colour is refused`(text: String) {
    #expect(RGBColour(text) == nil)
  }

  @Test(arguments: [
    ("centre", Crop.centre), ("center", .centre), ("attention", .attention), ("entropy", .entropy),
    ("0,1", .point(x: .zero, y: .one)),
    ("0.5,.25", .point(x: Thousandths(count: 500), y: Thousandths(count: 250))),
  ])
  func `a crop is a word or a point`(text: String, crop: Crop) {
    #expect(Crop(text) == crop)
    #expect(Crop(crop.description) == crop)
  }

  @Test(arguments: ["", "left", "0.5", "1.001,0", "0,2", "0,0,0", "0, 0", "-0,0"])
  func `what is no part of a picture is refused`(text: String) {
    #expect(Crop(text) == nil)
  }
}
