import ImgHTTP
import Testing

struct HTTPFieldsTests {
  @Test func `a field is found whatever the case of its name`() {
    let fields: HTTPFields = ["Accept": "image/avif"]
    #expect(fields["accept"] == "image/avif")
    #expect(fields["ACCEPT"] == "image/avif")
    #expect(fields["accepts"] == nil)
    #expect(fields["@ccept"] == nil)
  }

  @Test func `the values of fields with one name are one list`() {
    let fields: HTTPFields = ["Accept": "image/avif", "Vary": "*", "accept": "image/webp"]
    #expect(fields["Accept"] == "image/avif, image/webp")
  }
}
